package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assetferry/sources"
)

func (j *journey) count(stmt string) (n int) {
	j.Helper()
	must(j, j.r.QueryRowContext(j.Context(), stmt).Scan(&n))
	return n
}

func TestIntents(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c", "d", "e")
	when := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	items, err := j.Take(t.Context(), j.run.Num, Next{After: "", N: 2, Time: when})
	must(t, err)
	if !cmp.Equal(keysOf(items), []string{"a", "b"}) || items[0].State != ItemSending || items[0].Attempts != 1 || !items[0].IntentAt.Equal(when) {
		t.Errorf("took %+v", items)
	}
	if items, err = j.Take(t.Context(), j.run.Num, Next{After: "c", N: 9, Time: when}); err != nil || !cmp.Equal(keysOf(items), []string{"d", "e"}) {
		t.Errorf("after c: took %q (%v)", keysOf(items), err)
	}
	must(t, j.Release(t.Context(), j.run.Num, []sources.Key{"a"}))
	if i, err := j.Item(t.Context(), j.run.Num, "a"); err != nil || i.Attempts != 0 || !i.IntentAt.IsZero() || i.State != ItemPlanned {
		t.Errorf("released: %+v (%v)", i, err)
	}
	unconfirmed, err := j.Interrupted(t.Context(), j.run.Num)
	if err != nil || !cmp.Equal(keysOf(unconfirmed), []string{"b", "d", "e"}) || unconfirmed[0].State != ItemUnconfirmed {
		t.Errorf("interrupted: %q (%v)", keysOf(unconfirmed), err)
	}
	again := when.Add(time.Hour)
	must(t, j.Resend(t.Context(), j.run.Num, []sources.Key{"b"}, again))
	if i, err := j.Item(t.Context(), j.run.Num, "b"); err != nil || i.Attempts != 2 || !i.IntentAt.Equal(again) || i.Error != "" {
		t.Errorf("sent again: %+v (%v)", i, err)
	}
	if err := j.Release(t.Context(), j.run.Num, []sources.Key{"b", "c"}); !errors.Is(err, ErrConflict) || j.stateOf("b") != ItemSending {
		t.Errorf("all or nothing: %v, %s", err, j.stateOf("b"))
	}
}

func TestStagingTwice(t *testing.T) {
	j := begin(t)
	p := Page{Items: []Item{staged("a"), staged("b")}, Cursor: "b"}
	must(t, j.Stage(t.Context(), j.run.Num, p))
	p.Items[0].Size = 99
	must(t, j.Stage(t.Context(), j.run.Num, p))
	items := collect(t, j.Items(t.Context(), j.run.Num))
	if !cmp.Equal(keysOf(items), []string{"a", "b"}) || items[0].Size != 10 {
		t.Errorf("got %+v", items)
	}
	if !items[0].Time.Equal(modified) || items[0].VersionTag != "v1" {
		t.Errorf("the fingerprint is %v, %q", items[0].Time, items[0].VersionTag)
	}
}

func TestDecidedMayBeRepeated(t *testing.T) {
	j := begin(t)
	j.stage("a", "b")
	first := decided("a", Adopt, ItemPlanned)
	first.Asset, first.Checksum = "x", make([]byte, 32)
	must(t, j.Decided(t.Context(), j.run.Num, []Item{first}))
	second := decided("a", Conflict, ItemConflict)
	must(t, j.Decided(t.Context(), j.run.Num, []Item{second}))
	if got, err := j.Item(t.Context(), j.run.Num, "a"); err != nil || !cmp.Equal(got, second) {
		t.Errorf("(%v)\n%s", err, cmp.Diff(second, got))
	}
	if err := j.Decided(t.Context(), j.run.Num, []Item{decided("b", Skip, ItemSkipped), decided("unlisted", Skip, ItemSkipped)}); !errors.Is(err, ErrConflict) {
		t.Errorf("a decision on nothing: got %v", err)
	}
	if j.stateOf("b") != ItemStaged {
		t.Error("half a batch was stored")
	}
}

func TestSchemaRefusesWhatIsIllegal(t *testing.T) {
	for name, set := range map[string]string{
		"planned without an action":   `action = NULL`,
		"staged with an action":       `state = 'staged'`,
		"unknown action":              `action = 'burn'`,
		"unknown state":               `state = 'lost'`,
		"a create that is skipped":    `state = 'skipped'`,
		"a create that is a conflict": `state = 'conflict'`,
		"sending without an intent":   `state = 'sending', intent_at = NULL`,
		"sending what is skipped":     `state = 'sending', action = 'skip', intent_at = 1`,
		"done without an asset":       `state = 'done'`,
		"a text as size":              `size = 'large'`,
	} {
		t.Run(name, func(t *testing.T) {
			j := begin(t)
			j.apply("a")
			if _, err := raw(t, j.Path()).ExecContext(t.Context(), `UPDATE items SET `+set); err == nil || !strings.Contains(err.Error(), "constraint") {
				t.Errorf("got %v, want a violated constraint", err)
			}
		})
	}
	for name, stmt := range map[string]string{
		"finished without a time": `UPDATE runs SET state = 'finished'`,
		"open with a time":        `UPDATE runs SET finished_at = 1`,
		"unknown state":           `UPDATE runs SET state = 'paused'`,
		"a second owner":          `INSERT INTO owner (id, epoch, pid, host, since) VALUES (2, 'x', 1, 'h', 1)`,
		"a short checksum":        `UPDATE receipts SET checksum = x'00'`,
		"an empty asset":          `UPDATE receipts SET asset = ''`,
		"a vague verification":    `INSERT INTO verifications (pair, at, level, receipts, contents, differences) VALUES (1, 1, 'roughly', 1, 1, 1)`,
	} {
		t.Run(name, func(t *testing.T) {
			j := begin(t)
			j.apply("a")
			j.take(1)
			must(t, j.record(done("a")))
			if _, err := raw(t, j.Path()).ExecContext(t.Context(), stmt); err == nil || !strings.Contains(err.Error(), "constraint") {
				t.Errorf("got %v, want a violated constraint", err)
			}
		})
	}
}

// TestAssetGivenTwice verifies that if the service returns the ID of an existing asset for an
// upload, only that item fails.
func TestAssetGivenTwice(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c")
	j.take(3)
	outcomes := []Outcome{done("a"), {Key: "b", State: ItemDone, Receipt: receipt("b", "asset of a")}, done("c")}
	must(t, j.Record(t.Context(), j.run.Num, j.pair.ID, outcomes))
	if got := outcomes[1]; got.State != ItemFailed || got.Receipt != nil || !strings.Contains(got.Error, "asset of a, but it belongs to another object") {
		t.Errorf("got %+v", got)
	}
	if j.stateOf("a") != ItemDone || j.stateOf("b") != ItemFailed || j.stateOf("c") != ItemDone {
		t.Errorf("a is %s, b is %s, c is %s", j.stateOf("a"), j.stateOf("b"), j.stateOf("c"))
	}
	if sum, err := j.SumReceipts(t.Context(), j.pair.ID); err != nil || sum.Objects != 2 {
		t.Errorf("got %+v (%v), want the receipts of a and c", sum, err)
	}
}

// TestRefusedReceiptLeavesTheFormer verifies that a refused receipt leaves the previous receipt of
// the object with its metadata, and all other data of the same transaction.
func TestRefusedReceiptLeavesTheFormer(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c")
	j.take(3)
	a := done("a")
	a.Described = aQuay
	must(t, j.record(a, done("b"), done("c")))
	j.begin("sync")
	j.stage("a", "c")
	must(t, j.Decided(t.Context(), j.run.Num, []Item{decided("a", Replace, ItemPlanned), decided("c", Replace, ItemPlanned)}))
	must(t, j.FinishPlan(t.Context(), j.run.Num, "hash", json.RawMessage("[]")))
	must(t, j.SetRunState(t.Context(), j.run.Num, Planned, Applying))
	j.take(2)
	other := receipt("c", "asset of c")
	other.Category = "another" // with a base of its own
	outcomes := []Outcome{
		{Key: "a", State: ItemDone, Receipt: receipt("a", "asset of b"), InsteadOf: "a"},
		{Key: "c", State: ItemDone, Receipt: other, InsteadOf: "c"},
	}
	must(t, j.Record(t.Context(), j.run.Num, j.pair.ID, outcomes))
	if outcomes[0].State != ItemFailed || outcomes[1].State != ItemDone {
		t.Errorf("got %+v", outcomes)
	}
	for key, want := range map[string]string{"a": "asset of a", "b": "asset of b", "c": "asset of c"} {
		if r, err := j.Receipt(t.Context(), j.pair.ID, sources.Key(key)); err != nil || r.Asset != want {
			t.Errorf("%s has the receipt of %q (%v), want that of %s", key, r.Asset, err, want)
		}
	}
	j.wantDescribed(map[string]string{"a": aQuay})
	if sum, err := j.SumReceipts(t.Context(), j.pair.ID); err != nil || sum.Objects != 3 {
		t.Errorf("got %+v (%v), want three receipts", sum, err)
	}
	if problems, err := j.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("got %q (%v)", problems, err)
	}
}

func TestReceiptsAreUnique(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c")
	j.take(3)
	must(t, j.record(done("a")))
	wrong := Outcome{Key: "b", State: ItemDone, Receipt: receipt("a", "another")}
	if err := j.record(done("c"), wrong); err == nil {
		t.Error("one object has two receipts")
	}
	if j.stateOf("b") != ItemSending || j.stateOf("c") != ItemSending {
		t.Error("half a batch was stored")
	}
	if err := j.record(Outcome{Key: "b", State: ItemDone}); err == nil {
		t.Error("done without a receipt")
	}
	must(t, j.record(done("b"), done("c")))
	if sum, err := j.SumReceipts(t.Context(), j.pair.ID); err != nil || sum != (ReceiptSum{3, 30}) {
		t.Errorf("got %+v (%v)", sum, err)
	}
	want := *receipt("a", "asset of a")
	want.Run = j.run.Num
	if got, err := j.Receipt(t.Context(), j.pair.ID, "a"); err != nil || !cmp.Equal(got, want) {
		t.Errorf("(%v)\n%s", err, cmp.Diff(want, got))
	}
}

func TestOwnedAssets(t *testing.T) {
	j := begin(t)
	j.apply("a")
	j.take(1)
	must(t, j.record(done("a")))
	for _, tc := range []struct {
		destination, asset string
		want               bool
	}{{"destination", "asset of a", true}, {"destination", "another", false}, {"elsewhere", "asset of a", false}} {
		if got, err := j.OwnsAsset(t.Context(), tc.destination, tc.asset); err != nil || got != tc.want {
			t.Errorf("OwnsAsset(%q, %q) = %v, %v", tc.destination, tc.asset, got, err)
		}
	}
}

func TestPaging(t *testing.T) {
	j := begin(t)
	keys := numbered(2*PageSize + 1)
	// In one statement each: a row at a time is slow under the race detector.
	execute(t, j.Path(),
		fmt.Sprintf(`WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < %d)
			INSERT INTO items (run, key, size, time, version_tag, obstacle) SELECT %d, format('%%06d.jpg', n), 1, 0, '', '' FROM c`, len(keys), j.run.Num),
		fmt.Sprintf(`INSERT INTO receipts SELECT %d, key, 1, 0, '', zeroblob(32), key, 'n', 'e', 'c', 'f', 'u', 0, 0, 0, run, 0, NULL, NULL, NULL, NULL, NULL, NULL FROM items`, j.pair.ID))
	if got := keysOf(collect(t, j.Items(t.Context(), j.run.Num))); !slices.Equal(got, keys) {
		t.Errorf("got %d items, not the %d in order", len(got), len(keys))
	}
	if n := len(collect(t, j.Items(t.Context(), j.run.Num, ItemPlanned, ItemSending))); n != 0 {
		t.Errorf("%d items are in states that none is in", n)
	}
	var got []string
	for _, r := range collect(t, j.Receipts(t.Context(), j.pair.ID, sources.Key(keys[0]))) {
		got = append(got, string(r.Key))
	}
	if !slices.Equal(got, keys[1:]) {
		t.Errorf("got %d receipts, not the %d after the first", len(got), len(keys)-1)
	}
	if n := len(collect(t, j.Sightings(t.Context(), j.pair.ID))); n != len(keys) {
		t.Errorf("got %d sightings", n)
	}
	seen := 0
	for range j.Items(t.Context(), j.run.Num) {
		if seen++; seen == PageSize+5 {
			break
		}
	}
	j.stage() // an abandoned listing holds no lock
}

// TestFingerprintsReuseTheirPage verifies the number of allocations for each page: every plan reads
// all fingerprints.
func TestFingerprintsReuseTheirPage(t *testing.T) {
	const n = 8*PageSize + 1
	j := begin(t)
	execute(t, j.Path(), fmt.Sprintf(`WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < %d)
		INSERT INTO receipts SELECT %d, format('%%06d.jpg', n), n, 0, '', zeroblob(32), n, 'n', 'e', 'c', 'f', 'u', 0, 0, 0, %d, 0, NULL, NULL, NULL, NULL, NULL, NULL FROM c`,
		n, j.pair.ID, j.run.Num))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, err := range j.Fingerprints(t.Context(), j.pair.ID, "") {
		must(t, err)
	}
	runtime.ReadMemStats(&after)
	if took := int(after.TotalAlloc-before.TotalAlloc) / n; took > 2*int(reflect.TypeFor[Receipt]().Size()) {
		t.Errorf("%d bytes are allocated for each fingerprint", took)
	}
	got := collect(t, j.Fingerprints(t.Context(), j.pair.ID, ""))
	if len(got) != n {
		t.Fatalf("got %d fingerprints, want %d", len(got), n)
	}
	for i, r := range got {
		if string(r.Key) != fmt.Sprintf("%06d.jpg", i) || r.Size != int64(i) || r.Asset != strconv.Itoa(i) {
			t.Fatalf("fingerprint %d is %+v", i, r)
		}
	}
}

func TestOddKeys(t *testing.T) {
	keys := []string{
		" ", `"`, "%", "'; DROP TABLE items; --", "/", "A", "a", "a\nb", "e\u0301", "\u00e9", "\u2028", "😀", "\xf0\x28", "\xff", "\xff\xfe",
		strings.Repeat("k", 4096),
	}
	slices.Sort(keys)
	j := begin(t)
	j.apply(keys...)
	if got := keysOf(collect(t, j.Items(t.Context(), j.run.Num))); !slices.Equal(got, keys) {
		t.Errorf("got %q\nwant %q", got, keys)
	}
	if got := j.take(100); !slices.Equal(got, keys) {
		t.Errorf("took %q", got)
	}
	for n, key := range keys {
		must(t, j.record(Outcome{Key: sources.Key(key), State: ItemDone, Receipt: receipt(key, fmt.Sprint("asset ", n))}))
		if r, err := j.Receipt(t.Context(), j.pair.ID, sources.Key(key)); err != nil || string(r.Key) != key {
			t.Errorf("%q: got %q (%v)", key, r.Key, err)
		}
	}
}

func TestOddTimes(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 0).UTC(), time.Unix(0, -1).UTC(), time.Date(2261, 1, 1, 0, 0, 0, 1, time.UTC)} {
		if got := fromNanos(nanos(at)); !got.Equal(at) || got.IsZero() != at.IsZero() {
			t.Errorf("%v came back as %v", at, got)
		}
	}
}

func TestTallies(t *testing.T) {
	j := begin(t)
	must(t, j.Stage(t.Context(), j.run.Num, Page{Unchanged: 4, UnchangedBytes: 400}))
	j.stage("a", "b", "c", "d")
	must(t, j.Decided(t.Context(), j.run.Num, []Item{
		decided("a", Create, ItemPlanned), decided("b", Create, ItemPlanned), decided("c", Skip, ItemSkipped),
	}))
	got, err := j.Tallies(t.Context(), j.run.Num)
	must(t, err)
	want := []Tally{
		{"", "", ItemStaged, 1, 10},
		{Create, "because", ItemPlanned, 2, 20},
		{Skip, "because", ItemSkipped, 1, 10},
		{Unchanged, "unchanged", ItemSkipped, 4, 400},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCollisions(t *testing.T) {
	j := begin(t)
	j.apply("held")
	j.take(1)
	must(t, j.record(done("held"))) // at slot 7
	must(t, j.FinishRun(t.Context(), j.run.Num))
	var err error
	j.run, err = j.Begin(t.Context(), j.pair, "migrate", []byte("{}"))
	must(t, err)
	at := func(key string, a Action, st ItemState, slot int64) Item {
		i := decided(key, a, st)
		i.Slot = slot
		return i
	}
	j.stage("a", "b", "c", "d", "e", "f", "g")
	must(t, j.Decided(t.Context(), j.run.Num, []Item{
		at("a", Create, ItemPlanned, 1), at("b", Create, ItemPlanned, 2), at("c", Create, ItemPlanned, 1),
		at("d", Create, ItemPlanned, 7), at("e", Skip, ItemSkipped, 2), at("f", Create, ItemPlanned, 3),
		at("g", Adopt, ItemPlanned, 7),
	}))
	all, err := j.Collisions(t.Context(), j.run.Num, j.pair.ID)
	must(t, err)
	var got []string
	for _, c := range all {
		got = append(got, fmt.Sprint(c.Key, " ", c.Slot, " ", c.Held))
	}
	if want := []string{"a 1 false", "c 1 false", "d 7 true", "g 7 true"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAttemptsAreKept(t *testing.T) {
	j := begin(t)
	j.apply("a")
	j.take(1)
	must(t, j.record(Outcome{Key: "a", State: ItemUnconfirmed, Class: "transient", Error: "cut"}))
	must(t, j.Resend(t.Context(), j.run.Num, []sources.Key{"a"}, time.Now()))
	must(t, j.record(Outcome{Key: "a", State: ItemFailed, Class: "permanent", Error: "refused"}))
	if n := j.count(`SELECT count(*) FROM attempts WHERE key = 'a' AND (attempt = 1 AND error = 'cut' OR attempt = 2 AND error = 'refused')`); n != 2 {
		t.Errorf("%d attempts are kept, want 2", n)
	}
}

func TestStructure(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()
	must(t, s.SaveChoices(ctx, "d", map[string]string{"jpg": "1", "png": "2"}))
	must(t, s.SaveChoices(ctx, "d", map[string]string{"png": "3"}))
	must(t, s.SaveChoices(ctx, "other", map[string]string{"png": "4"}))
	if got, err := s.Choices(ctx, "d"); err != nil || !cmp.Equal(got, map[string]string{"jpg": "1", "png": "3"}) {
		t.Errorf("choices: %v (%v)", got, err)
	}
	pair, err := s.Pair(ctx, "s", "d", "")
	must(t, err)
	other, err := s.Pair(ctx, "s2", "d", "")
	must(t, err)
	must(t, s.SaveFolder(ctx, "d", "c", "there", "1"))
	must(t, s.SaveNewFolder(ctx, pair, "c", "made", "2"))
	must(t, s.SaveOurs(ctx, pair.ID, "c", ""))
	must(t, s.SaveOurs(ctx, pair.ID, "c", "")) // twice is no harm
	if got, err := s.Folders(ctx, "d", "c"); err != nil || !cmp.Equal(got, map[string]string{"there": "1", "made": "2"}) {
		t.Errorf("folders: %v (%v)", got, err)
	}
	ours := func(path string) bool {
		got, err := s.IsOurs(ctx, pair.ID, "c", path)
		must(t, err)
		return got
	}
	if ours("there") || !ours("made") || !ours("") {
		t.Errorf("got %v, %v, %v", ours("there"), ours("made"), ours(""))
	}
	if got, err := s.IsOurs(ctx, other.ID, "c", "made"); err != nil || got {
		t.Errorf("another source takes the folder for its own (%v)", err)
	}
	must(t, s.ForgetOursOfOthers(ctx, pair, []PlaceKey{{"c", "made"}, {"c", ""}}))
	if !ours("made") || !ours("") {
		t.Error("a pair lost what is its own")
	}
	must(t, s.ForgetOursOfOthers(ctx, other, []PlaceKey{{"c", ""}}))
	if !ours("made") || ours("") {
		t.Error("a pair does not notice that another puts something beside")
	}
	must(t, s.SaveFolder(ctx, "d", "c", "made", "3")) // a user has created it again
	if ours("made") {
		t.Error("a folder of somebody else is taken for ours")
	}
}

func TestInventory(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	j.take(2)
	must(t, j.record(done("a"), done("b")))
	ctx, scope := t.Context(), PairScope(j.pair.ID)
	must(t, j.StageInventory(ctx, scope, []Entry{{Asset: "asset of a", Slot: 5, Name: "old"}, {Asset: "stranger", Slot: 5}, {Asset: "another", Slot: -7}, {Asset: "elsewhere", Slot: 6}}))
	must(t, j.StageInventory(ctx, scope, []Entry{{Asset: "asset of a", Slot: 5, Name: "a", Extension: "jpg", Size: 10, Folder: "folder-id", Category: "category"}}))
	if got, err := j.EntriesAt(ctx, scope, []int64{5}); err != nil || len(got) != 2 || got[0].Name != "a" {
		t.Errorf("got %+v (%v)", got, err)
	}
	if got, err := j.EntriesAt(ctx, scope, []int64{5, -7, 5, 1}); err != nil || len(got) != 3 || got[0].Asset != "another" {
		t.Errorf("in several places: %+v (%v)", got, err)
	}
	got := collect(t, j.Sightings(ctx, j.pair.ID))
	if len(got) != 2 || !got[0].Seen || got[0].Entry.Name != "a" || got[1].Seen || got[1].Receipt.Key != "b" {
		t.Errorf("got %+v", got)
	}
	if got, err := j.Containers(ctx, j.pair.ID); err != nil || !cmp.Equal(got, []Container{{"category", "folder-id"}}) {
		t.Errorf("got %v (%v)", got, err)
	}
	must(t, j.DropInventory(ctx, scope))
	if got, err := j.EntriesAt(ctx, scope, []int64{5}); err != nil || len(got) > 0 {
		t.Errorf("left %v (%v)", got, err)
	}
	must(t, j.SaveVerification(ctx, Verification{Pair: j.pair.ID, Level: "sample", Receipts: 2, Contents: 1}, nil))
	if v, err := j.LastVerification(ctx, j.pair.ID); err != nil || v.Level != "sample" || v.Receipts != 2 || v.Contents != 1 || v.At.IsZero() {
		t.Errorf("got %+v (%v)", v, err)
	}
}

// TestStagedTogether verifies that items are stored as they are, whatever they have in common with
// their neighbours.
func TestStagedTogether(t *testing.T) {
	kinds := []Item{
		{},
		{Action: Create, Reason: "new", State: ItemPlanned, Category: "category", Folder: "a", Slot: 1},
		{Action: Create, Reason: "new", State: ItemPlanned, Category: "category", Folder: "b", Slot: 2},
		{Action: Skip, Reason: "sidecar", State: ItemSkipped},
		{Action: Create, Reason: "new", State: ItemPlanned, Category: "other", Folder: "a"},
		{Action: Conflict, Reason: "taken", State: ItemConflict, Asset: "asset", Class: "class", Error: "error"},
		{Action: Adopt, Reason: "identical", State: ItemPlanned, PreviousKey: "before"},
		{Action: Trash, Reason: "undo", State: ItemPlanned, Category: "category", Folder: "a", Asset: "asset"},
		{Object: sources.Object{Obstacle: "obstacle"}, Action: Create, Reason: "new", State: ItemPlanned, Category: "category", Folder: "a", Slot: 1},
		{Object: sources.Object{ContentType: "text/plain"}, Action: Skip, Reason: "sidecar", State: ItemSkipped},
	}
	rapid.Check(t, func(rt *rapid.T) {
		j := begin(t)
		var want []Item
		for len(want) < 3*rowsAtOnce {
			some := rapid.SliceOfN(rapid.IntRange(0, len(kinds)-1), 1, 4).Draw(rt, "kinds")
			for range rapid.IntRange(1, rowsAtOnce).Draw(rt, "times") {
				i := kinds[some[len(want)%len(some)]]
				name := fmt.Sprintf("%04d.jpg", len(want))
				i.Key, i.Size, i.Time, i.VersionTag = sources.Key("a/"+name), int64(len(want)), modified, "v"+name
				if i.Category != "" {
					i.Name = name
				}
				if i.Asset != "" {
					i.Asset += name
				}
				want = append(want, i)
			}
		}
		must(t, j.Stage(t.Context(), j.run.Num, Page{Items: want}))
		for n := range want {
			if want[n].State == "" {
				want[n].State = ItemStaged
			}
		}
		if diff := cmp.Diff(want, collect(t, j.Items(t.Context(), j.run.Num))); diff != "" {
			rt.Fatalf("items (-want +got):\n%s", diff)
		}
	})
}
