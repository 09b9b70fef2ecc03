package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/state"
)

const (
	listedFields = 1000 // of those that went nowhere, in a report
	shownFields  = 20   // of these, to people
)

// Found says of objects that came through what was found of them and is not in their
// assets, or not as it was.
type Found struct {
	// Unmapped are the fields that went nowhere, those of the most objects first, and
	// UnmappedFields is how many there are.
	Unmapped       []Field `json:"unmapped"`
	UnmappedFields int64   `json:"unmapped_fields"`
	Positions      int64   `json:"positions"` // objects that say where on earth they were made
	Times          int64   `json:"times"`     // objects that say when they were made
	// Remarks are about what they say, most objects first.
	Remarks []Remark `json:"remarks"`
	// GPS is what --gps did with positions, which is only known at the end of a run.
	GPS string `json:"-"`
}

// A Field is one that was found of objects.
type Field struct {
	Name    string `json:"field"`
	From    string `json:"from"` // the origin
	Objects int64  `json:"objects"`
}

// A Remark is what there is to say of objects although they came through.
type Remark struct {
	Kind     RemarkKind `json:"kind"`
	What     string     `json:"what"` // for people
	Objects  int64      `json:"objects"`
	Examples []Example  `json:"examples"`
}

// A RemarkKind is what remarks are about.
type RemarkKind string

// The kinds of remarks.
const (
	BrokenSidecar RemarkKind = "broken-sidecar"
	TooLong       RemarkKind = "too-long"
	Embedded      RemarkKind = "embedded"
	NotKept       RemarkKind = "not-kept"
	EditsKept     RemarkKind = "edits-kept"
	OfCopy        RemarkKind = "of-copy"
	NewAsset      RemarkKind = "new-asset"
	OtherRemark   RemarkKind = "other"
)

// remarkKinds tells remarks apart by what they say, since the journal keeps them as one text.
var remarkKinds = []struct {
	kind       RemarkKind
	what, says string
}{
	{BrokenSidecar, "Sidecars that could not be read, so that what they say is missing", migrate.RemarkBadSidecar},
	{TooLong, "Texts that were cut or left out, as the service takes no longer ones", "the service takes "},
	{Embedded, "What is embedded in them could not be read, or not all of it", migrate.RemarkEmbedded},
	{NotKept, "What the source has with them is not even in the journal", migrate.RemarkNotKept},
	{EditsKept, "What people wrote at the destination stays", migrate.RemarkEditsKept},
	{OfCopy, "Copies whose own description went nowhere: they share the asset of another object", migrate.RemarkCopyMetadata},
	{NewAsset, "Sent as new assets, since the service does not replace contents", migrate.RemarkSentAsNew},
}

// ReadFound reads what a report of a run says of what was found of its objects, and nothing
// else of it.
func ReadFound(ctx context.Context, store *state.Store, run int64) (Found, error) {
	r := remarks{}
	for i, err := range store.Remarkable(ctx, run) {
		if err != nil {
			return Found{}, err
		}
		r.add(i)
	}
	return readFound(ctx, store, run, r)
}

func readFound(ctx context.Context, store *state.Store, run int64, r remarks) (Found, error) {
	fields, err := store.Fields(ctx, run)
	if err != nil {
		return Found{}, err
	}
	f := Found{Positions: objectsWith(fields, "latitude"), Times: objectsWith(fields, "created"), Remarks: r.list()}
	f.Unmapped, f.UnmappedFields = unmapped(fields)
	return f, nil
}

// unmapped gives the fields that went nowhere as far as they are listed, and counts all.
func unmapped(fields []state.FieldCount) (listed []Field, all int64) {
	listed = []Field{}
	for _, f := range fields {
		if f.Unmapped > 0 {
			listed = append(listed, Field{f.Name, f.Source, f.Unmapped})
		}
	}
	slices.SortStableFunc(listed, func(a, b Field) int { return cmp.Compare(b.Objects, a.Objects) })
	return listed[:min(len(listed), listedFields)], int64(len(listed))
}

// objectsWith is of how many objects a field was found at least: several origins may have
// it of the same one.
func objectsWith(fields []state.FieldCount, name string) (most int64) {
	for _, f := range fields {
		if f.Name == name {
			most = max(most, f.Objects)
		}
	}
	return most
}

// IsZero reports whether there is nothing to say.
func (f Found) IsZero() bool {
	return f.UnmappedFields == 0 && f.Positions == 0 && f.Times == 0 && len(f.Remarks) == 0
}

// Said tells of positions, which people may not want to be seen, and of times; nothing of
// what was not found.
func (f Found) Said() (sentences []string) {
	if f.Positions > 0 {
		attributes := "Attributes have them unless --gps drop left them out there"
		switch f.GPS {
		case "keep":
			attributes = "Attributes have them now; --gps drop leaves them out there"
		case "drop":
			attributes = "They were left out of the attributes"
		}
		sentences = append(sentences, fmt.Sprintf("Positions on earth were found of %s. %s; the files themselves keep them.", objects(f.Positions), attributes))
	}
	if f.Times > 0 {
		sentences = append(sentences, fmt.Sprintf("Times of their making were found of %s, in the attribute created unless a rule says otherwise. The service dates every asset by its upload.", objects(f.Times)))
	}
	return sentences
}

// Of counts the objects with remarks of a kind.
func (f Found) Of(k RemarkKind) int64 {
	for _, r := range f.Remarks {
		if r.Kind == k {
			return r.Objects
		}
	}
	return 0
}

// remarks are those on objects that came through.
type remarks map[RemarkKind]*Remark

// add counts an item once for each kind of remarks on it.
func (all remarks) add(i state.Item) {
	if i.State != state.ItemDone || i.Error == "" {
		return
	}
	known := false
	for _, k := range remarkKinds {
		if strings.Contains(i.Error, k.says) {
			all.count(k.kind, k.what, i)
			known = true
		}
	}
	if !known {
		all.count(OtherRemark, "Other remarks", i)
	}
}

func (all remarks) count(kind RemarkKind, what string, i state.Item) {
	r := find(all, kind, func() *Remark { return &Remark{Kind: kind, What: what} })
	r.Objects++
	r.Examples = appendUpTo(shownExamples, r.Examples, Example{string(i.Key), i.Error})
}

// list gives them by kind, most objects first.
func (all remarks) list() []Remark {
	listed := []Remark{}
	for _, r := range all {
		listed = append(listed, *r)
	}
	slices.SortFunc(listed, func(a, b Remark) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Kind, b.Kind))
	})
	return listed
}
