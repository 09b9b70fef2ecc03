package sorting

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type numbered struct{ key, number int }

func TestOrder(t *testing.T) {
	byKey := func(a, b numbered) int { return cmp.Compare(a.key, b.key) }
	for _, length := range []int{0, 1, 2, 30, 5000} {
		all := make([]numbered, length)
		for n := range all {
			all[n] = numbered{rand.IntN(length/3 + 1), n}
		}
		want := slices.SortedStableFunc(slices.Values(all), byKey)
		some := slices.Clone(all)
		if By(some, byKey); !slices.IsSortedFunc(some, byKey) || len(some) != length {
			t.Errorf("%d elements are not sorted", length)
		}
		if Stable(all, byKey); !slices.Equal(all, want) {
			t.Errorf("%d elements: got %v, want %v", length, all, want)
		}
	}
}
