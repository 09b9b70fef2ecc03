package keyindex

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"assetferry/sources"
)

// indexOf returns an index that sorts records in parts of at most a number of bytes.
func indexOf(tb testing.TB, most int, records []Record) *Index {
	tb.Helper()
	s := &Sorter{most: most}
	for _, r := range records {
		if err := s.Add(r); err != nil {
			tb.Fatal(err)
		}
	}
	x, err := s.Index()
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Discard(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	})
	return x
}

func TestIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var records []Record
	for n := range 5000 {
		records = append(records, Record{sources.Key(fmt.Sprintf("%x", random.IntN(3000))), fmt.Sprint(n)})
	}
	want := slices.Clone(records)
	slices.SortStableFunc(want, compare)
	for _, most := range []int{0, 1, 5000, 100_000} {
		x := indexOf(t, most, records)
		if (x.file == nil) != (most == 0) {
			t.Errorf("%d: in a file is %v", most, x.file != nil)
		}
		var got []Record
		for group, err := range x.Groups("") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, group...)
			if found, err := x.Find(group[0].Key); err != nil || !slices.Equal(found, group) {
				t.Fatalf("%d: %q is %v, and found as %v (%v)", most, group[0].Key, group, found, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d: not all records in order", most)
		}
		for _, after := range []sources.Key{"0", "5", "5a", "7ff", "zz", "bb8"} {
			got = nil
			for group, err := range x.Groups(after) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, group...)
			}
			first := slices.IndexFunc(want, func(r Record) bool { return r.Key > after })
			if first < 0 {
				first = len(want)
			}
			if !slices.Equal(got, want[first:]) {
				t.Errorf("%d: %d records after %q, want %d", most, len(got), after, len(want)-first)
			}
			if found, err := x.Find(after + "!"); err != nil || found != nil {
				t.Errorf("%d: found %v, %v", most, found, err)
			}
		}
	}
}

// TestOrder verifies that records of a key have the order of their data, in memory and in a file, and
// that a limit keeps the first ones.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	descending := func(a, b string) int { return strings.Compare(b, a) }
	var records []Record
	for range 5000 {
		records = append(records, Record{sources.Key(fmt.Sprintf("%x", random.IntN(20))), fmt.Sprint(random.IntN(1000))})
	}
	for _, most := range []int{0, 1, 5000, 100_000} {
		s := &Sorter{Order: descending, Alike: 150, most: most}
		for _, r := range records {
			if err := s.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		x, err := s.Index()
		if err != nil {
			t.Fatal(err)
		}
		keys := 0
		for group, err := range x.Groups("") {
			if err != nil {
				t.Fatal(err)
			}
			keys++
			var want []string
			for _, r := range records {
				if r.Key == group[0].Key {
					want = append(want, r.Data)
				}
			}
			slices.SortFunc(want, descending)
			var got []string
			for _, r := range group {
				got = append(got, r.Data)
			}
			if !slices.Equal(got, want[:150]) {
				t.Fatalf("%d: %q has the data %q, want %q", most, group[0].Key, got, want[:150])
			}
			if found, err := x.Find(group[0].Key); err != nil || !slices.Equal(found, group) {
				t.Fatalf("%d: %q is found as %v (%v)", most, group[0].Key, found, err)
			}
		}
		if err := errors.Join(s.Discard(), x.Close()); err != nil || keys != 20 {
			t.Errorf("%d: %d keys, %v", most, keys, err)
		}
	}
}

// TestAMillionKeysTakeLittleMemory verifies that a million keys take no more memory than a few.
func TestAMillionKeysTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	const keys, most = 1_000_000, 8 << 20
	random := rand.New(rand.NewPCG(1, 2))
	before := memory()
	s := &Sorter{}
	peak := before
	for n := range keys {
		if err := s.Add(Record{sources.Key(fmt.Sprintf("library/folder %03d/image-%07d.jpg", random.IntN(500), n)), "12 bytes data"}); err != nil {
			t.Fatal(err)
		}
		if n%200_000 == 0 {
			peak = max(peak, memory())
		}
	}
	x, err := s.Index()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Discard(); err != nil {
		t.Fatal(err)
	}
	s = nil
	if took := memory() - before; took > most || peak-before > 4*maxPending {
		t.Errorf("an index of %d keys takes %d bytes, and %d while it is made", keys, took, peak-before)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// memory returns the memory in use in bytes; after another test it may decrease.
func memory() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
