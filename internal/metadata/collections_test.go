package metadata

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// openCollections opens a table of collections that has no mistakes.
func openCollections(tb testing.TB, path string) *Table {
	tb.Helper()
	t := openWith(tb, path, OpenCollections)
	if wrong := t.Mistakes(); wrong != nil {
		tb.Error(wrong)
	}
	return t
}

func TestCollections(t *testing.T) {
	for name, content := range map[string]string{
		"plain.csv":   "key,collection\na.jpg,Ships\nb.jpg,Ships\na.jpg,\"Oslo, 2024\"\nc.jpg,Tom; Jerry\na.jpg,Ships\n",
		"columns.tsv": "Position\tALBUM\tposition\tkey\n1\tShips\t\t./a.jpg\n2\tOslo, 2024\tx\ta.jpg\n\tShips\t\tb.jpg\n\tTom; Jerry\t\tc.jpg\n",
		"lines.jsonl": `{"key":"c.jpg","Collections":"Tom; Jerry","more":{"is":"ignored"}}` + "\n" + `{"key":"a.jpg","collections":["Oslo, 2024","Ships"]}` + "\n" + `{"key":"b.jpg","collection":"Ships","attributes":{"x":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			tables := Tables{Collections: openCollections(t, write(t, name, content))}
			for range 2 {
				for key, want := range map[string]Fields{
					"a.jpg": {Collections: {"Oslo, 2024", "Ships"}}, "b.jpg": {Collections: {"Ships"}}, "c.jpg": {Collections: {"Tom; Jerry"}}, "d.jpg": nil,
				} {
					if got, ok, err := tables.Describe(Identity{Key: key}); err != nil || ok != (want != nil) || !reflect.DeepEqual(got, want) {
						t.Errorf("%s: got %q, %v, %v, want %q", key, got, ok, err, want)
					}
				}
			}
			if got, want := tables.Counted(), (CollectionCounts{Names: 3, Memberships: 4, Objects: 3, Several: 1}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if lost, _, err := tables.Collections.Lost(1, nil); lost != 0 || err != nil {
				t.Errorf("%d rows without an object, %v", lost, err)
			}
		})
	}
}

// TestCollectionsByOtherNames looks up an object with rows by key, in another Unicode form, by old URL
// and by checksum.
func TestCollectionsByOtherNames(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	table := openCollections(t, write(t, "t.jsonl", `{"key":"café.jpg","collection":"by key"}
{"old_url":"/x.jpg","collection":"by URL"}
{"sha256":"`+sum+`","collection":"by checksum"}
{"old_url":"/other.jpg","collection":"of another object"}
`))
	got, ok, err := table.Describe(Identity{Key: "cafe\u0301.jpg", OldURLs: []string{"/x.jpg"}, Checksum: slices.Repeat([]byte{0xab}, 32)})
	want := Fields{Collections: {"by URL", "by checksum", "by key"}}
	if err != nil || !ok || !reflect.DeepEqual(got, want) || !table.AsksForChecksums() {
		t.Errorf("got %q, %v, %v, want %q", got, ok, err, want)
	}
	if lost, first, err := table.Lost(2, nil); err != nil || lost != 1 || first[0].Line != 4 {
		t.Errorf("got %d rows without an object, %v, %v", lost, first, err)
	}
}

// TestCollectionsOfTables checks that a table of collections replaces the column of a metadata table.
func TestCollectionsOfTables(t *testing.T) {
	both := Tables{
		Metadata:    open(t, write(t, "m.csv", "key,alt,Albums\na.jpg,A quay,\"Oslo, 2024; Ships;\"\nb.jpg,,Ships\n")),
		Collections: openCollections(t, write(t, "c.csv", "key,collection\na.jpg,Harbour\n")),
	}
	only := Tables{Metadata: both.Metadata}
	for _, test := range []struct {
		tables Tables
		key    string
		want   Fields
	}{
		{only, "a.jpg", Fields{"alt": {"A quay"}, Collections: {"Oslo, 2024", "Ships"}}},
		{both, "a.jpg", Fields{"alt": {"A quay"}, Collections: {"Harbour"}}},
		{both, "b.jpg", Fields{}},
	} {
		if got, ok, err := test.tables.Describe(Identity{Key: test.key}); err != nil || !ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %q, %v, %v, want %q", test.key, got, ok, err, test.want)
		}
	}
	if got, want := only.Counted(), (CollectionCounts{2, 3, 2, 1}); got != want {
		t.Errorf("column: got %+v, want %+v", got, want)
	}
	if got, want := both.Counted(), (CollectionCounts{1, 1, 1, 0}); got != want {
		t.Errorf("table: got %+v, want %+v", got, want)
	}
	if none := (Tables{}); none.AsksForChecksums() || none.Counted() != (CollectionCounts{}) {
		t.Error("no table has something")
	}
}

func TestCollectionsMistakes(t *testing.T) {
	for content, want := range map[string]string{
		"key,name\na,b\n":                  "1:1: the header needs a column collection",
		"name,collection\na,b\n":           "1:1: the header needs a column key, old_url or sha256",
		"key,album,albums\na,b,c\n":        `1:11: duplicate column "collections"`,
		"key,collection\na,\n":             "2:3: the collection is missing",
		"key,collection\na,x\n,y\nb, \n":   "3:1: the key is missing|4:3: the collection is missing",
		`{"key":"a"}`:                      "1:1: the collection is missing",
		`{"key":"a","collection":{"n":1}}`: "1:12: a text is required, not an object; only attributes is an object",
	} {
		name := "t.csv"
		if content[0] == '{' {
			name = "t.jsonl"
		}
		table, err := OpenCollections(write(t, name, content), plain())
		if err == nil {
			err = table.Mistakes()
			table.Close()
		}
		var got []string
		for line := range strings.Lines(err.Error()) {
			if _, at, ok := strings.Cut(strings.TrimSpace(line), name+":"); ok {
				got = append(got, at)
			}
		}
		if strings.Join(got, "|") != want || !strings.Contains(err.Error(), "the table of collections has") {
			t.Errorf("%q: got %v, want %s", content, err, want)
		}
	}
}

// TestCollectionsInParallel counts each object once, although several goroutines look it up.
func TestCollectionsInParallel(t *testing.T) {
	var b strings.Builder
	b.WriteString("key,collection\n")
	for n := range 1000 {
		fmt.Fprintf(&b, "%d.jpg,c%d\n%d.jpg,all\n", n, n%7, n)
	}
	tables := Tables{Collections: openCollections(t, write(t, "t.csv", b.String()))}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, n := range rand.Perm(1000) {
				if _, _, err := tables.Describe(Identity{Key: fmt.Sprintf("%d.jpg", n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got, want := tables.Counted(), (CollectionCounts{8, 2000, 1000, 1000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestCollectionsInLittleMemory opens a table of a million memberships in any order.
func TestCollectionsInLittleMemory(t *testing.T) {
	const rows, objects = 1_000_000, 400_000
	var b strings.Builder
	b.WriteString("key,collection\n")
	r := rand.New(rand.NewPCG(1, 2))
	for range rows {
		fmt.Fprintf(&b, "folder/%06d.jpg,collection %d\n", r.IntN(objects), r.IntN(20_000))
	}
	path := write(t, "t.csv", b.String())
	b.Reset()
	before := inUse()
	table := openCollections(t, path)
	if after := inUse(); after > before+24<<20 {
		t.Errorf("%d bytes in use for %d rows", after-before, table.Rows())
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
