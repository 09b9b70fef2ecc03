package report

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	service "assetferry/internal/assets"
	"assetferry/internal/sorting"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

const (
	listedFields = 1000 // unmapped fields in a report
	shownFields  = 20   // of them, in text
)

// Found is what a run found in objects and did not copy to their assets as it is: warnings,
// unmapped fields, GPS coordinates, capture dates and collections.
type Found struct {
	// Unmapped are the metadata fields without a rule, those of the most objects first.
	// UnmappedFields counts all of them.
	Unmapped       []Field `json:"unmapped_fields"`
	UnmappedFields int64   `json:"unmapped_field_count"`
	Positions      int64   `json:"gps_objects"`          // with GPS coordinates
	Times          int64   `json:"capture_date_objects"` // with a capture date
	// Collections are those of all objects of the source with an asset, if the run found any.
	Collections *Collections `json:"collections,omitempty"`
	// Remarks are the warnings, those of the most objects first.
	Remarks []Remark `json:"warnings"`
	// GPS is the setting --gps, which only the end of a run knows.
	GPS string `json:"-"`
}

// A Field is a metadata field.
type Field struct {
	Name    string `json:"field"`
	From    string `json:"metadata_source"`
	Objects int64  `json:"objects"`
}

// Collections counts collections and the objects in them.
type Collections struct {
	Names       int64 `json:"names"`              // different ones
	Memberships int64 `json:"memberships"`        // of all objects
	Objects     int64 `json:"objects"`            // in a collection
	Several     int64 `json:"objects_in_several"` // in more than one collection
}

// Text returns the counts as a sentence.
func (c Collections) Text() string {
	text := fmt.Sprintf("%s in %s: %s", is(c.Objects), ui.Counted(c.Names, "collection"), ui.Counted(c.Memberships, "membership"))
	if c.Several > 0 {
		text += fmt.Sprintf(". %s in more than one", is(c.Several))
	}
	return text + "."
}

func is(n int64) string {
	if n == 1 {
		return "1 object is"
	}
	return objects(n) + " are"
}

// A Remark is a warning about objects that are done.
type Remark struct {
	Kind     RemarkKind `json:"kind"`
	What     string     `json:"message"`
	Objects  int64      `json:"objects"`
	Examples []Example  `json:"examples"`
}

// A RemarkKind is the code of a warning.
type RemarkKind string

// The kinds of warnings.
const (
	BrokenSidecar RemarkKind = "unreadable_sidecar"
	TooLong       RemarkKind = "text_too_long"
	Embedded      RemarkKind = "unreadable_embedded_metadata"
	NotKept       RemarkKind = "not_stored"
	EditsKept     RemarkKind = "edits_kept"
	OfCopy        RemarkKind = "duplicate_metadata"
	NewAsset      RemarkKind = "created_instead"
	Confirmed     RemarkKind = "confirmed_later"
	ListedSize    RemarkKind = "listed_size"
	OlderVersions RemarkKind = "older_versions_omitted"
	OtherRemark   RemarkKind = "other"
)

// remarkKinds distinguishes warnings by their text, since the state database stores them as one.
var remarkKinds = []struct {
	kind       RemarkKind
	what, says string
}{
	{BrokenSidecar, "Sidecars could not be read", migrate.RemarkBadSidecar},
	{TooLong, "Texts longer than the service allows were shortened or omitted", "the service accepts "},
	{Embedded, "Embedded metadata could be read only in part, or not at all", migrate.RemarkEmbedded},
	{NotKept, "Storage metadata could not be stored in the state database", migrate.RemarkNotKept},
	{EditsKept, "Metadata edited at the destination was kept", migrate.RemarkEditsKept},
	{OfCopy, "Metadata of duplicates was not used: duplicates share the asset of another object", migrate.RemarkCopyMetadata},
	{NewAsset, "Created as new assets, because the service cannot replace content", migrate.RemarkSentAsNew},
	{ListedSize, "The storage lists another size than that of the content, which is complete", migrate.RemarkListedSize},
	{OlderVersions, "Older versions were omitted; newer versions and the objects themselves were uploaded", migrate.RemarkVersionsOmitted},
	{Confirmed, "Uploaded, but confirmed only by a later check", service.ErrUnconfirmed.Error()},
}

// ReadFound reads only this part of the report of a run.
func ReadFound(ctx context.Context, store *state.Store, pair, run int64) (Found, error) {
	r := remarks{}
	for i, err := range store.Remarkable(ctx, run) {
		if err != nil {
			return Found{}, err
		}
		r.add(i)
	}
	return readFound(ctx, store, pair, run, r)
}

func readFound(ctx context.Context, store *state.Store, pair, run int64, r remarks) (Found, error) {
	fields, err := store.Fields(ctx, run)
	if err != nil {
		return Found{}, err
	}
	f := Found{Positions: objectsWith(fields, "latitude"), Times: objectsWith(fields, "created"), Remarks: r.list()}
	f.Unmapped, f.UnmappedFields = unmapped(fields)
	if objectsWith(fields, "collections") == 0 {
		return f, nil
	}
	sum, err := store.SumCollections(ctx, pair)
	counts := Collections(sum)
	f.Collections = &counts
	return f, err
}

// unmapped returns the unmapped fields up to a limit, and counts all of them.
func unmapped(fields []state.FieldCount) (listed []Field, all int64) {
	listed = []Field{}
	for _, f := range fields {
		if f.Unmapped > 0 {
			listed = append(listed, Field{f.Name, f.Source, f.Unmapped})
		}
	}
	sorting.Stable(listed, func(a, b Field) int { return cmp.Compare(b.Objects, a.Objects) })
	return listed[:min(len(listed), listedFields)], int64(len(listed))
}

// objectsWith returns the number of objects with a field, at least: several metadata sources may
// have it for the same object.
func objectsWith(fields []state.FieldCount, name string) (most int64) {
	for _, f := range fields {
		if f.Name == name {
			most = max(most, f.Objects)
		}
	}
	return most
}

// IsZero reports whether nothing was found.
func (f Found) IsZero() bool {
	return f.UnmappedFields == 0 && f.Collections == nil && f.Positions == 0 && f.Times == 0 && len(f.Remarks) == 0
}

// Said returns a sentence about GPS coordinates, which are personal data, one about capture dates and
// one about collections, each only if there are any.
func (f Found) Said() (sentences []string) {
	if f.Positions > 0 {
		attributes := "copied to the attributes latitude and longitude unless --gps drop is set; the files keep them"
		switch f.GPS {
		case "keep":
			attributes = "copied to the attributes latitude and longitude (--gps drop omits them; the files keep them)"
		case "drop":
			attributes = "not copied to attributes; the files keep them"
		}
		sentences = append(sentences, fmt.Sprintf("%s GPS coordinates, %s.", contain(f.Positions), attributes))
	}
	if f.Times > 0 {
		sentences = append(sentences, fmt.Sprintf("%s a capture date, copied to the attribute \"created\" unless a rule changes the mapping. In the service, the date of an asset is the date of its upload.", have(f.Times)))
	}
	if f.Collections != nil {
		sentences = append(sentences, f.Collections.Text())
	}
	return sentences
}

func contain(n int64) string {
	if n == 1 {
		return "1 object contains"
	}
	return objects(n) + " contain"
}

// Of returns the number of objects with warnings of a kind.
func (f Found) Of(k RemarkKind) int64 {
	for _, r := range f.Remarks {
		if r.Kind == k {
			return r.Objects
		}
	}
	return 0
}

// remarks are the warnings about objects that are done.
type remarks map[RemarkKind]*Remark

// add counts an item once for each kind of warning.
func (all remarks) add(i state.Item) {
	if i.State != state.ItemDone || i.Error == "" {
		return
	}
	known := false
	for _, k := range remarkKinds {
		if strings.Contains(i.Error, k.says) {
			all.count(k.kind, k.what, i, warningText(i.Error, k.says, k.kind))
			known = true
		}
	}
	if !known {
		all.count(OtherRemark, "Other warnings", i, i.Error)
	}
}

// warningText returns the part of an error that belongs to one warning: several are joined by
// semicolons. The text of an unconfirmed upload begins with the error of the service.
func warningText(text, says string, kind RemarkKind) string {
	at := strings.Index(text, says)
	begin := 0
	if n := strings.LastIndex(text[:at], "; "); n >= 0 && kind != Confirmed {
		begin = n + len("; ")
	}
	if n := strings.Index(text[at:], "; "); n >= 0 {
		return text[begin : at+n]
	}
	return text[begin:]
}

func (all remarks) count(kind RemarkKind, what string, i state.Item, text string) {
	r := find(all, kind, func() *Remark { return &Remark{Kind: kind, What: what} })
	r.Objects++
	r.Examples = appendUpTo(shownExamples, r.Examples, Example{string(i.Key), text})
}

// list returns them, most objects first.
func (all remarks) list() []Remark {
	listed := []Remark{}
	for _, r := range all {
		listed = append(listed, *r)
	}
	sorting.By(listed, func(a, b Remark) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Kind, b.Kind))
	})
	return listed
}
