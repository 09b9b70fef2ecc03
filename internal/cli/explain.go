package cli

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assetferry/internal/runstatus"

	"github.com/spf13/cobra"

	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/flagname"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// suggestedKeys is how many keys are offered in the place of one that is not known.
const suggestedKeys = 5

func (a *app) explainCommand() *cobra.Command {
	conflicts := false
	c := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Tell everything known of one object",
		Long: `Explain tells what the journal knows of an object: where its asset is, what was
sent, what each run wanted with it and why, every attempt that failed, what the
last verification found, what was there before a sync changed it, where it was
moved from or to, since when it is gone from the source, and its old addresses.
KEY is the name of the object below SOURCE, such as 2024/spring/harbour.jpg; a
path into the source, the ID of an asset, a key that the object went by, and an
old address that begins with https:// will do, too. Of a sidecar it tells which
object it describes, and what it says of that.

The last line, "Next", shows the command that helps with what the last run left.

With --conflicts it lists all objects of which origins of metadata, such as a
table and what is embedded, say different things.

It reads the journal and nothing else.
`,
		Example: `  assetferry explain 2024/spring/harbour.jpg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if conflicts {
				return cobra.NoArgs(cmd, args)
			}
			return one("KEY")(cmd, args)
		},
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			journal, err := a.readJournal(ctx)
			if err != nil {
				return err
			}
			e := &explainer{a, journal}
			if conflicts {
				return e.listConflicts(ctx)
			}
			return e.explain(ctx, args[0])
		}),
	}
	c.Flags().BoolVar(&conflicts, "conflicts", false, "list all objects of which origins say different things")
	return c
}

// An explainer tells what a journal knows of an object.
type explainer struct {
	*app
	journal *state.Store
}

// explain tells it for every pair that knows the object.
func (e *explainer) explain(ctx context.Context, asked string) error {
	pairs, err := e.journal.Pairs(ctx)
	if err != nil {
		return err
	}
	var similar []string
	known := false
	for _, p := range pairs {
		key := keyWithin(p.Source, asked)
		if byAsset, err := e.journal.KeyOfAsset(ctx, p.ID, asked); err == nil {
			key = byAsset
		} else if !errors.Is(err, state.ErrNotFound) {
			return err
		}
		h, err := e.recall(ctx, p, key)
		if err == nil && h.isEmpty() { // a key that looks like a path into the source
			h, err = e.recall(ctx, p, asked)
		}
		if err == nil && h.receipt == nil {
			h, err = e.followed(ctx, h)
		}
		if err != nil {
			return err
		}
		if h.isEmpty() {
			more, err := e.journal.KeysEnding(ctx, p.ID, path.Base(key), suggestedKeys)
			if err != nil {
				return err
			}
			similar = append(similar, more...)
			continue
		}
		if known {
			e.out.Printf("\n")
		}
		known = true
		e.tell(h)
	}
	if known {
		return nil
	}
	return unknownKey(asked, similar)
}

// keyWithin makes a key of a path into a source, and leaves all else as it is.
func keyWithin(source, asked string) string {
	if !filepath.IsAbs(source) { // a bucket
		return strings.TrimPrefix(asked, strings.TrimSuffix(source, "/")+"/")
	}
	full, err := filepath.Abs(asked)
	if err != nil {
		return asked
	}
	if rest, ok := strings.CutPrefix(full, strings.TrimSuffix(source, "/")+string(filepath.Separator)); ok {
		return filepath.ToSlash(rest)
	}
	return asked
}

func unknownKey(asked string, similar []string) error {
	hint := "a key is relative to SOURCE, as plan --verbose shows it; an object that never was anything but unchanged or left out has no record"
	if len(similar) > 0 {
		slices.Sort(similar)
		similar = slices.Compact(similar)
		for n, s := range similar {
			similar[n] = fmt.Sprintf("%q", s)
		}
		hint = "there are " + strings.Join(similar[:min(len(similar), suggestedKeys)], ", ")
	}
	return &stop{exitNoSuch, fmt.Errorf("the journal knows nothing of %q", asked), hint}
}

// A history is what the journal knows of an object.
type history struct {
	pair        state.Pair
	key         string
	receipt     *state.Receipt
	sharesWith  *sources.Key // the key of the object whose asset it has; nil if it has one of its own, or none
	arrival     state.Arrival
	category    state.Category
	folder      string // path
	description *state.Description
	described   state.Described
	differences []state.Difference
	failure     *state.Failure
	stages      []state.Stage
	attempts    map[int64][]state.Attempt

	orphan      *state.Orphan // nil unless it is gone from the source
	trashedFrom time.Time     // of an orphan in quarantine
	earlier     []state.Earlier
	movedTo     string // the key that it goes by now
	movedIn     string // the run that moved it

	names   names
	sidecar *sidecar // nil if it is none
	next    nextStep

	by  string   // the key or address that was asked for, if the object goes by another one
	was *history // of that
}

func (h history) isEmpty() bool {
	return h.by == "" && h.receipt == nil && h.failure == nil && len(h.stages) == 0 && h.movedTo == "" && h.sidecar == nil
}

// orNil gives what was found, or nil where nothing is.
func orNil[T any](v T, err error) (*T, error) {
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	return &v, err
}

func (e *explainer) recall(ctx context.Context, p state.Pair, key string) (h history, err error) {
	h = history{pair: p, key: key, attempts: map[int64][]state.Attempt{}}
	if h.receipt, err = orNil(e.journal.Receipt(ctx, p.ID, sources.Key(key))); err != nil {
		return h, err
	}
	if h.failure, err = orNil(e.journal.Failure(ctx, p.ID, sources.Key(key))); err != nil {
		return h, err
	}
	if h.stages, err = e.journal.Stages(ctx, p.ID, sources.Key(key)); err != nil {
		return h, err
	}
	for _, s := range h.stages {
		if h.attempts[s.Run.Num], err = e.journal.Attempts(ctx, s.Run.Num, sources.Key(key)); err != nil {
			return h, err
		}
	}
	if err := e.recallSyncs(ctx, &h); err != nil {
		return h, err
	}
	if h.next, err = e.nextOf(ctx, h); err != nil {
		return h, err
	}
	if h.receipt == nil {
		if h.sidecar, err = e.recallSidecar(ctx, p, key); err != nil {
			return h, err
		}
		h.sharesWith, err = orNil(e.journal.AliasOwner(ctx, p.ID, sources.Key(key)))
		return h, err
	}
	return h, errors.Join(e.recallPlace(ctx, &h), e.recallProof(ctx, &h), e.recallNames(ctx, &h))
}

// recallSyncs finds out what syncs did to an object, and whether it is gone.
func (e *explainer) recallSyncs(ctx context.Context, h *history) (err error) {
	if h.orphan, err = orNil(e.journal.Orphan(ctx, h.pair.ID, sources.Key(h.key))); err != nil {
		return err
	}
	if h.orphan != nil {
		if h.trashedFrom, err = runstatus.GraceEnds(ctx, e.journal, h.pair, h.orphan.Since); err != nil {
			return err
		}
	}
	if h.earlier, err = e.journal.Earlier(ctx, h.pair.ID, sources.Key(h.key)); err != nil {
		return err
	}
	h.movedTo, h.movedIn, err = e.journal.MovedTo(ctx, h.pair.ID, sources.Key(h.key))
	if errors.Is(err, state.ErrNotFound) {
		err = nil
	}
	return err
}

// recallPlace finds out where the asset is, in words.
func (e *explainer) recallPlace(ctx context.Context, h *history) error {
	categories, err := e.journal.Categories(ctx, h.pair.Destination)
	if err != nil {
		return err
	}
	var isKnown bool
	if h.category, isKnown = categories[h.receipt.Category]; !isKnown {
		h.category = state.Category{ID: h.receipt.Category}
	}
	if h.receipt.Folder != "" {
		path, err := orNil(e.journal.PathOfFolder(ctx, h.pair.Destination, h.receipt.Category, h.receipt.Folder))
		if err != nil {
			return err
		}
		if h.folder = h.receipt.Folder; path != nil {
			h.folder = *path
		}
	}
	if h.description, err = orNil(e.journal.Description(ctx, h.pair.ID, sources.Key(h.key))); err != nil {
		return err
	}
	h.described, err = e.journal.DescribedAs(ctx, h.pair.ID, sources.Key(h.key))
	return err
}

func (e *explainer) recallProof(ctx context.Context, h *history) (err error) {
	if h.arrival, err = e.journal.ArrivalOf(ctx, h.pair.ID, sources.Key(h.key)); err != nil || h.arrival.Listed.ID == 0 {
		return err
	}
	if h.differences, err = e.journal.DifferencesOf(ctx, h.arrival.Listed.ID, h.receipt.Asset); err != nil {
		return err
	}
	last := lastStage(h.stages)
	if last == nil || h.next != (nextStep{}) || !slices.ContainsFunc(h.differences, func(d state.Difference) bool { return d.Field == "presence" }) {
		return nil
	}
	h.next = nextStep{"Deleted or moved at the destination. To create it again if it was deleted:", e.commandOf(last.Run, useSync, "--repair")}
	return nil
}

// tell shows a history, as lines or as events.
func (e *explainer) tell(h history) {
	if h.was != nil {
		e.tell(*h.was)
		e.out.Printf("\n")
	}
	e.out.Printf("%s", ui.Sanitize(h.key))
	e.line("Source", h.pair.Source)
	e.line("Destination", fmt.Sprintf("%s (%s)", h.pair.Destination, h.pair.Address))
	e.tellSidecar(h)
	e.tellAsset(h)
	e.tellProof(h)
	e.tellDescription(h)
	e.tellMetadata(h.described)
	e.tellNames(h)
	if f := h.failure; f != nil {
		since := ""
		if !f.Since.IsZero() {
			since = ", since " + f.Since.Local().Format(time.DateTime)
		}
		e.line("Fails", fmt.Sprintf("in %s by now%s: %s", count(int64(f.Runs), "run"), since, f.Error))
		if f.Unclear {
			e.line("", "it was sent, and may have arrived all the same")
		}
	}
	e.tellGone(h)
	for _, s := range h.stages {
		e.tellStage(h, s)
	}
	if h.next.why != "" {
		e.line("Next", h.next.why)
	}
	if h.next.command != "" {
		title := "Next"
		if h.next.why != "" {
			title = ""
		}
		e.line(title, h.next.command)
	}
}

// afterStop says what helps with the newest run of a pair, if a safety check stopped it: what
// it found gone may be a source in trouble.
func (e *explainer) afterStop(ctx context.Context, pair int64) (next nextStep, stopped bool, err error) {
	runs, err := e.journal.RunsOf(ctx, pair, 1)
	if err != nil || len(runs) == 0 || runs[0].Stopped == "" {
		return nextStep{}, false, err
	}
	tallies, err := e.journal.Tallies(ctx, runs[0].Num)
	return e.afterRun(runs[0], tallies), true, err
}

// nextOf says what helps with an object, by what the last run wanted with it.
func (e *explainer) nextOf(ctx context.Context, h history) (nextStep, error) {
	last := lastStage(h.stages)
	if last == nil {
		return nextStep{}, nil
	}
	holder, err := e.journal.Holder(ctx)
	if err != nil || holder.Alive && last.Run.Open() {
		return nextStep{}, err
	}
	if last.Run.Undoes != 0 {
		undone, err := e.journal.UndoneRun(ctx, last.Run)
		return e.afterUndone(undone, last.Item), err
	}
	if last.Item.Action == state.Trash && last.Item.State == state.ItemDone && h.receipt == nil {
		return nextStep{"To restore its asset from the trash, with all that the run did:", e.applyUndo(last.Run)}, nil
	}
	if tellsOfDeletion(migrate.Reason(last.Item.Reason)) {
		if next, stopped, err := e.afterStop(ctx, last.Run.Pair.ID); err != nil || stopped {
			return next, err
		}
	}
	tallies, err := e.journal.Tallies(ctx, last.Run.Num)
	return e.forItem(last.Run, tallies, last.Item, clock.Now()), err
}

// afterUndone says what helps with an object of a run that was undone.
func (e *explainer) afterUndone(undone state.Run, i state.Item) nextStep {
	switch {
	case i.State != state.ItemDone && i.State != state.ItemSkipped:
		return nextStep{flagname.InText(migrate.Reason(i.Reason).Remedy()), e.applyUndo(undone)}
	case i.Action == state.Create:
		return nextStep{"Restored by the undo; a sync with --delete trash trashes it again. To keep it, put the file back at the source, or sync without --delete:",
			e.commandOf(undone, func(_ *string, r *migrate.Rules) { r.Sync.Delete = "never" })}
	}
	return nextStep{"Undone. To do it again:", e.commandOf(undone, nil)}
}

// lastStage is the newest one that is of no mere plan, or the newest of all.
func lastStage(all []state.Stage) *state.Stage {
	for n := range slices.Backward(all) {
		if all[n].Run.Command != "plan" {
			return &all[n]
		}
	}
	if len(all) > 0 {
		return &all[len(all)-1]
	}
	return nil
}

// tellGone tells where an object is that is not at the source any more.
func (e *explainer) tellGone(h history) {
	if h.movedTo != "" {
		e.line("Moved", fmt.Sprintf("to %s by run %s", h.movedTo, h.movedIn))
	}
	if h.orphan == nil {
		return
	}
	e.line("Gone", fmt.Sprintf("from the source since %s, as %s found", h.orphan.Since.Local().Format(time.DateTime), count(int64(h.orphan.Runs), "run")))
	if h.trashedFrom.IsZero() {
		e.line("", "its asset stays, see sync --delete")
	} else {
		e.line("", fmt.Sprintf("in quarantine: a sync from %s on may trash its asset, unless it comes back", h.trashedFrom.Local().Format(time.DateTime)))
	}
}

// tellEarlier tells what was there before a run changed it.
func (e *explainer) tellEarlier(h history, run state.Run) {
	for _, was := range h.earlier {
		if was.Run.Num != run.Num || !was.Done {
			continue
		}
		if was.Key != h.key {
			e.line("", "before, its key was "+was.Key)
		}
		e.line("", fmt.Sprintf("before, its asset was %s with %s, SHA-256 %s", was.Asset, ui.Bytes(was.Size), hex.EncodeToString(was.Digest)))
	}
}

func (e *explainer) line(title, text string) {
	e.out.Printf("  %-12s %s", title, ui.Sanitize(text))
}

func (e *explainer) tellAsset(h history) {
	r := h.receipt
	switch {
	case r == nil && h.sharesWith != nil:
		e.line("Asset", "that of "+string(*h.sharesWith)+", whose content it has")
		return
	case h.sidecar != nil:
		e.line("Asset", "none of its own: it describes another object")
		return
	case r == nil:
		e.line("Asset", "none that the journal knows of")
		return
	}
	how := "sent"
	if r.Adopted {
		how = "was there before, and taken over"
	}
	e.line("Asset", r.Asset)
	e.line("Place", path.Join(cmp.Or(h.category.Name, h.category.ID), h.folder, r.Filename()))
	e.line("Address", r.URL)
	e.line("Seen by", e.audience(h.category))
	e.line("Arrived", fmt.Sprintf("%s: %s%s", h.arrival.At.Local().Format(time.DateTime), how, ofRun(h.arrival.Run)))
	e.line("Content", fmt.Sprintf("%s (%s bytes), SHA-256 %s", ui.Bytes(r.Size), ui.Count(r.Size), hex.EncodeToString(r.Digest)))
	e.line("As it was", fingerprintOf(r.Time, r.VersionTag))
}

func ofRun(id string) string {
	if id == "" {
		return ""
	}
	return " by run " + id
}

// audience tells who can see the assets of a category.
func (e *explainer) audience(c state.Category) string {
	switch {
	case c.Name == "":
		return "not known; assetferry verify asks the service"
	case c.Private:
		return "who has access: the category is private"
	}
	return "everybody who has the address: the category is public"
}

func fingerprintOf(modified time.Time, tag string) string {
	var parts []string
	if !modified.IsZero() {
		parts = append(parts, "changed "+modified.Local().Format(time.DateTime))
	}
	if tag != "" {
		parts = append(parts, "version tag "+tag)
	}
	return cmp.Or(strings.Join(parts, ", "), "the source gives no sign of its version")
}

func (e *explainer) tellProof(h history) {
	at := func(when time.Time) string { return when.Local().Format(time.DateTime) }
	listed, content := h.arrival.Listed, h.arrival.Content
	switch {
	case h.receipt == nil || len(h.differences) > 0:
	case listed.ID == 0:
		e.line("Proof", "not verified since it arrived")
	case content.Equal(listed.At):
		e.line("Proof", fmt.Sprintf("verified by content %s: no difference", at(content)))
	case !content.IsZero():
		e.line("Proof", fmt.Sprintf("listed %s with its name and size; verified by content %s", at(listed.At), at(content)))
	default:
		e.line("Proof", fmt.Sprintf("listed %s with its name and size", at(listed.At)))
	}
	for _, d := range h.differences {
		e.line("Difference", fmt.Sprintf("%s, seen %s: %s", d.Field, at(listed.At), d.What))
		e.out.Event("check", event.Check{Key: h.key, AssetID: d.Asset, Result: "difference", Field: d.Field, Message: d.What})
	}
}

func (e *explainer) tellDescription(h history) {
	d := h.description
	if d == nil {
		return
	}
	if d.ContentType != "" {
		e.line("Kept with it", "content type "+d.ContentType)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Metadata)) {
		e.line("", fmt.Sprintf("metadata %s: %s", k, d.Metadata[k]))
	}
	for _, k := range slices.Sorted(maps.Keys(d.Tags)) {
		e.line("", fmt.Sprintf("tag %s: %s", k, d.Tags[k]))
	}
}

// tellStage tells what a run wanted with the object and how that came out.
func (e *explainer) tellStage(h history, s state.Stage) {
	i := s.Item
	text := fmt.Sprintf("%s: %s", cmp.Or(string(i.Action), "not decided yet"), i.Reason)
	e.line("Run", fmt.Sprintf("%s (%s, %s)", s.Run.ID, s.Run.Command, s.Run.StartedAt.Local().Format(time.DateTime)))
	e.line("", text)
	e.line("", strings.ReplaceAll(string(i.State), "_", " ")+afterAttempts(i.Attempts)+colon(i.Error))
	if !i.DueAt.IsZero() {
		e.line("", "to be tried again at "+i.DueAt.Local().Format(time.DateTime))
	}
	e.tellEarlier(h, s.Run)
	for _, t := range h.attempts[s.Run.Num] {
		e.line("", fmt.Sprintf("attempt %d, %s, %s: %s", t.Number, t.At.Local().Format(time.DateTime), t.Class, t.Error))
	}
	line := event.Item{Key: h.key, Action: string(i.Action), State: string(i.State), AssetID: i.Asset, Error: i.Error,
		Run: s.Run.ID, Reason: i.Reason, Attempts: i.Attempts}
	if h.receipt != nil && h.receipt.Asset == i.Asset {
		line.URL = h.receipt.URL
	}
	e.out.Event("item", line)
}

func afterAttempts(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" after %d attempts", n)
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
