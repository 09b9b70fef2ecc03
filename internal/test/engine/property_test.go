package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/state"
)

// pieces are the parts of unusual names: characters with a special meaning in file systems, forms,
// URLs or Unicode.
var pieces = []string{
	"a", "A", " ", ".", "..", "", "~", "%", "%41", "%2F", "+", "&", "=", "#", "?", "*", ":", ";", "'", "\"", `b\`, "|", "<", "$",
	"\t", "\x01", "\x7f", "\u0085", "\u00a0", "\u200d", "\u202e", "\ufeff", "\xff", "\xc3", "\U0001f600", "\u65e5\u672c",
	"\u00e9", "e\u0301", "\u00df", "ss", "\u1e9e", "\u212a", "k", "\u0130", "i\u0307", "\ufb01", "fi", "\u03c3", "\u03c2",
	strings.Repeat("m", 128), strings.Repeat("\u00e9", 255), strings.Repeat("n", 256), strings.Repeat("o", 257),
}

// drawSegment draws a part of a key. Many of the usual ones differ only in case and Unicode form.
func drawSegment(t *rapid.T, usual ...string) string {
	if rapid.IntRange(0, 3).Draw(t, "odd") > 0 {
		return rapid.SampledFrom(usual).Draw(t, "segment")
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 3).Draw(t, "pieces"), "")
}

func drawKey(t *rapid.T) sources.Key {
	var b strings.Builder
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 30}).Draw(t, "depth") {
		b.WriteString(drawSegment(t, "d", "D", "e", "\u00e9", "e\u0301") + "/")
	}
	b.WriteString(drawSegment(t, "a", "A", "\u00e9", "e\u0301", "\u00c9", "b"))
	b.WriteString(rapid.SampledFrom([]string{".jpg", ".JPG", ".png", ".txt", ".Txt", ".odd", ".\u00d6", ".longestextension", ".", "", ".j g"}).Draw(t, "extension"))
	key := b.String()
	if strings.Contains(key, `\`) {
		key = strings.ReplaceAll(key, `"`, "'") // services do not agree which of them to escape, and how
	}
	return sources.Key(key)
}

func drawContent(t *rapid.T) []byte {
	contents := map[string][]byte{"none": {}, "x": []byte("x"), "y": []byte("y"), "64 KiB": make([]byte, 64<<10)}
	return contents[rapid.SampledFrom([]string{"none", "x", "y", "64 KiB"}).Draw(t, "content")]
}

// drawLibrary draws a small tree.
func drawLibrary(t *rapid.T) map[sources.Key][]byte {
	library := map[sources.Key][]byte{}
	for range rapid.IntRange(0, 14).Draw(t, "objects") {
		library[drawKey(t)] = drawContent(t)
	}
	return library
}

// drawRules draws rules under which every valid object is uploaded.
func drawRules(t *rapid.T) migrate.Rules {
	r := migrate.DefaultRules()
	r.Unsupported = "create"
	r.OnCollision = rapid.SampledFrom([]string{"rename", "keep", "conflict"}).Draw(t, "on collision")
	r.Duplicates = rapid.SampledFrom([]string{"", "one-asset"}).Draw(t, "duplicates")
	return r
}

// drawReading draws one interpretation of the undocumented behaviour of the service. The flag
// -reading sets it instead.
func drawReading(t *rapid.T) string {
	return rapid.SampledFrom(sandboxtest.Readings()).Draw(t, "reading")
}

// drawStrictRules draws rules that may also skip objects.
func drawStrictRules(t *rapid.T) migrate.Rules {
	r := drawRules(t)
	r.Unsupported = rapid.SampledFrom([]string{"skip", "create"}).Draw(t, "unsupported")
	r.CategoryBy = rapid.SampledFrom([]string{"extension", "folder"}).Draw(t, "category by")
	r.Category = rapid.SampledFrom([]string{"", "", "Images", "New"}).Draw(t, "category")
	r.Exclude = rapid.SliceOfN(rapid.SampledFrom([]string{"*.txt", "d", "/e/**", "[A-Z]*", "%*"}), 0, 2).Draw(t, "exclude")
	r.Limit = rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "limit")
	return r
}

func drawProvenance(t *rapid.T) change {
	mode := rapid.SampledFrom([]string{"never", "always"}).Draw(t, "provenance")
	return func(a *apply.Applier) { a.Provenance = mode }
}

// oracle returns the expected asset of each object under the rules of the test. All other objects
// must be skipped with a reason. It follows the documentation, not the engine.
func oracle(library map[sources.Key][]byte, onCollision string) map[string]placed {
	categories := map[string]string{"jpg": "Images", "png": "Images", "txt": "Texts"}
	taken := map[string]bool{}
	all := map[string]placed{}
	for _, key := range slices.Sorted(maps.Keys(library)) {
		dir, name := path.Split(norm.NFC.String(string(key)))
		extension := path.Ext(name)
		base := strings.TrimSuffix(name, extension)
		if isSystemFile(string(key)) || !isClean(string(key)) || base == "" || !isExtension(extension) || tooLong(base) || slices.ContainsFunc(strings.Split(dir, "/"), tooLong) {
			continue
		}
		p := placed{cmp.Or(categories[strings.ToLower(extension[1:])], "Other files"), strings.TrimSuffix(dir, "/"), name, checksum(string(library[key]))}
		slot := p.Category + "\x00" + p.Folder + "\x00" + norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
		if taken[slot] && onCollision == "conflict" {
			continue
		}
		if taken[slot] && onCollision == "rename" {
			sum := sha256.Sum256([]byte(key))
			runes := []rune(base)
			p.Name = string(runes[:min(len(runes), 256-7)]) + "~" + hex.EncodeToString(sum[:3]) + extension
		}
		taken[slot] = true
		all[string(key)] = p
	}
	return all
}

// shared removes from the result of oracle the objects that share the asset of the first identical
// one, and returns the keys of both.
func shared(all map[string]placed) map[string]string {
	owners, aliases := map[[3]string]string{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		p := all[key]
		alike := [3]string{p.Category, strings.ToLower(path.Ext(key)), p.Checksum}
		if owner, isAlias := owners[alike]; isAlias && p.Checksum != checksum("") {
			aliases[key] = owner
			delete(all, key)
		} else {
			owners[alike] = key
		}
	}
	return aliases
}

// without returns a library without some keys.
func without(library map[sources.Key][]byte, keys map[string]string) map[sources.Key][]byte {
	rest := maps.Clone(library)
	maps.DeleteFunc(rest, func(key sources.Key, _ []byte) bool { return keys[string(key)] != "" })
	return rest
}

// isSystemFile reports whether a key is a temporary file of an office program, the only kind of
// skipped file that these tests draw.
func isSystemFile(key string) bool {
	return slices.ContainsFunc(strings.Split(key, "/"), func(name string) bool { return strings.HasPrefix(name, "~$") })
}

func tooLong(name string) bool { return utf8.RuneCountInString(name) > 256 }

// isClean reports whether a key is text that is valid as folders and a name.
func isClean(key string) bool {
	return key != "" && utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) &&
		path.Clean("/"+key) == "/"+key
}

func isExtension(e string) bool {
	return len(e) > 1 && utf8.RuneCountInString(e) <= 10 && !strings.ContainsFunc(e, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '\\' })
}

// TestInterruptedAnywhere verifies that a run that is interrupted anywhere, and resumed until it is
// finished, has the same result as an uninterrupted one, and accounts for every object. After that
// there is nothing to do, and without the state database everything is found again.
func TestInterruptedAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		library, r := drawLibrary(rt), drawRules(rt)
		w := newWorld(t, faults(t, drawFaults(rt)...), reading(t, drawReading(rt)))
		defer w.close()
		w.source.Replace(library)
		want, aliases := oracle(library, r.OnCollision), map[string]string{}
		if r.Duplicates != "" {
			aliases = shared(want)
		}
		if got := actions(w.plan(r)); got[state.Create] != int64(len(want)) || got[state.Adopt] != int64(len(aliases)) {
			rt.Errorf("the plan is to %v, want %d created and %d joined", got, len(want), len(aliases))
		}
		w.finish(rt, w.deps(), r, func(int) {}, drawProvenance(rt))
		w.wantLibrary(rt, want)
		if diff := gocmp.Diff(aliases, w.aliases(), cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("aliases (-want +got):\n%s", diff)
		}
		if apart := without(library, aliases); len(oracle(apart, r.OnCollision)) > len(want) {
			return // the asset that blocked an object is shared now, so the next run has something to do
		}
		second := func() { insist(rt, func() (migrate.Plan, error) { return w.try(w.Context(), r) }) }
		if sent := writes(w.during(second)); len(sent) > 0 {
			rt.Errorf("a second run sent %v", sent)
		}
		w.loseState()
		planned := actions(insist(rt, func() (migrate.Plan, error) { return w.dryRun(r) }))
		var found migrate.Plan
		again := func() { found = insist(rt, func() (migrate.Plan, error) { return w.try(w.Context(), r) }) }
		if sent := writes(w.during(again)); len(sent) > 0 {
			rt.Errorf("without the state database it sent %v", sent)
		}
		if states, _ := w.states(found); states["adopt done"] != int64(len(want)+len(aliases)) {
			rt.Errorf("without the state database: %v, want %d adopted and %d joined", states, len(want), len(aliases))
		}
		if diff := gocmp.Diff(planned, actions(found)); diff != "" {
			rt.Errorf("actions (-planned +carried out):\n%s", diff)
		}
	})
}

// aliases returns the key of the asset's owner by the key of each object that shares the asset.
func (w *world) aliases() map[string]string {
	w.Helper()
	all := map[string]string{}
	for a, err := range w.store.AllAliases(w.Context(), w.pair.ID, "") {
		must(w, err)
		all[string(a.Key)] = string(a.Owner)
	}
	return all
}

// actions counts the objects of a plan by action.
func actions(p migrate.Plan) map[state.Action]int64 {
	count := map[state.Action]int64{}
	for _, t := range p.Tallies {
		count[t.Action] += t.Objects
	}
	return count
}

// finish runs until everything possible is done. It interrupts the first attempts at random, and
// calls before at the start of each attempt.
func (w *world) finish(t *rapid.T, d migrate.Deps, r migrate.Rules, before func(attempt int), changes ...change) {
	for attempt, failed := 0, 0; ; attempt++ {
		before(attempt)
		plan, err := w.tryInterrupted(t, d, r, attempt, changes...)
		if err != nil && !errors.Is(err, errPulled) && !mayPass(err) {
			t.Fatalf("attempt %d: %v", attempt, err)
		}
		if err != nil {
			failed++
		}
		if attempt-failed == 20 || failed == 100 {
			states, _ := w.states(plan)
			for i, err := range w.store.Items(w.Context(), plan.Run.Num) {
				must(w, err)
				t.Logf("%q: %s, %s; %s %s", i.Key, i.Action, i.Reason, i.State, i.Error)
			}
			t.Fatalf("no end in sight: %d objects, and the run accounts for %v", w.listed(), states)
		}
		if err == nil && w.isDone(t, plan) {
			return
		}
	}
}

// mayPass reports whether the faults of a test can cause an error: an operation that fails every
// other time, among other operations, may fail at each attempt.
func mayPass(err error) bool {
	class, _ := retry.Classify(err)
	_, service := errors.AsType[*assets.Error](err)
	return service && class.Repeatable()
}

// insist repeats do until it succeeds, as long as its errors may pass.
func insist(t *rapid.T, do func() (migrate.Plan, error)) migrate.Plan {
	for range 100 {
		plan, err := do()
		if err == nil {
			return plan
		}
		if !mayPass(err) {
			t.Fatal(err)
		}
	}
	t.Fatal("no end in sight")
	panic("not reached")
}

// isDone reports whether each listed object is uploaded, or cannot be. Otherwise the run is open,
// with unconfirmed items, or finished with failed items, and another run is needed.
func (w *world) isDone(t *rapid.T, plan migrate.Plan) bool {
	states, listed := w.states(plan)
	run, err := w.store.Run(w.Context(), plan.Run.ID)
	must(w, err)
	unconfirmed := states["create unconfirmed"]+states["adopt unconfirmed"] > 0
	if unconfirmed != (run.State == state.Applying) || !unconfirmed && run.State != state.Finished {
		t.Fatalf("the run is %s with %v", run.State, states)
	}
	for i, err := range w.store.Items(w.Context(), plan.Run.Num) {
		must(w, err)
		if i.State != state.ItemDone && i.Reason == "" {
			t.Fatalf("%q is %s without a reason", i.Key, i.State)
		}
	}
	confirmed := int64(0)
	for _, s := range []string{"create done", "adopt done", "unchanged skipped", "skip skipped", "skip failed", "conflict conflict"} {
		confirmed += states[s]
	}
	return confirmed == listed && listed == w.listed()
}

// listed counts the objects of the source.
func (w *world) listed() (n int64) {
	for _, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		n++
	}
	return n
}

// wantLibrary verifies that exactly these objects are at the destination, each once.
func (w *world) wantLibrary(t *rapid.T, want map[string]placed) {
	w.wantSound()
	all := slices.SortedFunc(maps.Values(want), comparePlaced)
	if diff := gocmp.Diff(all, w.assetsAt()); diff != "" {
		t.Errorf("at the destination (-want +got):\n%s", diff)
	}
	for path, n := range w.folders() {
		if n != 1 {
			t.Errorf("%s is there %d times", path, n)
		}
	}
	for receipt, err := range w.store.Receipts(w.Context(), w.pair.ID, "") {
		must(w, err)
		if p := want[string(receipt.Key)]; p.Name != receipt.Name+"."+receipt.Extension {
			t.Errorf("%q has arrived as %q, want %q", receipt.Key, receipt.Name+"."+receipt.Extension, p.Name)
		}
	}
}

// TestSourceChangesAnytime verifies that the source may change between any two attempts, whatever
// is unconfirmed by then. Each asset is a complete version of its object, exists once, and in the
// end every object is uploaded or reported as not.
func TestSourceChangesAnytime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r, provenance := drawStrictRules(rt), drawProvenance(rt)
		w := newWorld(t, faults(t, drawFaults(rt)...), reading(t, drawReading(rt)))
		defer w.close()
		p := &past{versions: map[sources.Key][]string{}, lost: map[string]string{}}
		p.put(w, "always.jpg", []byte("there")) // a source that lists nothing counts as unavailable
		library := drawLibrary(rt)
		for _, key := range slices.Sorted(maps.Keys(library)) {
			p.put(w, key, library[key])
		}
		d := w.deps()
		d.Watch = p
		w.finish(rt, d, r, func(attempt int) {
			switch {
			case attempt > 0 && attempt < 6:
				p.change(rt, w)
			case attempt == 6:
				p.heal(w)
			}
		}, provenance)
		p.heal(w)
		w.finish(rt, d, r, func(int) {}, provenance) // the last change may have followed the listing of the finished run
		p.check(rt, w)
	})
}

// A past records the outcomes for the objects of a source.
type past struct {
	migrate.Silent
	versions map[sources.Key][]string // checksums of all contents that an object ever had

	mu   sync.Mutex
	lost map[string]string // name -> key of objects that changed while they were unconfirmed, and may be uploaded
}

// Item records the outcome of an item.
func (p *past) Item(i state.Item, o state.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(o.Error, "cannot be told whether asset") {
		p.lost[i.Name] = string(i.Key)
	}
}

func (p *past) put(w *world, key sources.Key, content []byte) {
	w.source.Put(key, content)
	p.versions[key] = append(p.versions[key], checksum(string(content)))
}

// heal makes all unreadable objects readable.
func (p *past) heal(w *world) {
	for o, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		if o.Obstacle != "" {
			p.put(w, o.Key, []byte("again"))
		}
	}
}

// change makes random changes to some objects.
func (p *past) change(t *rapid.T, w *world) {
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		key := drawKey(t)
		if known := slices.Sorted(maps.Keys(p.versions)); rapid.Bool().Draw(t, "of a known object") {
			key = rapid.SampledFrom(known).Draw(t, "key")
		}
		if key == "always.jpg" {
			continue
		}
		switch rapid.IntRange(0, 3).Draw(t, "change") {
		case 0:
			w.source.Delete(key)
		case 1:
			w.source.PutObject(sources.Object{Key: key, Obstacle: sources.Unreadable}, nil)
		default:
			p.put(w, key, drawContent(t))
		}
	}
}

// check verifies that each asset belongs to one object, and has one of its versions. Only assets of
// objects that changed while unconfirmed may have no owner.
func (p *past) check(t *rapid.T, w *world) {
	owners := map[string]string{}
	var held []string
	for receipt, err := range w.store.Receipts(w.Context(), w.pair.ID, "") {
		must(w, err)
		asset, err := w.other.Asset(w.Context(), receipt.Asset)
		must(w, err)
		content := checksum(w.content(asset))
		if !slices.Contains(p.versions[receipt.Key], content) {
			t.Errorf("%q has arrived with a content that it never had", receipt.Key)
		}
		if other, taken := owners[receipt.Asset]; taken {
			t.Errorf("%q and %q are the same asset", receipt.Key, other)
		}
		owners[receipt.Asset] = string(receipt.Key)
		held = append(held, asset.Filename()+" "+content)
		for _, alias := range w.aliasesOf(string(receipt.Key)) {
			if !slices.Contains(p.versions[sources.Key(alias)], content) {
				t.Errorf("%q shares the asset of %q, whose content it never had", alias, receipt.Key)
			}
		}
	}
	slices.Sort(held)
	p.checkAll(t, w)
	for _, a := range w.assetsAt() {
		n := slices.Index(held, a.Name+" "+a.Checksum)
		if n >= 0 {
			held = slices.Delete(held, n, n+1)
			continue
		}
		if key, lost := p.lost[a.Name]; !lost || !slices.Contains(p.versions[sources.Key(key)], a.Checksum) {
			t.Errorf("nobody owns the asset %q", a.Name)
		}
	}
}

// checkAll verifies that every valid object is uploaded, or shares an asset.
func (p *past) checkAll(t *rapid.T, w *world) {
	aliases := w.aliases()
	run, err := w.store.LastFinished(w.Context(), w.pair, "migrate")
	must(w, err)
	for o, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		if _, err := w.store.Receipt(w.Context(), w.pair.ID, o.Key); err == nil || aliases[string(o.Key)] != "" {
			continue
		}
		i, err := w.store.Item(w.Context(), run.Num, o.Key)
		if err != nil || i.Action != state.Skip && i.Action != state.Conflict {
			t.Errorf("%q is nowhere: %+v, %v", o.Key, i, err)
		}
	}
}

// aliasesOf returns the keys of objects that share the asset of an owner.
func (w *world) aliasesOf(owner string) (keys []string) {
	w.Helper()
	for a, err := range w.store.AliasesOf(w.Context(), w.pair.ID, sources.Key(owner)) {
		must(w, err)
		keys = append(keys, string(a.Key))
	}
	return keys
}

var errPulled = errors.New("the plug was pulled")

// tryInterrupted cancels at some request, and at random lists again; later attempts complete.
func (w *world) tryInterrupted(t *rapid.T, d migrate.Deps, r migrate.Rules, attempt int, changes ...change) (migrate.Plan, error) {
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	w.gate.on(nil)
	if attempt < 4 {
		at := rapid.IntRange(1, 40).Draw(t, "interrupted at request")
		w.gate.on(func(n int, _ *http.Request) error {
			if n >= at {
				cancel(errPulled)
			}
			return nil
		})
		if attempt > 0 && rapid.IntRange(0, 3).Draw(t, "list anew") == 0 {
			w.relist(d, changes...)
		}
	}
	return w.tryWith(ctx, d, r, changes...)
}

// relist lists a run with an old listing again, as the command does. It cannot while an item is
// unconfirmed.
func (w *world) relist(d migrate.Deps, changes ...change) {
	w.Helper()
	run, err := w.store.Unfinished(w.Context(), w.pair)
	if errors.Is(err, state.ErrNotFound) {
		return
	}
	must(w, err)
	a := w.applier(d, changes...)
	a.Dest, a.Write = w.other, w.other
	must(w, a.ConfirmUploads(w.Context(), run))
	if err := w.store.Relist(w.Context(), run.Num); !errors.Is(err, state.ErrConflict) {
		must(w, err)
	}
}

func drawFaults(t *rapid.T) []string {
	all := []string{
		"POST /assets drop=after nth=%d", "POST /assets drop=before nth=%d", "POST /assets status=503 commit=after nth=%d",
		"POST /assets status=429 nth=%d", "POST /folders drop=after nth=%d", "GET /assets status=500 nth=%d",
	}
	var drawn []string
	for _, f := range rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, 2, rapid.ID).Draw(t, "faults") {
		drawn = append(drawn, fmt.Sprintf(f, rapid.IntRange(2, 6).Draw(t, "nth")))
	}
	return drawn
}
