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

// A describerError ends the run, because it concerns all items: otherwise only half of the assets
// would get their metadata from the table.
type describerError struct{ error }

func (e *describerError) Unwrap() error { return e.error }

func (e *describerError) Class() retry.Class { return retry.Fatal }

// TableFields returns the metadata of an object in the table of the user. found is the metadata
// from other sources. The checksum is nil if only the state database may have it. Its errors are
// fatal.
func (d *Collector) TableFields(ctx context.Context, run state.Run, key sources.Key, checksum []byte, found metadata.Found) (metadata.Fields, error) {
	if d.Describer == nil || !d.UsesSource(metadata.FromTable) {
		return nil, nil
	}
	if checksum == nil && d.Describer.AsksForChecksums() {
		r, err := d.State.Receipt(ctx, run.Pair.ID, key)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return nil, migrate.NewStateError(err)
		}
		checksum = r.Checksum
	}
	f, _, err := d.Describer.Describe(metadata.Identity{Key: string(key), Checksum: checksum, OldURLs: found.OldURLs()})
	if err != nil {
		return nil, &describerError{err}
	}
	return f.Normal(), nil
}

// UsesSource reports whether the mapping uses a metadata source.
func (d *Collector) UsesSource(from metadata.Source) bool {
	return slices.Contains(d.Mapping.Sources(), from)
}

// embedded are the metadata sources for which the content has to be looked at.
var embedded = [...]metadata.Source{metadata.FromXMP, metadata.FromIPTC, metadata.FromEXIF}

// UsesContent reports whether the mapping uses metadata that is embedded in the content.
func (d *Collector) UsesContent() bool { return slices.ContainsFunc(embedded[:], d.UsesSource) }

// Findings are the metadata that was found for an object, and the metadata for its asset.
type Findings struct {
	Found   metadata.Found     // the part that is stored
	Said    metadata.Metadata  // the metadata for the asset, by the mapping
	Fields  []state.FoundField // all fields, and whether they are mapped
	OldURLs []string           // the URLs that the object had
	Remark  string             // for people
}

const notRead = "it was not read: "

// Add adds the metadata in the content, and remarks on parts that could not be read.
func (g *Findings) Add(found metadata.Found, remarks []string) {
	for _, from := range embedded {
		g.Found = g.Found.With(from, found[from])
	}
	if len(remarks) > 0 {
		g.Remark = migrate.JoinTexts(g.Remark, migrate.RemarkEmbedded+migrate.JoinTexts(remarks...))
	}
}

// Examine returns the metadata of an object from the source and from its content, without an
// upload.
func (d *Collector) Examine(ctx context.Context, o sources.Object) (g Findings, err error) {
	if g, err = d.AddFromSource(ctx, o, g); err != nil || !d.UsesContent() {
		return g, err
	}
	return d.AddEmbedded(ctx, o, g)
}

// AddEmbedded adds the embedded metadata of an object. It reads only the necessary part of the
// content. It adds nothing if the object has changed.
func (d *Collector) AddEmbedded(ctx context.Context, o sources.Object, g Findings) (Findings, error) {
	blocks := metadata.NewBlocks(func(offset int64) (io.ReadCloser, error) { return d.Source.Open(ctx, o, offset) }, o.Size)
	found, remarks, err := metadata.Embedded(blocks, o.Size)
	switch {
	case IsUnreadableForGood(err):
		remarks = []string{notRead + err.Error()}
	case err != nil:
		return g, err
	}
	g.Add(found, remarks)
	return g, nil
}

// IsUnreadableForGood reports whether an object has changed, or cannot be read in a later run
// either.
func IsUnreadableForGood(err error) bool {
	return IsChangedOrDeleted(err) || migrate.HasClass(err, retry.Permanent)
}

// IsChangedOrDeleted reports whether an object was changed or deleted at the source.
func IsChangedOrDeleted(err error) bool {
	return errors.Is(err, sources.ErrChanged) || errors.Is(err, fs.ErrNotExist)
}

// AddFromSource adds the metadata that the source stores with an object.
func (d *Collector) AddFromSource(ctx context.Context, o sources.Object, g Findings) (Findings, error) {
	kept, err := d.keptAtSource(ctx, o)
	switch {
	case IsUnreadableForGood(err):
		g.Remark = migrate.JoinTexts(g.Remark, migrate.RemarkNotKept+": "+err.Error())
		return g, nil
	case err != nil:
		return g, err
	}
	g.Found = g.Found.With(metadata.FromStorage, d.SourceFields(kept))
	return g, nil
}

// HasChangedAtSource reports whether the metadata that the source stores with an object differs from
// that of the last update of its asset, when its key may have been another one. It returns true if
// the object cannot be read now: the update reads it again, and its error concerns the item.
func (d *Collector) HasChangedAtSource(ctx context.Context, run state.Run, o sources.Object, then sources.Key) (bool, error) {
	now, err := d.AddFromSource(ctx, o, Findings{})
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case migrate.HasClass(err, retry.Fatal):
		return false, err
	case err != nil, now.Remark != "":
		return true, nil
	case len(now.Found[metadata.FromStorage]) == 0:
		return false, nil
	}
	last, err := d.LastDescription(ctx, run, then)
	if err != nil {
		return false, err
	}
	_, kept, err := d.AccountForFields(o, now.Found)
	return kept.EncodeOf(metadata.FromStorage) != last.Found.EncodeOf(metadata.FromStorage), err
}

// keptAtSource returns the metadata that the source stores with an object.
func (d *Collector) keptAtSource(ctx context.Context, o sources.Object) (*sources.Description, error) {
	if !d.UsesSource(metadata.FromStorage) {
		return nil, nil
	}
	if catalog, ok := d.Source.(sources.Catalog); ok {
		kept, err := catalog.Describe(ctx, o)
		return &kept, err
	}
	if !d.Source.Traits().Describes {
		return nil, nil
	}
	return DescribeObject(ctx, d.Source, o)
}

// SourceFields returns the metadata that a source stores with an object as fields of the mapping.
func (d *Collector) SourceFields(kept *sources.Description) metadata.Fields {
	if kept == nil || !d.UsesSource(metadata.FromStorage) {
		return nil
	}
	f := metadata.Fields{}
	for _, texts := range []map[string]string{kept.Tags, kept.Metadata} { // the latter wins
		for _, written := range slices.Sorted(maps.Keys(texts)) { // of names that mean the same, always the same one wins
			name := metadata.FieldName(written)
			f[name] = []string{texts[written]}
			switch name {
			case "tags":
				f[name] = metadata.SplitTags(texts[written])
			case metadata.Collections:
				f[name] = metadata.SplitCollections(texts[written])
			}
		}
	}
	for name, values := range kept.Fields {
		f[name] = values
	}
	return f
}

// Complete adds the metadata from the table of the user and from sidecars, and applies the mapping.
func (d *Collector) Complete(ctx context.Context, run state.Run, i state.Item, checksum []byte, g Findings) (Findings, error) {
	beside, remark, err := d.SidecarFields(ctx, run, i.Key)
	if err != nil {
		return g, err
	}
	g.Found = g.Found.With(metadata.FromSidecar, beside)
	fields, err := d.TableFields(ctx, run, i.Key, checksum, g.Found)
	if err != nil {
		return g, err
	}
	g.Found = g.Found.With(metadata.FromTable, fields)
	said, remarks, err := d.Say(i.Object, g.Found)
	if err != nil {
		return g, err
	}
	g.Said, g.Remark = said, migrate.JoinTexts(g.Remark, remark, remarks)
	g.OldURLs = d.Mapping.OldURLs(MappingObject(i.Object, g.Found))
	g.Fields, g.Found, err = d.AccountForFields(i.Object, g.Found)
	return g, err
}

// Say returns the metadata for an asset from that of its object, with a remark about values that
// had to be changed.
func (d *Collector) Say(o sources.Object, found metadata.Found) (m metadata.Metadata, remark string, err error) {
	m, notes, err := d.Mapping.Describe(MappingObject(o, found))
	if err != nil {
		return m, "", &mappingError{err}
	}
	return m, RemarkOf(notes), nil
}

// A mappingError means that rules fail for an object. A retry does not help.
type mappingError struct{ error }

func (e *mappingError) Error() string { return "mapping: " + e.error.Error() }

func (e *mappingError) Unwrap() error { return e.error }

func (e *mappingError) Class() retry.Class { return retry.Permanent }

// RemarkOf returns the notes of a mapping as one remark for people.
func RemarkOf(notes []mapping.Note) (remark string) {
	for _, n := range notes {
		remark = migrate.JoinTexts(remark, n.String())
	}
	return remark
}

// MappingObject returns an object as the rules of a mapping see it.
func MappingObject(o sources.Object, found metadata.Found) mapping.Object {
	return mapping.Object{Key: string(o.Key), Size: o.Size, Time: o.Time, ContentType: o.ContentType, Found: found}
}

// AccountForFields returns the mapping of each field of an object. It omits technical fields, of
// which a camera writes dozens.
func (d *Collector) AccountForFields(o sources.Object, found metadata.Found) (fields []state.FoundField, kept metadata.Found, err error) {
	if found.IsZero() { // as of most objects that are no pictures
		return nil, nil, nil
	}
	unmapped, err := d.Mapping.Unmapped(MappingObject(o, found))
	if err != nil {
		return nil, nil, &mappingError{err}
	}
	isUnmapped := map[string]bool{}
	for _, name := range unmapped {
		isUnmapped[name] = true
	}
	for from, named := range found {
		keeps := metadata.Fields{}
		for name, values := range named {
			fields = append(fields, state.FoundField{Source: string(from), Name: name, Unmapped: isUnmapped[name]})
			if from == metadata.FromTable || d.Mapping.Keeps(name) {
				keeps[name] = values
			}
		}
		kept = kept.With(from, keeps)
	}
	slices.SortFunc(fields, func(a, b state.FoundField) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source))
	})
	return fields, kept, nil
}

// UsesMetadata reports whether the mapping uses any metadata source.
func (d *Collector) UsesMetadata() bool { return len(d.Mapping.Sources()) > 0 }

// DescriptionFrom returns the metadata that the source stores with the object of a reader, or nil.
func DescriptionFrom(ctx context.Context, r io.Reader) (*sources.Description, error) {
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

// DescribeObject returns the metadata that the source stores with an object. It opens the object at
// its end, where little is left to read.
func DescribeObject(ctx context.Context, s sources.Source, o sources.Object) (*sources.Description, error) {
	r, err := s.Open(ctx, o, o.Size)
	if err != nil {
		return nil, err
	}
	d, err := DescriptionFrom(ctx, r)
	return d, errors.Join(err, r.Close())
}
