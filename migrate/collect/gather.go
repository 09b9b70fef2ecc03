package collect

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"

	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A describerError is no item's fault: half of the assets would be described by a table,
// and half of them not.
type describerError struct{ error }

func (e *describerError) Unwrap() error { return e.error }

func (e *describerError) Class() retry.Class { return retry.Fatal }

// InTable gives what the user wrote down of an object, of which something was found
// elsewhere. The digest is nil where only the journal may know it.
func (d Collector) InTable(ctx context.Context, run state.Run, key sources.Key, digest []byte, found metadata.Found) (metadata.Fields, error) {
	if d.Describer == nil || !d.Looks(metadata.FromTable) {
		return nil, nil
	}
	if digest == nil && d.Describer.AsksForDigests() {
		r, err := d.Journal.Receipt(ctx, run.Pair.ID, key)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return nil, migrate.NewStateError(err)
		}
		digest = r.Digest
	}
	f, _, err := d.Describer.Describe(metadata.Identity{Key: string(key), Digest: digest, Addresses: found.Addresses()})
	if err != nil {
		return nil, &describerError{err}
	}
	return f.Normal(), nil
}

// Looks reports whether something is looked for in a place.
func (d Collector) Looks(from metadata.Origin) bool {
	return slices.Contains(d.Mapping.Origins(), from)
}

// embedded are the origins for which the content has to be looked at.
var embedded = [...]metadata.Origin{metadata.FromXMP, metadata.FromIPTC, metadata.FromEXIF}

// LooksAtContent reports whether what is embedded in the content counts.
func (d Collector) LooksAtContent() bool { return slices.ContainsFunc(embedded[:], d.Looks) }

// A Metadata is what was found of an object, and what is said of its asset by that.
type Metadata struct {
	Found     metadata.Found // as much of it as is kept
	Said      metadata.Metadata
	Fields    []state.FoundField
	Addresses []string // that the object had
	Remark    string   // for people
}

const notRead = "it was not read: "

func (g *Metadata) Add(found metadata.Found, remarks []string) {
	for _, from := range embedded {
		g.Found = g.Found.With(from, found[from])
	}
	if len(remarks) > 0 {
		g.Remark = migrate.Joined(g.Remark, migrate.Embedded+migrate.Joined(remarks...))
	}
}

// Examine gives what is kept with an object and what its content says, without sending it.
func (d Collector) Examine(ctx context.Context, o sources.Object) (g Metadata, err error) {
	if g, err = d.AskSource(ctx, o, g); err != nil || !d.LooksAtContent() {
		return g, err
	}
	return d.LookInto(ctx, o, g)
}

// LookInto adds what is embedded in the content of an object, of which it reads no more than
// it must. An object that is another one by now says nothing.
func (d Collector) LookInto(ctx context.Context, o sources.Object, g Metadata) (Metadata, error) {
	blocks := metadata.NewBlocks(func(offset int64) (io.ReadCloser, error) { return d.Source.Open(ctx, o, offset) }, o.Size)
	found, remarks, err := metadata.Embedded(blocks, o.Size)
	switch {
	case SaysNothing(err):
		remarks = []string{notRead + err.Error()}
	case err != nil:
		return g, err
	}
	g.Add(found, remarks)
	return g, nil
}

// SaysNothing reports whether an object is another one by now, or cannot be read at any other
// time either.
func SaysNothing(err error) bool { return IsOther(err) || migrate.HasClass(err, retry.Permanent) }

// IsOther reports whether an object is another one by now, or gone.
func IsOther(err error) bool {
	return errors.Is(err, sources.ErrChanged) || errors.Is(err, fs.ErrNotExist)
}

// AskSource adds what the source keeps with an object.
func (d Collector) AskSource(ctx context.Context, o sources.Object, g Metadata) (Metadata, error) {
	kept, err := d.keptAtSource(ctx, o)
	switch {
	case SaysNothing(err):
		g.Remark = migrate.Joined(g.Remark, migrate.NotKept+": "+err.Error())
		return g, nil
	case err != nil:
		return g, err
	}
	g.Found = g.Found.With(metadata.FromSource, d.OfSource(kept))
	return g, nil
}

// keptAtSource asks the source what it keeps with an object.
func (d Collector) keptAtSource(ctx context.Context, o sources.Object) (*sources.Description, error) {
	if !d.Looks(metadata.FromSource) {
		return nil, nil
	}
	if catalog, ok := d.Source.(sources.Catalog); ok {
		kept, err := catalog.Describe(ctx, o)
		return &kept, err
	}
	if !d.Source.Traits().Describes {
		return nil, nil
	}
	return AskAtEnd(ctx, d.Source, o)
}

// OfSource gives what a source keeps with an object in words of ours.
func (d Collector) OfSource(kept *sources.Description) metadata.Fields {
	if kept == nil || !d.Looks(metadata.FromSource) {
		return nil
	}
	f := metadata.Fields{}
	for _, texts := range []map[string]string{kept.Tags, kept.Metadata} { // the latter wins
		for _, written := range slices.Sorted(maps.Keys(texts)) { // of names that mean the same, always the same one wins
			name := metadata.FieldName(written)
			f[name] = []string{texts[written]}
			if name == "tags" {
				f[name] = metadata.SplitTags(texts[written])
			}
		}
	}
	for name, values := range kept.Fields {
		f[name] = values
	}
	return f
}

// Complete adds what the user wrote down of an object, in a table and beside it, and says
// what follows from all of it.
func (d Collector) Complete(ctx context.Context, run state.Run, i state.Item, digest []byte, g Metadata) (Metadata, error) {
	beside, remark, err := d.InSidecars(ctx, run, i.Key)
	if err != nil {
		return g, err
	}
	g.Found = g.Found.With(metadata.FromSidecar, beside)
	fields, err := d.InTable(ctx, run, i.Key, digest, g.Found)
	if err != nil {
		return g, err
	}
	g.Found = g.Found.With(metadata.FromTable, fields)
	said, remarks, err := d.Say(i.Object, g.Found)
	if err != nil {
		return g, err
	}
	g.Said, g.Remark = said, migrate.Joined(g.Remark, remark, remarks)
	g.Addresses = d.Mapping.Addresses(Mappable(i.Object, g.Found))
	g.Fields, g.Found, err = d.Account(i.Object, g.Found)
	return g, err
}

// Say gives what is said of an asset by what was found of its object, with remarks about
// what could not be said as it is.
func (d Collector) Say(o sources.Object, found metadata.Found) (m metadata.Metadata, remark string, err error) {
	m, notes, err := d.Mapping.Describe(Mappable(o, found))
	if err != nil {
		return m, "", &mappingError{err}
	}
	return m, Remarks(notes), nil
}

// A mappingError says that rules cannot say anything of an object. No other try changes that.
type mappingError struct{ error }

func (e *mappingError) Error() string { return "mapping: " + e.error.Error() }

func (e *mappingError) Unwrap() error { return e.error }

func (e *mappingError) Class() retry.Class { return retry.Permanent }

// Remarks are notes for people.
func Remarks(notes []mapping.Note) (remark string) {
	for _, n := range notes {
		remark = migrate.Joined(remark, n.String())
	}
	return remark
}

// Mappable is an object as rules see it.
func Mappable(o sources.Object, found metadata.Found) mapping.Object {
	return mapping.Object{Key: string(o.Key), Size: o.Size, Time: o.Time, ContentType: o.ContentType, Found: found}
}

// Account says where each field of an object went, and leaves out what nobody will ask for
// again: a camera writes dozens of fields.
func (d Collector) Account(o sources.Object, found metadata.Found) (fields []state.FoundField, kept metadata.Found, err error) {
	if found.IsZero() { // as of most objects that are no pictures
		return nil, nil, nil
	}
	nowhere, err := d.Mapping.Unmapped(Mappable(o, found))
	if err != nil {
		return nil, nil, &mappingError{err}
	}
	unmapped := map[string]bool{}
	for _, name := range nowhere {
		unmapped[name] = true
	}
	for from, named := range found {
		keeps := metadata.Fields{}
		for name, values := range named {
			fields = append(fields, state.FoundField{Origin: string(from), Name: name, Unmapped: unmapped[name]})
			if from == metadata.FromTable || d.Mapping.Keeps(name) {
				keeps[name] = values
			}
		}
		kept = kept.With(from, keeps)
	}
	slices.SortFunc(fields, func(a, b state.FoundField) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Origin, b.Origin))
	})
	return fields, kept, nil
}

// LooksAtAnything reports whether assets may have something to be described with.
func (d Collector) LooksAtAnything() bool { return len(d.Mapping.Origins()) > 0 }

// KeptWith asks a reader what the source has with its object; nil if that is nothing.
func KeptWith(ctx context.Context, r io.Reader) (*sources.Description, error) {
	describer, ok := r.(sources.Describer)
	if !ok {
		return nil, nil
	}
	d, err := describer.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// AskAtEnd opens an object at its end, where there is little to read.
func AskAtEnd(ctx context.Context, s sources.Source, o sources.Object) (*sources.Description, error) {
	r, err := s.Open(ctx, o, o.Size)
	if err != nil {
		return nil, err
	}
	d, err := KeptWith(ctx, r)
	return d, errors.Join(err, r.Close())
}
