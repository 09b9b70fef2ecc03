package report_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assetferry/internal/assets"
	"assetferry/internal/report"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/undo"
	"assetferry/migrate/verify"
	"assetferry/sources"
	"assetferry/state"
)

// TestReportsOfRandomHistories verifies that after any history, the report of each run accounts for
// all objects, contains the same in every format, and agrees with the destination about its assets.
func TestReportsOfRandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{T: rt, world: newWorld(t, drawFaults(rt)...), foreign: map[string]bool{}, listed: map[string]report.Amount{}}
		defer h.close()
		h.workers = 4
		h.source.Put("always.jpg", []byte("there")) // an empty source would count as unavailable
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			h.step()
		}
		h.checkAll()
	})
}

// A history applies random operations to a library and its runs.
type history struct {
	*rapid.T
	*world
	foreign map[string]bool          // assets of other users
	listed  map[string]report.Amount // the objects in the source, by run with a single complete listing
}

func drawFaults(t *rapid.T) (drawn []string) {
	all := []string{
		"POST /assets drop=after nth=%d", "POST /assets status=503 commit=after nth=%d", "POST /assets status=400 nth=%d",
		"POST /assets status=429 nth=%d", "POST /assets status=413 nth=%d", "POST /folders drop=after nth=%d",
		"POST /assets/trash drop=after nth=%d", "POST /assets/trash status=400 nth=%d",
	}
	for _, f := range rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, 2, rapid.ID).Draw(t, "faults") {
		drawn = append(drawn, fmt.Sprintf(f, rapid.IntRange(2, 6).Draw(t, "nth")))
	}
	return drawn
}

func drawKey(t *rapid.T) sources.Key {
	return sources.Key(rapid.SampledFrom([]string{"", "a/", "b/c/", "=d/", "..e/", "B/"}).Draw(t, "folder") +
		rapid.SampledFrom([]string{"1.jpg", "1.JPG", "2.png", "3.txt", "=4.jpg", "5.odd", "6\n.jpg", "7,\".txt", ".DS_Store", "8"}).Draw(t, "name"))
}

func (h *history) step() {
	h.change()
	switch rapid.SampledFrom([]string{"migrate", "migrate", "sync", "sync", "adopt", "plan", "verify", "upload", "give up", "undo", "undo", "touch"}).Draw(h.T, "step") {
	case "undo":
		h.undo()
	case "touch":
		h.touch()
	case "migrate":
		h.carryOut("migrate", h.rules())
	case "sync":
		r := h.rules()
		r.Limit, r.Sync = 0, migrate.DefaultSyncRules()
		r.Sync.Delete = rapid.SampledFrom([]string{"never", "trash"}).Draw(h.T, "delete")
		r.Sync.GracePeriod = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(h.T, "grace_period")
		h.carryOut("sync", r)
	case "adopt":
		r := h.rules()
		r.AdoptOnly = true
		h.carryOut("adopt", r)
	case "plan":
		h.plan()
	case "verify":
		level := rapid.SampledFrom([]string{verify.LevelListing, verify.LevelSample, verify.LevelChecksum}).Draw(h.T, "level")
		if _, err := verify.New(h.deps(h.source), level, 2).Verify(h.Context(), h.pair); err != nil {
			h.Fatal(err)
		}
	case "upload":
		h.upload()
	case "give up":
		h.giveUp()
	}
}

// change changes the source.
func (h *history) change() {
	for range rapid.IntRange(0, 8).Draw(h.T, "changes") {
		key := drawKey(h.T)
		switch rapid.IntRange(0, 9).Draw(h.T, "change") {
		case 0:
			h.deleteAfter(key)
		case 1:
			h.source.PutObject(sources.Object{Key: key, Size: 3, Obstacle: sources.Unreadable}, nil)
		case 2:
			h.source.PutObject(sources.Object{Key: "hidden/", Obstacle: sources.UnreadableDirectory}, nil)
		case 3:
			h.source.PutObject(sources.Object{Key: key, Obstacle: sources.Symlink}, nil)
		default:
			h.source.Put(key, []byte(rapid.SampledFrom([]string{"", "x", "yy", strings.Repeat("z", 12345)}).Draw(h.T, "content")))
		}
	}
}

// deleteAfter deletes the first object after a key that may go.
func (h *history) deleteAfter(key sources.Key) {
	for o, err := range h.source.Objects(h.Context(), key) {
		must(h.world, err)
		if o.Key != "always.jpg" {
			h.source.Delete(o.Key)
			return
		}
	}
}

func (h *history) rules() migrate.Rules {
	r := migrate.DefaultRules()
	r.Unsupported = rapid.SampledFrom([]string{"skip", "create", "stop"}).Draw(h.T, "unmatched")
	r.OnCollision = rapid.SampledFrom([]string{"rename", "keep", "conflict"}).Draw(h.T, "on collision")
	r.OnExisting = rapid.SampledFrom([]string{"conflict", "adopt", "create"}).Draw(h.T, "on existing")
	r.Exclude = rapid.SliceOfN(rapid.SampledFrom([]string{"*.txt", "/a/**", "=*"}), 0, 1).Draw(h.T, "exclude")
	r.Limit = rapid.SampledFrom([]int{0, 0, 2}).Draw(h.T, "limit")
	return r
}

var errPulled = errors.New("the plug was pulled")

// carryOut starts or resumes a run. It may be interrupted at a request, or the source may change
// during one.
func (h *history) carryOut(command string, r migrate.Rules) {
	if h.finishesUndo() {
		return
	}
	ctx, cancel := context.WithCancelCause(h.Context())
	defer cancel(nil)
	at, what := rapid.IntRange(1, 25).Draw(h.T, "at request"), rapid.SampledFrom([]string{"nothing", "nothing", "pull", "change"}).Draw(h.T, "happens")
	key := drawKey(h.T)
	h.setGate(func(n int) {
		switch {
		case what == "pull" && n >= at:
			cancel(errPulled)
		case what == "change" && n == at:
			h.source.Put(key, []byte("in the meantime"))
		}
	})
	defer h.setGate(nil)
	_, err := h.store.Unfinished(h.Context(), h.pair)
	fresh, before, missed := errors.Is(err, state.ErrNotFound), h.atSource(), h.missed()
	run, err := h.run(ctx, h.source, command, r)
	if err != nil && !h.mayPass(err) {
		h.Fatalf("%s: %v", command, err)
	}
	if command == "sync" { // which also counts known objects, except those under another key
		for i, err := range h.store.Items(h.Context(), run.Num) {
			must(h.world, err)
			delete(missed, string(i.PreviousKey))
		}
		for _, size := range missed {
			before = plus(before, report.Amount{Objects: 1, Bytes: size})
		}
	}
	if fresh && run.Scanned && what != "change" {
		h.listed[run.ID] = before
	}
	h.check(run)
}

// missed returns the sizes of uploaded objects that the source does not have any more.
func (h *history) missed() map[string]int64 {
	sizes := map[string]int64{}
	for r, err := range h.store.Receipts(h.Context(), h.pair.ID, "") {
		must(h.world, err)
		sizes[string(r.Key)] = r.Size
	}
	for o, err := range h.source.Objects(h.Context(), "") {
		must(h.world, err)
		delete(sizes, string(o.Key))
	}
	return sizes
}

// mayPass reports whether an error may be caused by the faults of a test.
func (h *history) mayPass(err error) bool {
	_, service := errors.AsType[*assets.Error](err)
	_, breaker := errors.AsType[*apply.BreakerError](err)
	return service || breaker || errors.Is(err, errPulled)
}

func (h *history) plan() {
	if _, err := h.store.Unfinished(h.Context(), h.pair); err == nil {
		return // only a plan would be possible, as with the command
	}
	before := h.atSource()
	run, err := h.run(h.Context(), h.source, "plan", h.rules())
	if err != nil && !h.mayPass(err) {
		h.Fatal(err)
	}
	h.listed[run.ID] = before
	h.check(run)
}

// undo undoes a run as far as possible, or resumes an undo.
func (h *history) undo() {
	if h.finishesUndo() {
		return
	}
	undone := rapid.SampledFrom(append(h.runs(), state.Run{})).Draw(h.T, "undone")
	if undone.Command == "sync" {
		return
	}
	undoable, err := h.store.IsUndoable(h.Context(), undone)
	must(h.world, err)
	open, err := h.store.Unfinished(h.Context(), h.pair)
	if !undoable || undone.Undoes != 0 || err == nil && open.Num != undone.Num {
		return
	}
	run, err := h.store.BeginUndo(h.Context(), undone)
	if errors.Is(err, state.ErrConflict) { // an item is unconfirmed
		return
	}
	must(h.world, err)
	if undone.Open() {
		delete(h.listed, undone.ID) // it is superseded
	}
	h.undoRun(run, undone)
}

// finishesUndo resumes an unfinished undo, and reports whether there is one.
func (h *history) finishesUndo() bool {
	run, err := h.store.Unfinished(h.Context(), h.pair)
	if err != nil || run.Undoes == 0 || run.State != state.Applying {
		return false
	}
	undone, err := h.store.UndoneRun(h.Context(), run)
	must(h.world, err)
	err = h.undoer().Resolve(h.Context(), run)
	if err == nil {
		err = h.store.Relist(h.Context(), run.Num)
	}
	if err != nil && !h.mayPass(err) {
		h.Fatal(err)
	}
	if err == nil {
		h.undoRun(h.again(run), undone)
	}
	return true
}

func (h *history) undoer() *undo.Undoer {
	u := undo.New(h.deps(h.source), h.client)
	u.Wait, u.RetryPauses = 0, []time.Duration{time.Millisecond}
	return u
}

// undoRun plans an undo and carries it out. It may be cut short at some request.
func (h *history) undoRun(run, undone state.Run) {
	ctx, cancel := context.WithCancelCause(h.Context())
	defer cancel(nil)
	at := rapid.IntRange(1, 20).Draw(h.T, "pulled at request")
	h.setGate(func(n int) {
		if n >= at {
			cancel(errPulled)
		}
	})
	defer h.setGate(nil)
	plan, err := undo.NewPlanner(h.deps(h.source)).Plan(ctx, run, undone)
	if err == nil {
		err = h.undoer().Apply(ctx, plan.Run)
	}
	h.rest()
	if err != nil && !h.mayPass(err) {
		h.Fatal(err)
	}
	h.setGate(nil)
	h.check(h.again(run))
	h.check(h.again(undone))
}

// touch changes assets as another user. An undo does not trash these.
func (h *history) touch() {
	tags := []string{"by hand"}
	for receipt, err := range h.store.Receipts(h.Context(), h.pair.ID, "") {
		must(h.world, err)
		if rapid.Bool().Draw(h.T, "touched") {
			if _, err := h.client.Update(h.Context(), receipt.Asset, assets.Changes{Tags: &tags}); err != nil {
				h.Fatal(err)
			}
		}
	}
}

// giveUp supersedes an unfinished run, like --restart.
func (h *history) giveUp() {
	run, err := h.store.Unfinished(h.Context(), h.pair)
	if err != nil || run.Undoes != 0 {
		return
	}
	if err := h.store.Supersede(h.Context(), run.Num); err != nil {
		if !errors.Is(err, state.ErrConflict) { // an item is unconfirmed
			h.Fatal(err)
		}
		return
	}
	delete(h.listed, run.ID) // objects that were not sent are not accounted for any more
	h.check(h.again(run))
}

// upload creates an asset as another user at the place of one of ours, sometimes an identical one.
func (h *history) upload() {
	content := rapid.SampledFrom([]string{"there", "other"}).Draw(h.T, "content")
	for c, err := range h.client.Categories(h.Context()) {
		must(h.world, err)
		if c.Name != "Images" {
			continue
		}
		u := assets.Upload{CategoryID: c.ID, Filename: "always.jpg", Size: int64(len(content))}
		u.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
		for known := h.atDestination(); ; {
			_, err := h.client.Upload(h.Context(), u)
			for id := range h.atDestination() {
				if _, there := known[id]; !there {
					h.foreign[id] = true // also if the answer was lost
				}
			}
			if err == nil {
				return
			}
		}
	}
}

// atSource counts the objects in the source.
func (h *history) atSource() (a report.Amount) {
	for o, err := range h.source.Objects(h.Context(), "") {
		must(h.world, err)
		a = plus(a, report.Amount{Objects: 1, Bytes: o.Size})
	}
	return a
}

// atDestination lists every asset that is there.
func (h *history) atDestination() map[string]assets.Asset {
	all := map[string]assets.Asset{}
	list := func(o assets.ListOptions) {
		for a, err := range h.client.List(h.Context(), o) {
			must(h.world, err)
			all[a.ID] = a
		}
	}
	var walk func(f assets.Folder)
	walk = func(f assets.Folder) {
		list(assets.ListOptions{FolderID: f.ID})
		deeper, err := h.client.Folder(h.Context(), f.ID, 1)
		must(h.world, err)
		for _, sub := range deeper.Folders {
			walk(sub)
		}
	}
	for c, err := range h.client.Categories(h.Context()) {
		must(h.world, err)
		list(assets.ListOptions{CategoryID: c.ID})
	}
	top, err := h.client.Folders(h.Context())
	must(h.world, err)
	for _, f := range top {
		walk(f)
	}
	return all
}

func plus(a, b report.Amount) report.Amount {
	return report.Amount{Objects: a.Objects + b.Objects, Bytes: a.Bytes + b.Bytes}
}

// sums are amounts by state.
type sums map[string]report.Amount

func (s sums) add(name string, objects, bytes int64) {
	s[name] = plus(s[name], report.Amount{Objects: objects, Bytes: bytes})
}

func (s sums) total() (all report.Amount) {
	for _, a := range s {
		all = plus(all, a)
	}
	return all
}

// check reads the report of a run back in every format.
func (h *history) check(run state.Run) {
	r := h.read(run)
	listed, parts := h.fromJSON(r)
	if parts.total() != listed || !r.Results.Accounted {
		h.Errorf("objects are unaccounted for: %+v are listed, and the states are %+v", listed, parts)
	}
	if want, known := h.listed[run.ID]; known && want != listed {
		h.Errorf("%+v are listed, and the source had %+v", listed, want)
	}
	same := func(format string, otherListed report.Amount, other sums) {
		if otherListed != listed {
			h.Errorf("%s has %+v listed, and JSON %+v", format, otherListed, listed)
		}
		if diff := cmp.Diff(parts, other); diff != "" {
			h.Errorf("%s differs (-JSON +%s)\n%s", format, format, diff)
		}
	}
	l, p := h.fromText(r)
	same("text", l, p)
	l, p = h.fromHTML(r)
	same("HTML", l, p)
	l, p = h.fromFolders(r)
	same("index of folders", l, p)
	l, p = h.fromSplit(r)
	same("lists by folder", l, p)
	p = h.fromCSV(r)
	same("CSV", p.total(), p)
	h.checkKeys(r, p)
	h.checkUndone(r)
	h.checkDestination(r)
}

func (h *history) fromJSON(r report.Report) (listed report.Amount, parts sums) {
	var b bytes.Buffer
	must(h.world, r.WriteJSON(&b))
	var doc struct {
		Results struct {
			Listed map[string]int64
			States []struct {
				State          string
				Objects, Bytes int64
			}
		}
	}
	must(h.world, json.Unmarshal(b.Bytes(), &doc))
	parts = sums{}
	for _, p := range doc.Results.States {
		parts.add(p.State, p.Objects, p.Bytes)
	}
	return report.Amount{Objects: doc.Results.Listed["objects"], Bytes: doc.Results.Listed["bytes"]}, parts
}

var textRow = regexp.MustCompile(`(?m)^  ( *)([a-z ]+?) +([0-9,]+) +([0-9,]+)  [ 0-9.]+ k?B$`)

func (h *history) fromText(r report.Report) (listed report.Amount, parts sums) {
	var b bytes.Buffer
	must(h.world, r.WriteText(&b, time.UTC))
	_, text, _ := strings.Cut(b.String(), "\nResults\n")
	text, _, _ = strings.Cut(text, "\n\n")
	parts = sums{}
	for _, row := range textRow.FindAllStringSubmatch(text, -1) {
		parts.add(strings.ReplaceAll(row[2], " ", "_"), h.number(row[3]), h.number(row[4]))
	}
	listed = parts["total"]
	delete(parts, "total")
	at := fmt.Sprintf("from all runs: %d asset", r.Destination.Objects)
	if !strings.Contains(strings.Join(strings.Fields(text), " "), at) {
		h.Errorf("the text does not say %q:\n%s", at, text)
	}
	return listed, parts
}

func (h *history) number(text string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	must(h.world, err)
	return n
}

var htmlNumber = regexp.MustCompile(`<data id="results-([a-z-]+)-(objects|bytes)" value="([0-9]+)">`)

func (h *history) fromHTML(r report.Report) (listed report.Amount, parts sums) {
	var b bytes.Buffer
	must(h.world, r.WriteHTML(h.Context(), &b, time.UTC))
	parts = sums{}
	for _, m := range htmlNumber.FindAllStringSubmatch(b.String(), -1) {
		name, n := strings.ReplaceAll(m[1], "-", "_"), h.number(m[3])
		if m[2] == "objects" {
			parts.add(name, n, 0)
		} else {
			parts.add(name, 0, n)
		}
	}
	listed = parts["total"]
	if other, differs := parts["listed"]; differs {
		h.Errorf("the page has a total of %+v, and %+v listed", listed, other)
	}
	delete(parts, "total")
	return listed, parts
}

// rows parses CSV and returns its rows by column name.
func (h *history) rows(text string) (rows []map[string]string) {
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	must(h.world, err)
	for _, cells := range all[1:] {
		row := map[string]string{}
		for n, cell := range cells {
			row[all[0][n]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// list writes a list; unchanged objects may be missing in it, and keys.
func (h *history) list(r report.Report, format, only string) string {
	choice, err := report.ParseChoice(only)
	must(h.world, err)
	var b bytes.Buffer
	err = r.WriteList(h.Context(), &b, format, choice, nil)
	if _, ok := errors.AsType[*report.LineBreakError](err); !ok && !errors.Is(err, report.ErrOnlyCounted) {
		must(h.world, err)
	}
	return b.String()
}

func (h *history) fromCSV(r report.Report) sums {
	parts := sums{}
	for _, row := range h.rows(h.list(r, "csv", "")) {
		parts.add(row["state"], 1, h.number(row["size"]))
	}
	if missing := onlyCounted(r); missing.Objects > 0 {
		parts.add("unchanged", missing.Objects, missing.Bytes)
	}
	return parts
}

// onlyCounted counts the unchanged objects that are not listed.
func onlyCounted(r report.Report) report.Amount {
	return report.Amount{Objects: r.Results.Listed.Objects - r.Charted.Objects, Bytes: r.Results.Listed.Bytes - r.Charted.Bytes}
}

// checkKeys expects as many keys in a list of each state as there are rows.
func (h *history) checkKeys(r report.Report, parts sums) {
	broken := map[string]int64{}
	for _, row := range h.rows(h.list(r, "csv", "")) {
		if strings.ContainsAny(row["key"], "\n\r") {
			broken[row["state"]]++
		}
	}
	for name, a := range parts {
		want := a.Objects - broken[name]
		if name == "unchanged" {
			want -= onlyCounted(r).Objects
		}
		if got := int64(strings.Count(h.list(r, "keys", name), "\n")); got != want {
			h.Errorf("%d keys in state %s, want %d", got, name, want)
		}
	}
}

// checkUndone wants as many objects to be undone as the undos of the run have trashed.
func (h *history) checkUndone(r report.Report) {
	var trashed int64
	for _, u := range r.Undo.By {
		trashed += u.Trashed.Objects
	}
	if undone := int64(len(h.rows(h.list(r, "csv", "undone")))); undone != trashed {
		h.Errorf("%d objects are undone, and %d are in the trash", undone, trashed)
	}
}

// fromIndex adds up an index of folders.
func (h *history) fromIndex(text string) (listed report.Amount, parts sums) {
	parts = sums{}
	for _, row := range h.rows(text) {
		parts.add(row["state"], h.number(row["objects"]), h.number(row["bytes"]))
	}
	listed = parts["listed"]
	delete(parts, "listed")
	return listed, parts
}

func (h *history) fromFolders(r report.Report) (listed report.Amount, parts sums) {
	var b bytes.Buffer
	must(h.world, r.WriteFolders(h.Context(), &b, "csv", nil))
	return h.fromIndex(b.String())
}

// fromSplit adds up the lists of all folders, and wants each to be of one folder.
func (h *history) fromSplit(r report.Report) (listed report.Amount, parts sums) {
	dir, err := os.MkdirTemp(h.world.TempDir(), "")
	must(h.world, err)
	choice, err := report.ParseChoice("")
	must(h.world, err)
	if err := r.SplitByFolder(h.Context(), dir, "csv", choice); !errors.Is(err, report.ErrOnlyCounted) {
		must(h.world, err)
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.csv"))
	must(h.world, err)
	files := map[string]string{} // to the folder
	for _, row := range h.rows(string(index)) {
		if row["file"] != "" {
			files[row["file"]] = row["folder"]
		}
	}
	parts = sums{}
	there, err := os.ReadDir(dir)
	must(h.world, err)
	if len(there) != len(files)+1 {
		h.Errorf("%d files, and an index of %d", len(there), len(files))
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(filepath.Join(dir, file))
		must(h.world, err)
		for _, row := range h.rows(string(text)) {
			parts.add(row["state"], 1, h.number(row["size"]))
			if folder := files[file]; folder != folderOf(row["key"]) {
				h.Errorf("%q is in the list of %q", row["key"], folder)
			}
		}
	}
	if missing := onlyCounted(r); missing.Objects > 0 {
		parts.add("unchanged", missing.Objects, missing.Bytes)
	}
	return parts.total(), parts
}

// folderOf returns the top-level folder of a cell with a key.
func folderOf(key string) string {
	before, _, inside := strings.Cut(key, "/")
	if !inside {
		return ""
	}
	return before
}

// checkDestination compares the report with the destination, if the state of the destination is
// known.
func (h *history) checkDestination(r report.Report) {
	there, unclear := h.atDestination(), h.unclear()
	var ours report.Amount
	for receipt, err := range h.store.Receipts(h.Context(), h.pair.ID, "") {
		must(h.world, err)
		a, ok := there[receipt.Asset]
		switch {
		case unclear[string(receipt.Key)] > 0: // it may be replaced, or in the trash
			a.Size = receipt.Size
		case !ok:
			h.Errorf("%q is not there", receipt.Key)
		}
		delete(there, receipt.Asset)
		ours = plus(ours, report.Amount{Objects: 1, Bytes: a.Size})
	}
	if r.Destination != ours {
		h.Errorf("the report says %+v are at the destination, and there are %+v", r.Destination, ours)
	}
	equal := h.identicalAssets()
	maps.DeleteFunc(there, func(id string, _ assets.Asset) bool { return h.foreign[id] || strings.Contains(equal, id) })
	unknown := 0
	for _, attempts := range unclear {
		unknown += attempts
	}
	if len(there) > unknown {
		h.Errorf("%d assets have no owner, and at most %d may have none: %v", len(there), unknown, there)
	}
}

// identicalAssets are the warnings about identical assets: of two, it is unknown which one belongs to
// another user.
func (h *history) identicalAssets() (texts string) {
	for _, run := range h.runs() {
		for i, err := range h.store.Items(h.Context(), run.Num) {
			must(h.world, err)
			if _, also, more := strings.Cut(i.Error, "found several times at the destination; also as "); more {
				texts += also + "\n"
			}
		}
	}
	return texts
}

// unclear counts the unconfirmed attempts by key.
func (h *history) unclear() map[string]int {
	attempts := map[string]int{}
	for _, run := range h.runs() {
		for i, err := range h.store.Items(h.Context(), run.Num, state.ItemUnconfirmed, state.ItemSending) {
			must(h.world, err)
			attempts[string(i.Key)] += i.Attempts
		}
	}
	for f, err := range h.store.Failures(h.Context(), h.pair.ID, "") {
		must(h.world, err)
		if f.Unclear {
			attempts[string(f.Key)] += f.Runs
		}
	}
	return attempts
}

func (h *history) runs() []state.Run {
	runs, err := h.store.RunsOf(h.Context(), h.pair.ID, 100)
	must(h.world, err)
	return runs
}

// grown returns the total growth in bytes of replaced objects since their upload.
func (h *history) grown() (bytes int64) {
	sizes := map[string]int64{}
	for _, run := range slices.Backward(h.runs()) {
		for i, err := range h.store.Items(h.Context(), run.Num) {
			must(h.world, err)
			switch {
			case i.Action == state.Create, i.Action == state.Adopt:
				sizes[string(i.Key)] = i.Size
			case i.Action == state.Move && i.State == state.ItemDone:
				sizes[string(i.Key)] = sizes[string(i.PreviousKey)]
			case i.Action == state.Replace && (i.State == state.ItemDone || i.State == state.ItemSent):
				was := i.Key
				if i.PreviousKey != "" { // it got another name as well
					was = i.PreviousKey
				}
				bytes += i.Size - sizes[string(was)]
				sizes[string(i.Key)] = i.Size
			}
		}
	}
	return bytes
}

// checkAll expects the reports of all runs to add up to the assets at the destination, also by
// privacy.
func (h *history) checkAll() {
	var arrived, seen, private report.Amount
	var last report.Report
	for _, run := range h.runs() {
		h.check(run)
		last = h.read(run)
		_, parts := h.fromJSON(last)
		arrived = plus(arrived, plus(plus(parts["created"], parts["adopted"]), h.metadataPending(run)))
		arrived = plus(arrived, report.Amount{Objects: -parts["trashed"].Objects, Bytes: -parts["trashed"].Bytes})
		seen = plus(seen, plus(plus(last.Privacy.Public, last.Privacy.Private), last.Privacy.Unknown))
		private = plus(private, last.Privacy.Private)
	}
	if last.Run.ID == "" {
		return
	}
	arrived.Bytes += h.grown()
	if arrived != last.Destination || seen != last.Destination {
		h.Errorf("%+v are at the destination; the runs created %+v, and the privacy of %+v is reported", last.Destination, arrived, seen)
	}
	if want := h.inContracts(); private != want {
		h.Errorf("%+v are private, want %+v", private, want)
	}
}

// metadataPending counts the assets of an interrupted run whose metadata is pending: they are in
// state sent.
func (h *history) metadataPending(run state.Run) (a report.Amount) {
	for i, err := range h.store.Items(h.Context(), run.Num, state.ItemSent) {
		must(h.world, err)
		if i.Action == state.Create {
			a = plus(a, report.Amount{Objects: 1, Bytes: i.Size})
		}
	}
	return a
}

// inContracts counts our assets in the private category.
func (h *history) inContracts() (a report.Amount) {
	categories := map[string]bool{}
	for c, err := range h.client.Categories(h.Context()) {
		must(h.world, err)
		categories[c.ID] = c.Private
	}
	there, unclear := h.atDestination(), h.unclear()
	for receipt, err := range h.store.Receipts(h.Context(), h.pair.ID, "") {
		must(h.world, err)
		size := there[receipt.Asset].Size
		if unclear[string(receipt.Key)] > 0 {
			size = receipt.Size
		}
		if categories[receipt.Category] {
			a = plus(a, report.Amount{Objects: 1, Bytes: size})
		}
	}
	return a
}
