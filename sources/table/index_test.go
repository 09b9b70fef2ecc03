package table

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// indexOf returns an index that sorts records in parts of at most a number of bytes.
func indexOf(tb testing.TB, most int, records []record) *index {
	tb.Helper()
	s := &sorter{most: most}
	for _, r := range records {
		if err := s.add(r); err != nil {
			tb.Fatal(err)
		}
	}
	x, err := s.index()
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.discard(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := x.close(); err != nil {
			tb.Error(err)
		}
	})
	return x
}

func TestIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var records []record
	for n := range 5000 {
		records = append(records, record{fmt.Sprintf("%x", random.IntN(3000)), int64(n), n + 2})
	}
	want := slices.Clone(records)
	slices.SortFunc(want, compare)
	for _, most := range []int{0, 1, 5000, 100_000} {
		x := indexOf(t, most, records)
		if (x.file == nil) != (most == 0) {
			t.Errorf("%d: in a file is %v", most, x.file != nil)
		}
		var got []record
		for group, err := range x.groups("") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, group...)
			if found, err := x.find(group[0].key); err != nil || !slices.Equal(found, group) {
				t.Fatalf("%d: %q is %v, and found as %v (%v)", most, group[0].key, group, found, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d: not all records in order", most)
		}
		for _, after := range []string{"0", "5", "5a", "7ff", "zz", "bb8"} {
			got = nil
			for group, err := range x.groups(after) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, group...)
			}
			first := slices.IndexFunc(want, func(r record) bool { return r.key > after })
			if first < 0 {
				first = len(want)
			}
			if !slices.Equal(got, want[first:]) {
				t.Errorf("%d: %d records after %q, want %d", most, len(got), after, len(want)-first)
			}
			if found, err := x.find(after + "!"); err != nil || found != nil {
				t.Errorf("%d: found %v, %v", most, found, err)
			}
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
	s := &sorter{}
	peak := before
	for n := range keys {
		if err := s.add(record{fmt.Sprintf("library/folder %03d/image-%07d.jpg", random.IntN(500), n), int64(n) * 100, n}); err != nil {
			t.Fatal(err)
		}
		if n%200_000 == 0 {
			peak = max(peak, memory())
		}
	}
	x, err := s.index()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.discard(); err != nil {
		t.Fatal(err)
	}
	s = nil
	if took := memory() - before; took > most || peak-before > 4*maxPending {
		t.Errorf("an index of %d keys takes %d bytes, and %d while it is made", keys, took, peak-before)
	}
	if err := x.close(); err != nil {
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
