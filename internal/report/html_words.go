package report

import (
	"fmt"

	"assetferry/internal/ui"
	"assetferry/state"
)

// A face is how a kind of verdict is seen: in colour, in a sign and in words, so that
// each is enough without the others.
type face struct{ Tone, Sign, Word string }

func faceOf(r Report) face {
	switch r.Verdict.Kind {
	case Proved:
		if r.isQuiet() {
			return face{"good", "✓", "Nothing changed, and proved"}
		}
		return face{"good", "✓", "Complete and proved"}
	case Complete:
		if r.isQuiet() && r.Destination.Objects > 0 {
			return face{"calm", "✓", "Nothing changed"}
		}
		if r.Destination.Objects == 0 {
			return face{"calm", "○", "Nothing to take over"}
		}
		if r.Proof.Verified > 0 {
			return face{"calm", "✓", "Complete, verified in part"}
		}
		return face{"calm", "✓", "Complete, not proved yet"}
	case Partial:
		return face{"warn", "!", "Complete but for what was left out"}
	case Incomplete:
		if r.Undo.Undoes != "" {
			return face{"bad", "↩", "Undone in part"}
		}
		return face{"bad", "✕", "Not everything arrived"}
	case Different:
		return face{"bad", "≠", "The destination differs"}
	case Unfinished:
		return face{"warn", "…", "Not finished"}
	case PlanOnly:
		return face{"calm", "○", "Only planned"}
	case Stopped:
		return face{"bad", "■", "Stopped by a guard"}
	case Undone:
		if r.Undo.left() > 0 {
			return face{"calm", "↩", "Undone in part"}
		}
		return face{"calm", "↩", "Undone"}
	}
	return face{"calm", "?", capital(string(r.Verdict.Kind))}
}

func (r Report) isQuiet() bool { return r.Night != nil && r.Night.Quiet }

// A purpose says whether it was in earnest.
type purpose struct{ Word, Title, Sentence string }

func purposeOf(p state.Purpose) purpose {
	switch p {
	case state.Sandbox:
		return purpose{"rehearsal", "Rehearsal", "The destination is a sandbox. Nothing of this is in production."}
	case state.Production:
		return purpose{"production", "Production", "The destination is the real service."}
	}
	return purpose{"unknown", "Production or rehearsal", "The journal does not say which of them this was."}
}

// A group is parts of the sum that mean the same to a person who reads a line only.
type group struct {
	Title string
	Tone  string
	Amount
}

// words are those that depend on what a run did: it brought objects over, or took
// back what another one had brought.
type words struct{ Listed, Good, GoodTone, LeftOut, NotTaken, Bad, Troubles, Lines string }

func wordsOf(r Report) words {
	u := r.Undo
	w := words{"Listed", "As it should be", "good", "Left out by rules", "Not taken over", "Not arrived", "What did not arrive", "Objects that did not arrive"}
	if r.Night != nil {
		w = words{"Listed or known before", "As it should be", "good", "Left alone by rules", "Left alone", "Not come through", "What did not come through", "Objects that did not come through"}
	}
	switch {
	case u.Undoes != "":
		return words{"To be taken back", "Taken back", "good", "Left out by rules", "Not taken over", "Not taken back", "What was not taken back", "Assets that were not taken back"}
	case inTrash(u) > 0 && u.left() > 0:
		w.Good, w.GoodTone = "Arrived, undone in part", "calm"
	case inTrash(u) > 0:
		w.Good, w.GoodTone = "Arrived, undone since", "calm"
	}
	return w
}

// inTrash counts what other runs took back of this one.
func inTrash(u Undo) (n int64) {
	for _, by := range u.By {
		n += by.Trashed.Objects
	}
	return n
}

// groupsOf gives all that was listed, and then what became of it: as it should be, left
// out, not arrived, and still to do.
func groupsOf(s Sum, w words) []group {
	groups := []group{{w.Listed, "", s.Listed}, {w.Good, w.GoodTone, Amount{}}, {w.LeftOut, "calm", Amount{}},
		{w.Bad, "bad", Amount{}}, {"Still to do", "warn", Amount{}}}
	for _, p := range s.Parts {
		g := &groups[groupOf(p)]
		g.Amount = g.plus(p.Amount)
	}
	return groups
}

func groupOf(p Part) int {
	switch {
	case p.Name == skipped:
		return 2
	case p.Good:
		return 1
	case isTrouble(p.Name):
		return 3
	}
	return 4
}

// troubled counts the objects that a person may have to do something about.
func troubled(s Sum) (n int64) {
	for _, p := range s.Parts {
		if isTrouble(p.Name) {
			n += p.Objects
		}
	}
	return n
}

// toneOf is the colour of a part.
func toneOf(p Part) string {
	return [...]string{"", "good", "calm", "bad", "warn"}[groupOf(p)]
}

// Meaning explains a part of the sum to a person who reads such a report for the first
// time.
func (p page) Meaning(part string) string {
	switch {
	case part == trashed && p.Undo.Undoes != "":
		return "taken back: it is in the trash"
	case p.Undo.Undoes != "" && isDone(part):
		return "put back as it was"
	case part == adopted && p.Sum.Shared.Objects > 0:
		return p.adoptedAs()
	case p.Night != nil && part == skipped:
		return "a rule left it out, or keeps the asset of what is gone, see “Left alone”"
	case part == created && inTrash(p.Undo) > 0:
		return fmt.Sprintf("sent by this run; %s of them went to the trash since, see “how to undo”", ui.Count(inTrash(p.Undo)))
	}
	return meaning(part)
}

// adoptedAs tells copies from what had an asset before the run.
func (p page) adoptedAs() string {
	copies := "share the asset of another object, whose content they have"
	for _, part := range p.Sum.Parts {
		if part.Name == adopted && part.Amount != p.Sum.Shared {
			return fmt.Sprintf("%s; %s of them are copies: they %s", meaning(adopted), ui.Count(p.Sum.Shared.Objects), copies)
		}
	}
	return "copies: they " + copies
}

func meaning(part string) string {
	switch part {
	case created:
		return "sent by this run; new at the destination"
	case adopted:
		return "an equal asset was there already, and was taken over"
	case replaced:
		return "new content in the same asset, at the same address"
	case described:
		return "only what describes it was brought up to date"
	case moved:
		return "renamed, or moved to another folder, at the destination"
	case trashed:
		return "its object is gone, so the asset is in the trash"
	case unchanged:
		return "arrived in an earlier run, and has not changed since"
	case skipped:
		return "a rule left it out, see “Not taken over”"
	case failed:
		return "could not be brought over"
	case parked:
		return "not tried any more until it changes or somebody asks"
	case changed:
		return "the source changed it after it was listed"
	case conflict:
		return "a person must decide"
	case waiting:
		return "did not work yet and is tried again"
	case unconfirmed:
		return "sent, but nobody knows yet whether it arrived"
	case planned:
		return "not sent yet"
	case sending:
		return "being sent"
	case sent:
		return "arrived, but is not described yet"
	case undecided:
		return "not decided yet"
	}
	return ""
}

// Said says how the destination was compared.
func (p Proof) Said() string {
	switch p.Level {
	case "listing":
		return "by name and size, in a listing of the destination"
	case "sample":
		return "by name and size, and a sample by content"
	case "content":
		return "by name and size, and by content"
	}
	return "by " + ui.Sanitize(p.Level)
}

// Share says how much of the whole that is; neither is empty.
func (g group) Share(whole Amount) string {
	tenths := g.Objects * 1000 / whole.Objects
	if tenths == 0 {
		return "less than 0.1%"
	}
	return fmt.Sprintf("%d.%d%%", tenths/10, tenths%10)
}
