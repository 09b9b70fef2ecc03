package report

import (
	"fmt"

	"assetferry/internal/ui"
)

// A face shows the kind of a verdict by a colour and a sign, beside its title.
type face struct{ Tone, Sign string }

// faceOf returns the face of a verdict. Green means that the run did what was configured.
func faceOf(k Kind) face {
	switch k {
	case Verified, Complete:
		return face{"good", "✓"}
	case Selection:
		return face{"calm", "◐"}
	case Partial:
		return face{"warn", "!"}
	case Incomplete:
		return face{"bad", "✕"}
	case Different:
		return face{"bad", "≠"}
	case Unfinished:
		return face{"warn", "…"}
	case PlanOnly:
		return face{"calm", "○"}
	case Stopped:
		return face{"bad", "■"}
	case Undone:
		return face{"calm", "↩"}
	}
	return face{"calm", "?"}
}

// A purpose says whether a destination is a sandbox.
type purpose struct{ Code, Title, Sentence string }

// text returns the purpose as a line.
func (p purpose) text() string { return p.Title + ": " + p.Sentence }

func purposeOf(code string) purpose {
	switch code {
	case sandbox:
		return purpose{sandbox, "SANDBOX", "nothing on this page is production data"}
	case production:
		return purpose{production, "PRODUCTION", "the destination is the production service"}
	}
	return purpose{"unknown", "UNKNOWN DESTINATION", "the state database does not record whether the destination is a sandbox"}
}

// A group counts states with the same meaning at a glance.
type group struct {
	Title string
	Tone  string
	Amount
}

// inTrash counts the assets of the run that undos trashed.
func inTrash(u Undo) (n int64) {
	for _, by := range u.By {
		n += by.Trashed.Objects
	}
	return n
}

// doneGroup returns the label and the colour of what is done: assets that were undone must not look
// as if they were at the destination.
func doneGroup(u Undo) group {
	switch {
	case u.Undoes != "":
		return group{Title: "Undone", Tone: "good"}
	case inTrash(u) > 0 && u.left() > 0:
		return group{Title: "Done, later partly undone", Tone: "calm"}
	case inTrash(u) > 0:
		return group{Title: "Done, later undone", Tone: "calm"}
	}
	return group{Title: "Done", Tone: "good"}
}

// groupsOf returns all listed objects, followed by the groups of states whose sum they are.
func groupsOf(listed Amount, states []Part, u Undo) []group {
	groups := []group{{"Listed", "", listed}, doneGroup(u), {"Failed", "bad", Amount{}}, {"Conflicts", "bad", Amount{}},
		{"Skipped", "calm", Amount{}}, {"Pending", "warn", Amount{}}}
	for _, p := range states {
		g := &groups[groupOf(p)]
		g.Amount = g.plus(p.Amount)
	}
	return groups
}

func groupOf(p Part) int {
	switch {
	case p.State == skipped:
		return 4
	case p.Good:
		return 1
	case p.State == conflict:
		return 3
	case isPending(p.State):
		return 5
	}
	return 2
}

// isPending reports whether an object still has to be processed or checked.
func isPending(code string) bool {
	switch code {
	case planned, sending, sent, undecided, retryScheduled, unconfirmed:
		return true
	}
	return false
}

// problemCount counts the objects that need attention.
func problemCount(r Results) (n int64) {
	for _, p := range r.States {
		if isProblem(p.State) {
			n += p.Objects
		}
	}
	return n
}

// toneOf returns the colour of a state.
func toneOf(p Part) string {
	return [...]string{"", "good", "bad", "bad", "calm", "warn"}[groupOf(p)]
}

// Meaning explains a state in a few words.
func (p page) Meaning(code string) string {
	switch {
	case code == trashed && p.Undo.Undoes != "":
		return "created by the run, now in the trash"
	case p.Undo.Undoes != "" && isDone(code):
		return "restored to its previous state"
	case code == adopted && p.Results.Shared.Objects > 0:
		return p.adoptedAs()
	case code == created && inTrash(p.Undo) > 0:
		return fmt.Sprintf("uploaded by this run; an undo later trashed %s", ui.Count(inTrash(p.Undo)))
	}
	return meaning(code)
}

// adoptedAs counts the adopted objects that share the asset of an identical object.
func (p page) adoptedAs() string {
	for _, part := range p.Results.States {
		if part.State == adopted && part.Amount != p.Results.Shared {
			return fmt.Sprintf("%s; %s share the asset of an identical object", meaning(adopted), ui.Count(p.Results.Shared.Objects))
		}
	}
	return "shares the asset of an identical object"
}

func meaning(code string) string {
	switch code {
	case created:
		return "uploaded by this run"
	case adopted:
		return "matched to an existing asset"
	case replaced:
		return "new content in the same asset, at the same URL"
	case metadataUpdated:
		return "only the metadata changed"
	case moved:
		return "renamed or moved at the destination"
	case trashed:
		return "deleted at the source, now in the trash"
	case unchanged:
		return "the same as in an earlier run"
	case skipped:
		return "see Skipped for the reasons"
	case failed:
		return "see Failed for the causes"
	case retriesExhausted:
		return "failed in too many runs; to try again, use --retry-exhausted"
	case changed:
		return "changed at the source during the run"
	case conflict:
		return "needs a decision"
	case retryScheduled:
		return "failed, and scheduled for retry"
	case unconfirmed:
		return "sent, but not confirmed by the service"
	case planned:
		return "not sent yet"
	case sending:
		return "upload in progress"
	case sent:
		return "uploaded, metadata pending"
	case undecided:
		return "listed, no action planned yet"
	}
	return ""
}

// Share returns the percentage of a whole; neither is empty.
func (g group) Share(whole Amount) string {
	tenths := g.Objects * 1000 / whole.Objects
	if tenths == 0 {
		return "less than 0.1%"
	}
	return fmt.Sprintf("%d.%d%%", tenths/10, tenths%10)
}
