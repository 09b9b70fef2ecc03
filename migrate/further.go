package migrate

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/state"
)

// FieldFurther is the field of a Difference that tells of further assets of the name and
// size of one of ours, in the same place. They are what another journal leaves behind that
// is used for the same destination: no run can see that while both are at work.
const FieldFurther = "further"

// likenessOf stands for the place, name and size of an asset. Names are compared as they are
// but for their Unicode form, and for the case of extensions, which services need not keep.
func likenessOf(e state.Entry) int64 {
	h := fnv.New64a()
	for _, s := range []string{e.Category, e.Folder, normal(e.Name), foldName(e.Extension), fmt.Sprint(e.Size)} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return int64(h.Sum64())
}

// receivedAs is an asset as its receipt has it.
func receivedAs(r state.Receipt) state.Entry {
	return state.Entry{Asset: r.Asset, Category: r.Category, Folder: r.Folder, Name: r.Name, Extension: r.Extension, Size: r.Size, URL: r.URL}
}

// isAlike reports whether two assets have the same place, name and size.
func isAlike(a, b state.Entry) bool {
	return a.Category == b.Category && a.Folder == b.Folder && a.Size == b.Size &&
		normal(a.Name) == normal(b.Name) && foldName(a.Extension) == foldName(b.Extension)
}

// knownBeside finds out which of some assets may well be beside ours: what a plan saw there
// before it placed ours, and what stands for an object of another source in this journal.
func knownBeside(ctx context.Context, j *state.Store, pair state.Pair, ids []string) (map[string]bool, error) {
	known := map[string]bool{}
	for chunk := range slices.Chunk(ids, stagePage) {
		namesakes, err := j.Namesakes(ctx, pair.ID, chunk)
		if err != nil {
			return nil, err
		}
		shared, err := j.SharedAssets(ctx, pair, chunk)
		if err != nil {
			return nil, err
		}
		maps.Copy(known, namesakes)
		maps.Copy(known, shared)
	}
	return known, nil
}

// further finds the assets that are further ones beside those of some receipts, by the ids
// of the latter. An asset counts beside one of ours at most.
func (v *Verifier) further(ctx context.Context, page []state.Sighting) (map[string][]state.Entry, error) {
	if !v.others.Load() {
		return nil, nil
	}
	slots := make([]int64, len(page))
	for n, s := range page {
		slots[n] = likenessOf(receivedAs(s.Receipt))
	}
	entries, err := v.Journal.EntriesAt(ctx, state.PairScope(v.pair.ID), slots)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	bySlot := map[int64][]state.Entry{}
	for _, e := range entries {
		bySlot[e.Slot] = append(bySlot[e.Slot], e)
	}
	beside := map[string][]state.Entry{}
	for n, s := range page {
		for _, e := range bySlot[slots[n]] {
			if s.Seen && !v.told[e.Asset] && isAlike(e, receivedAs(s.Receipt)) {
				v.told[e.Asset] = true
				beside[s.Receipt.Asset] = append(beside[s.Receipt.Asset], e)
			}
		}
	}
	return beside, nil
}

// tellFurther tells of further assets beside those of receipts: as a note where they were
// known to be there, as a difference where not.
func (v *Verifier) tellFurther(ctx context.Context, page []state.Sighting, found func(Difference)) error {
	beside, err := v.further(ctx, page)
	if err != nil || len(beside) == 0 {
		return err
	}
	var ids []string
	for _, entries := range beside {
		for _, e := range entries {
			ids = append(ids, e.Asset)
		}
	}
	known, err := knownBeside(ctx, v.Journal, v.pair, ids)
	if err != nil {
		return err
	}
	for _, s := range page {
		entries := beside[s.Receipt.Asset]
		isKnown := func(e state.Entry) bool { return known[e.Asset] }
		before := slices.DeleteFunc(slices.Clone(entries), func(e state.Entry) bool { return !isKnown(e) })
		tellOf(s.Receipt, slices.DeleteFunc(entries, isKnown), false, found)
		tellOf(s.Receipt, before, true, found)
	}
	return nil
}

// tellOf tells of assets beside that of a receipt, if there are any.
func tellOf(r state.Receipt, further []state.Entry, before bool, found func(Difference)) {
	if len(further) == 0 {
		return
	}
	ids := make([]string, len(further))
	for n, e := range further {
		ids[n] = e.Asset
	}
	got := strings.Join(ids, ", ")
	found(Difference{Key: string(r.Key), Asset: r.Asset, Field: FieldFurther, Got: got, What: furtherText(len(ids), before) + ": " + got, Note: before})
}

// furtherText says how many assets are beside one of ours, and if so that they were before.
func furtherText(n int, before bool) string {
	text, was := "has 1 further asset of its name and size in the same place", "was"
	if n > 1 {
		text, was = fmt.Sprintf("has %d further assets of its name and size in the same place", n), "were"
	}
	if before {
		text += ", which " + was + " there before"
	}
	return text
}

// whose says whose a listed asset is.
type whose uint8

const (
	foreign whose = iota
	own
	expected // see knownBeside
)

// A named asset is one in a place, by hashes of its name and size and of its id.
type named struct {
	name, asset uint64
	whose       whose
}

// namesOf collects what assets of one place are called, to count the names that are there
// more than once. That takes 24 bytes each, and no request.
type namesOf struct {
	seed maphash.Seed
	all  []named
}

func newNames() *namesOf { return &namesOf{seed: maphash.MakeSeed()} }

func (n *namesOf) add(a assets.Asset, w whose) {
	name := fmt.Sprintf("%s\x00%s\x00%d", normal(a.Name), foldName(a.Extension), a.Size)
	n.all = append(n.all, named{maphash.String(n.seed, name), maphash.String(n.seed, a.ID), w})
}

// doubled counts the names that more than one asset has with one size, unless all of these
// are ours, or are known to be beside ours.
func (n *namesOf) doubled() (count int64) {
	slices.SortFunc(n.all, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.asset, b.asset))
	})
	all := slices.CompactFunc(n.all, func(a, b named) bool { return a.name == b.name && a.asset == b.asset })
	for len(all) > 0 {
		same := 1
		for same < len(all) && all[same].name == all[0].name {
			same++
		}
		if isDoubled(all[:same]) {
			count++
		}
		all = all[same:]
	}
	return count
}

func isDoubled(same []named) bool {
	var is [3]int
	for _, a := range same {
		is[a.whose]++
	}
	return len(same) > 1 && (is[own] == 0 || is[foreign] > 0)
}
