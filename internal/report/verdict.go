package report

import (
	"fmt"
	"strings"
	"time"

	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// judge puts the report into a sentence. What is wrong comes before what is missing, and
// that before what is good: the first thing that applies is the verdict.
func judge(r Report) Verdict {
	v := judgeRun(r)
	if r.Run.PrunedAt != nil {
		v.Sentence += fmt.Sprintf(" Its items were pruned on %s: only its sums are left.", r.Run.PrunedAt.Format(time.DateOnly))
	}
	return v
}

func judgeRun(r Report) Verdict {
	for _, judge := range []func(Report) (Verdict, bool){
		judgeSum, judgePlan, judgeUndo, judgeUndone, judgeStopped, judgeUnfinished, judgeHeldBack, judgeTroubles, judgeDifferences, judgeBehind,
		judgeNarrow, judgeLeftOut, judgeQuiet,
	} {
		if v, applies := judge(r); applies {
			return v
		}
	}
	v := judgeGood(r)
	v.Sentence += orphansText(r)
	return v
}

// judgeSum doubts the report itself.
func judgeSum(r Report) (Verdict, bool) {
	if r.Sum.Closes || !r.Run.ListedAll { // a listing that goes on moves between two looks
		return Verdict{}, false
	}
	return Verdict{Incomplete, fmt.Sprintf("The sum does not close: %s were listed, and %s are accounted for.",
		objects(r.Sum.Listed.Objects), ui.Count(r.Sum.Total.Objects)), "assetferry state check looks after the journal"}, true
}

func judgePlan(r Report) (Verdict, bool) {
	if r.Run.Command != "plan" || r.Run.State == string(state.Applying) || r.Run.State == string(state.Finished) {
		return Verdict{}, false
	}
	next := "assetferry migrate carries one out"
	if r.Undo.Undoes != "" {
		next = "assetferry undo --run " + r.Undo.Undoes + " --apply carries one out"
	}
	return Verdict{PlanOnly, "This is a plan: nothing has been sent.", next}, true
}

func judgeUndone(r Report) (Verdict, bool) {
	var n, back int64
	for _, u := range r.Undo.By {
		n, back = n+u.Trashed.Objects, back+u.PutBack.Objects
	}
	if n+back == 0 {
		return Verdict{}, false
	}
	again := "assetferry migrate brings them again"
	if r.Night != nil {
		again = "the next sync does it again, unless the source or the rules are other ones by then"
	}
	if left := r.Undo.left(); left > 0 {
		return Verdict{Undone, fmt.Sprintf("The run was undone in part: %s, and %s did not.", undoneText(n, back), ui.Count(left)), again}, true
	}
	return Verdict{Undone, fmt.Sprintf("The run was undone: %s.", undoneText(n, back)), again}, true
}

// undoneText says what became of what a run had made, and of what it had changed.
func undoneText(trashed, back int64) string {
	inTrash, asBefore := assets(trashed)+" that it had created went to the trash", assets(back)+" were put back as they were"
	switch {
	case back == 0:
		return inTrash
	case trashed == 0:
		return asBefore
	}
	return asBefore + "; " + inTrash
}

// followIt is the next step while a run is being carried out.
const followIt = "a process is at work on it: assetferry status --watch follows it"

// judgeUndo is about a run that takes another one back.
func judgeUndo(r Report) (Verdict, bool) {
	if r.Undo.Undoes == "" {
		return Verdict{}, false
	}
	count := map[string]int64{}
	for _, p := range r.Sum.Parts {
		count[p.Name] = p.Objects
	}
	inTrash, stay := count[trashed], count[conflict]+count[failed]+count[unconfirmed]
	back := count[created] + count[replaced] + count[described] + count[moved]
	went := assets(inTrash) + " went to the trash"
	if back > 0 {
		went = fmt.Sprintf("%s were put back as they were, %s went to the trash", assets(back), ui.Count(inTrash))
	}
	again := "assetferry undo --run " + r.Undo.Undoes + " --apply: it goes on where it stopped"
	if r.Run.AtWork {
		again = followIt
	}
	switch {
	case r.Run.FinishedAt == nil:
		return Verdict{Unfinished, fmt.Sprintf("The undo of run %s is not finished: %s, and %s did not.",
			r.Undo.Undoes, went, ui.Count(r.Sum.Listed.Objects-inTrash-back-count[skipped])), again}, true
	case r.Run.GivenUp:
		return Verdict{Unfinished, fmt.Sprintf("The undo of run %s was given up; %s.", r.Undo.Undoes, went), again}, true
	case stay > 0:
		return Verdict{Incomplete, fmt.Sprintf("Run %s was undone in part: %s, and %s did not.", r.Undo.Undoes, went, ui.Count(stay)),
			"see below why; what somebody has changed since is theirs to trash"}, true
	}
	next := "assetferry migrate brings them again"
	if back > 0 {
		next = "a sync with the same settings does it again; assetferry explain KEY names the command that keeps an asset as it is now"
	}
	return Verdict{Undone, fmt.Sprintf("Run %s was undone: %s.", r.Undo.Undoes, undoneText(inTrash, back)), next}, true
}

// judgeStopped is about a run that a guard stopped before anything was written.
func judgeStopped(r Report) (Verdict, bool) {
	if r.Night == nil || r.Night.Stopped == "" || r.Run.State == string(state.Applying) || r.Run.State == string(state.Finished) {
		return Verdict{}, false
	}
	v := Verdict{Stopped, "A guard stopped the sync before anything was changed: " + sentence(r.Night.Stopped),
		"see that the source and the settings are what they should be; if they are, run the command that accepts it; assetferry status shows it"}
	if !migrate.IsAcceptable(r.Night.Stopped) {
		v.Next = "see that the disk or share is mounted and whole, and run the same command again"
	}
	return v, true
}

// judgeHeldBack is about a finished run of which a guard held a part back.
func judgeHeldBack(r Report) (Verdict, bool) {
	if r.Night == nil || r.Night.Stopped == "" {
		return Verdict{}, false
	}
	v := Verdict{Stopped, "A guard held a part of the sync back: " + sentence(r.Night.Stopped), "see that the source is whole; if it is, run the command that accepts it; assetferry status shows it"}
	if troubles, any := judgeTroubles(r); any {
		v.Sentence += " " + troubles.Sentence
	}
	return v, true
}

// sentence ends a text with a full stop.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }

// judgeQuiet is about a sync that found everything as the sync before had left it.
func judgeQuiet(r Report) (Verdict, bool) {
	if r.Night == nil || !r.Night.Quiet || r.Destination.Objects == 0 {
		return Verdict{}, false
	}
	v := judgeGood(r)
	v.Sentence = fmt.Sprintf("Nothing changed: %s are as the sync before left them.%s %s", objects(r.Sum.Listed.Objects), orphansText(r), v.Sentence)
	return v, true
}

// orphansText tells of assets whose objects are gone, nothing if there are none.
func orphansText(r Report) string {
	if r.Night == nil || r.Night.Gone == nil || r.Night.Gone.Stay.Objects == 0 {
		return ""
	}
	g := r.Night.Gone
	text := fmt.Sprintf(" Still there: %s whose %s gone from the source", assets(g.Stay.Objects), objectsAre(g.Stay.Objects))
	if q := g.GracePeriod.Objects; q > 0 {
		text += fmt.Sprintf(", %s of them in quarantine", ui.Count(q))
	}
	return text + "."
}

func objectsAre(n int64) string {
	if n == 1 {
		return "object is"
	}
	return "objects are"
}

func judgeUnfinished(r Report) (Verdict, bool) {
	again := "run the same command again: it goes on where it stopped"
	if r.Run.AtWork {
		again = followIt
	}
	switch n := r.unmatched(); {
	case n > 0 && !r.Run.AtWork && !r.Run.GivenUp:
		return Verdict{Stopped, fmt.Sprintf("Stopped before anything was sent: %s an extension that no category allows.", have(n)),
			"decide with --unsupported skip or --unsupported create; assetferry status shows the command"}, true
	case r.Run.GivenUp:
		return Verdict{Unfinished, fmt.Sprintf("The run was given up before it was finished; %s arrived in it.", assets(arrived(r))),
			"see the run that came after it: assetferry runs"}, true
	case !r.Run.ListedAll:
		return Verdict{Unfinished, fmt.Sprintf("The source was not listed to its end: %s so far, and nobody knows how many there are.",
			objects(r.Sum.Listed.Objects)), again}, true
	case r.Run.FinishedAt == nil:
		return Verdict{Unfinished, fmt.Sprintf("The run is not finished: %s.", unfinished(r)), again}, true
	}
	return Verdict{}, false
}

// unmatched counts the objects whose extensions keep a run from being carried out.
func (r Report) unmatched() (n int64) {
	if !r.stopsAtUnsupported || r.Run.State != string(state.Planned) {
		return 0
	}
	for _, o := range r.LeftOut {
		if migrate.Reason(o.Reason) == migrate.ReasonUnsupportedType {
			n += o.Objects
		}
	}
	return n
}

func have(n int64) string {
	if n == 1 {
		return "1 object has"
	}
	return objects(n) + " have"
}

// unfinished says what a run that is not finished still has to do.
func unfinished(r Report) string {
	var left int64
	doubt := ""
	for _, p := range r.Sum.Parts {
		switch p.Name {
		case planned, sending, sent, waiting, undecided:
			left += p.Objects
		case unconfirmed:
			doubt = fmt.Sprintf(", and of %s nobody knows whether they arrived", ui.Count(p.Objects))
		}
	}
	return fmt.Sprintf("%s arrived, %s are still to be done%s", ui.Count(arrived(r)), ui.Count(left), doubt)
}

func judgeTroubles(r Report) (Verdict, bool) {
	sum := newParts()
	var n int64
	for _, p := range r.Sum.Parts {
		if isTrouble(p.Name) {
			sum.add(p.Name, p.Amount)
			n += p.Objects
		}
	}
	if n == 0 && r.Unlistable == 0 {
		return Verdict{}, false
	}
	var said []string
	for _, p := range sum.list() {
		said = append(said, ui.Count(p.Objects)+" "+strings.Replace(p.Name, conflict, "in conflict", 1))
	}
	if n == 0 {
		said = append(said, "those that are in there, if any")
	}
	v := Verdict{Incomplete, fmt.Sprintf("%s did not come through: %s.", capital(objects(n)), strings.Join(said, ", ")), nextOf(r)}
	if r.Unlistable > 0 {
		v.Sentence = fmt.Sprintf("The source could not be listed to its end: %s could not be read, and nobody knows what is in there. %s",
			folders(r.Unlistable), v.Sentence)
	}
	return v, true
}

// nextOf is the next step that helps most.
func nextOf(r Report) string {
	if len(r.Troubles) == 1 {
		return r.Troubles[0].Remedy
	}
	if r.Run.PrunedAt != nil {
		return "see what became of them in the runs since: assetferry runs"
	}
	return "see below what to do about each kind, then run the same command again"
}

func judgeDifferences(r Report) (Verdict, bool) {
	if r.Proof.Differences == 0 {
		return Verdict{}, false
	}
	return Verdict{Different, fmt.Sprintf("A verification found %s between the destination and the journal.", differences(r.Proof.Differences)),
		"look at them below; after they are settled, run assetferry verify again"}, true
}

// judgeBehind keeps a run of a few objects from hiding what others have left.
func judgeBehind(r Report) (Verdict, bool) {
	if r.LeftBehind == 0 {
		return Verdict{}, false
	}
	return Verdict{Incomplete, fmt.Sprintf("This run had only a part of the source. %s did not come through in the runs before it, and nothing has brought them since.",
		capital(objects(r.LeftBehind))), "assetferry migrate without --include, --files-from and --limit takes them up again; assetferry runs shows the runs"}, true
}

// judgeNarrow says of what part of the source the good news is, until that was seen once.
func judgeNarrow(r Report) (Verdict, bool) {
	var left, seen int64
	for _, o := range r.LeftOut {
		switch migrate.Reason(o.Reason) {
		case migrate.ReasonExcluded, migrate.ReasonNotInList, migrate.ReasonLimit, migrate.ReasonNotAtDestination:
			left += o.Objects
			seen += o.Objects - o.ToLookAt()
		}
	}
	if !r.Run.Narrow || left == seen {
		return Verdict{}, false
	}
	rest := judgeProof(r, "Everything else").Sentence
	first := ""
	if seen > 0 {
		first = fmt.Sprintf(" (%s of them for the first time)", ui.Count(left-seen))
	}
	return Verdict{Partial, fmt.Sprintf("This run had only a part of the source: %s of %s were left out by what it was asked for%s. %s",
		ui.Count(left), objects(r.Sum.Listed.Objects), first, rest),
		"assetferry migrate without --include, --files-from and --limit brings the rest"}, true
}

// judgeLeftOut is about what somebody may look for. What rules of the user's own skip is
// told of once: see seenSkips.
func judgeLeftOut(r Report) (Verdict, bool) {
	var missed int64
	for _, o := range r.LeftOut {
		if o.Missed {
			missed += o.ToLookAt()
		}
	}
	if missed == 0 {
		return Verdict{}, false
	}
	verb := "were"
	if missed == 1 {
		verb = "was"
	}
	rest := judgeProof(r, "Everything else").Sentence + orphansText(r)
	if seenSkips(r) > 0 {
		return Verdict{Partial, fmt.Sprintf("Not everything was taken over: %s %s left out that somebody may look for, besides %s skipped by your rules as before. %s",
			objects(missed), verb, ui.Count(bySeenRules(r)), rest), "decide about what was not taken over: each reason names who or what decides"}, true
	}
	return Verdict{Partial, fmt.Sprintf("Not everything was taken over: %s %s left out that somebody may look for. %s", objects(missed), verb, rest),
		"decide about what was not taken over: each reason names who or what decides"}, true
}

// seenSkips counts the objects that would be something to look at if no earlier run had
// skipped them for the same reason.
func seenSkips(r Report) (n int64) {
	for _, o := range r.LeftOut {
		narrowed := r.Run.Narrow && o.Reason == string(migrate.ReasonExcluded)
		if o.ByRule && (o.Missed || narrowed) {
			n += o.Objects - o.New
		}
	}
	return n
}

// bySeenRules counts all that rules of the user's own skip, as they did before.
func bySeenRules(r Report) (n int64) {
	for _, o := range r.LeftOut {
		if o.ByRule {
			n += o.Objects - o.New
		}
	}
	return n
}

// judgeGood is about a run that brought all it was to bring. What rules skip as before is
// said in few words.
func judgeGood(r Report) Verdict {
	if seenSkips(r) == 0 {
		return judgeProof(r, "Everything")
	}
	var n int64
	for _, o := range r.LeftOut {
		if o.ByRule {
			n += o.Objects
		}
	}
	v := judgeProof(r, "Everything else")
	v.Sentence = fmt.Sprintf("Complete: %s skipped by your rules. %s", objects(n), v.Sentence)
	return v
}

// judgeProof is about a run that brought all it was to bring, which what calls.
func judgeProof(r Report, what string) Verdict {
	verify := "prove it: assetferry verify --content"
	p := r.Proof
	switch {
	case r.Destination.Objects == 0:
		return Verdict{Complete, strings.Replace(what, "Everything", "Nothing", 1) + " was to be taken over.", ""}
	case p.At == nil:
		return Verdict{Complete, what + " arrived by its receipts. It was never verified.", verify}
	case p.Verified == 0 && !p.Covers:
		return Verdict{Complete, what + " arrived by its receipts. It was not verified since.", verify}
	case !p.Covers:
		return Verdict{Complete, fmt.Sprintf("%s arrived by its receipts. %s.", what, capital(verifiedText(p))), verify}
	case p.ByContent == 0:
		return Verdict{Proved, fmt.Sprintf("%s arrived, and the destination lists it by name and size: %s.", what, assets(p.Verified)),
			"to prove contents, too: assetferry verify --content"}
	case p.ByContent < p.Verified:
		return Verdict{Proved, fmt.Sprintf("%s arrived; %s of %s were read back, and their content is right.", what, ui.Count(p.ByContent), assets(p.Verified)),
			"to prove all of it: assetferry verify --content"}
	}
	return Verdict{Proved, fmt.Sprintf("%s arrived and was proved by content: %s.", what, assets(p.Verified)), ""}
}

// verifiedText says how many assets are verified, and how many are not yet.
func verifiedText(p Proof) string {
	return fmt.Sprintf("%s verified on %s, %s not verified yet", assets(p.Verified), p.At.Format(time.DateOnly), ui.Count(p.NotVerified))
}

// arrived counts what is at the destination by this run, or was before.
func arrived(r Report) (n int64) {
	for _, p := range r.Sum.Parts {
		switch p.Name {
		case created, adopted, replaced, described, moved:
			n += p.Objects
		}
	}
	return n
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func objects(n int64) string     { return ui.Counted(n, "object") }
func assets(n int64) string      { return ui.Counted(n, "asset") }
func folders(n int64) string     { return ui.Counted(n, "folder") }
func differences(n int64) string { return ui.Counted(n, "difference") }
