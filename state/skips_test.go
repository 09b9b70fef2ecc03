package state

import (
	"slices"
	"testing"

	"assetferry/sources"
)

// TestNewSkipsOfEachReason asks for several reasons: the last of them counts like the others.
func TestNewSkipsOfEachReason(t *testing.T) {
	j := begin(t)
	j.stage("a", "b", "c", "d")
	var items []Item
	for _, key := range []string{"a", "b", "c", "d"} {
		i := decided(key, Skip, ItemSkipped)
		i.Reason = "because of " + key
		items = append(items, i)
	}
	must(t, j.Decided(t.Context(), j.run.Num, items))
	var keys []sources.Key
	for _, k := range collect(t, j.NewSkips(t.Context(), j.run, []string{"because of b", "because of a", "because of c"})) {
		keys = append(keys, k.Key)
	}
	if !slices.Equal(keys, []sources.Key{"a", "b", "c"}) {
		t.Errorf("got %v", keys)
	}
}
