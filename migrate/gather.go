package migrate

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/state"
)

// A Describer says what the user wrote down of objects, and reads no content for that. It
// may be asked from several goroutines.
type Describer interface {
	// Describe gives what describes an object; ok is false if there is nothing.
	Describe(o metadata.Identity) (f metadata.Fields, ok bool, err error)
	// AsksForDigests reports whether it knows objects by the digests of their contents.
	AsksForDigests() bool
}

// A describerError is no item's fault: half of the assets would be described by a table,
// and half of them not.
type describerError struct{ error }

func (e *describerError) Unwrap() error      { return e.error }
func (e *describerError) Class() retry.Class { return retry.Fatal }

// inTable gives what the user wrote down of an object, of which something was found
// elsewhere. The digest is nil where only the journal may know it.
func (d Deps) inTable(ctx context.Context, run state.Run, key sources.Key, digest []byte, found metadata.Found) (metadata.Fields, error) {
	if d.Describer == nil || !d.looks(metadata.FromTable) {
		return nil, nil
	}
	if digest == nil && d.Describer.AsksForDigests() {
		r, err := d.Journal.Receipt(ctx, run.Pair.ID, key)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return nil, &journalError{err}
		}
		digest = r.Digest
	}
	f, _, err := d.Describer.Describe(metadata.Identity{Key: string(key), Digest: digest, Addresses: found.Addresses()})
	if err != nil {
		return nil, &describerError{err}
	}
	return f.Normal(), nil
}

// looks reports whether something is looked for in a place.
func (d Deps) looks(from metadata.Origin) bool { return slices.Contains(d.Mapping.Origins(), from) }

// embedded are the origins for which the content has to be looked at.
var embedded = [...]metadata.Origin{metadata.FromXMP, metadata.FromIPTC, metadata.FromEXIF}

// looksAtContent reports whether what is embedded in the content counts.
func (d Deps) looksAtContent() bool { return slices.ContainsFunc(embedded[:], d.looks) }

// A gathering is what was found of an object, and what is said of its asset by that.
type gathering struct {
	found     metadata.Found // as much of it as is kept
	said      metadata.Metadata
	fields    []state.FoundField
	addresses []string // that the object had
	remark    string   // for people
}

// gather collects what describes an object. What its content says went by if it was sent
// just now; else it is as it was, unless nobody has looked so far.
func (a *Applier) gather(ctx context.Context, i state.Item, receipt *state.Receipt, sent *content, last saidLast) (g gathering, err error) {
	switch {
	case sent != nil:
		g, err = a.wentBy(ctx, sent)
	case i.Action != state.Describe && i.Action != state.Move, i.Reason == string(ReasonUndescribed), i.Reason == string(ReasonAgain):
		g, err = a.examine(ctx, i.Object)
	case i.Action == state.Describe && isTouched(i, *receipt):
		g.found = last.found
		g, err = a.askSource(ctx, i.Object, g)
	default:
		g.found = last.found
	}
	if err != nil {
		return g, err
	}
	return a.complete(ctx, a.run, i, receipt.Digest, g)
}

// isTouched reports whether an object does not look as when it arrived.
func isTouched(i state.Item, r state.Receipt) bool {
	return i.VersionTag != r.VersionTag || !i.Time.Equal(r.Time)
}

// wentBy gives what went by while an object was sent.
func (a *Applier) wentBy(ctx context.Context, sent *content) (g gathering, err error) {
	g.found = metadata.Found{}.With(metadata.FromSource, a.ofSource(sent.kept))
	if sent.capture == nil {
		return g, nil
	}
	if sent.capture.Elsewhere() {
		return a.lookInto(ctx, sent.item.Object, g)
	}
	g.add(sent.capture.Found())
	return g, nil
}

// Embedded begins the remarks on an object about what its content says of it, notRead the
// one that nobody has looked.
const (
	Embedded = "embedded: "
	notRead  = "it was not read: "
)

func (g *gathering) add(found metadata.Found, remarks []string) {
	for _, from := range embedded {
		g.found = g.found.With(from, found[from])
	}
	if len(remarks) > 0 {
		g.remark = joined(g.remark, Embedded+joined(remarks...))
	}
}

// examine gives what is kept with an object and what its content says, without sending it.
func (d Deps) examine(ctx context.Context, o sources.Object) (g gathering, err error) {
	if g, err = d.askSource(ctx, o, g); err != nil || !d.looksAtContent() {
		return g, err
	}
	return d.lookInto(ctx, o, g)
}

// lookInto adds what is embedded in the content of an object, of which it reads no more than
// it must. An object that is another one by now says nothing.
func (d Deps) lookInto(ctx context.Context, o sources.Object, g gathering) (gathering, error) {
	blocks := metadata.NewBlocks(func(offset int64) (io.ReadCloser, error) { return d.Source.Open(ctx, o, offset) }, o.Size)
	found, remarks, err := metadata.Embedded(blocks, o.Size)
	switch {
	case saysNothing(err):
		remarks = []string{notRead + err.Error()}
	case err != nil:
		return g, err
	}
	g.add(found, remarks)
	return g, nil
}

// saysNothing reports whether an object is another one by now, or cannot be read at any other
// time either.
func saysNothing(err error) bool { return isOther(err) || isOf(err, retry.Permanent) }

// isOther reports whether an object is another one by now, or gone.
func isOther(err error) bool {
	return errors.Is(err, sources.ErrChanged) || errors.Is(err, fs.ErrNotExist)
}

// askSource adds what the source keeps with an object.
func (d Deps) askSource(ctx context.Context, o sources.Object, g gathering) (gathering, error) {
	kept, err := d.keptAtSource(ctx, o)
	switch {
	case saysNothing(err):
		g.remark = joined(g.remark, NotKept+": "+err.Error())
		return g, nil
	case err != nil:
		return g, err
	}
	g.found = g.found.With(metadata.FromSource, d.ofSource(kept))
	return g, nil
}

// keptAtSource asks the source what it keeps with an object.
func (d Deps) keptAtSource(ctx context.Context, o sources.Object) (*sources.Description, error) {
	if !d.looks(metadata.FromSource) {
		return nil, nil
	}
	if catalog, ok := d.Source.(sources.Catalog); ok {
		kept, err := catalog.Describe(ctx, o)
		return &kept, err
	}
	if !d.Source.Traits().Describes {
		return nil, nil
	}
	return askAtEnd(ctx, d.Source, o)
}

// ofSource gives what a source keeps with an object in words of ours.
func (d Deps) ofSource(kept *sources.Description) metadata.Fields {
	if kept == nil || !d.looks(metadata.FromSource) {
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

// complete adds what the user wrote down of an object, in a table and beside it, and says
// what follows from all of it.
func (d Deps) complete(ctx context.Context, run state.Run, i state.Item, digest []byte, g gathering) (gathering, error) {
	beside, remark, err := d.inSidecars(ctx, run, i.Key)
	if err != nil {
		return g, err
	}
	g.found = g.found.With(metadata.FromSidecar, beside)
	fields, err := d.inTable(ctx, run, i.Key, digest, g.found)
	if err != nil {
		return g, err
	}
	g.found = g.found.With(metadata.FromTable, fields)
	said, remarks, err := d.say(i.Object, g.found)
	if err != nil {
		return g, err
	}
	g.said, g.remark = said, joined(g.remark, remark, remarks)
	g.addresses = d.Mapping.Addresses(mappable(i.Object, g.found))
	g.fields, g.found, err = d.account(i.Object, g.found)
	return g, err
}

// say gives what is said of an asset by what was found of its object, with remarks about
// what could not be said as it is.
func (d Deps) say(o sources.Object, found metadata.Found) (m metadata.Metadata, remark string, err error) {
	m, notes, err := d.Mapping.Describe(mappable(o, found))
	if err != nil {
		return m, "", &mappingError{err}
	}
	return m, remarks(notes), nil
}

// tooLong is in the error of an item of which a text is longer than the service takes it and
// must not be cut.
const tooLong = "characters, and the service takes"

// IsTooLong reports whether an item failed for that: no other try changes it.
func IsTooLong(i state.Item) bool {
	return i.State == state.ItemFailed && strings.Contains(i.Error, tooLong)
}

// TooLongRemedy is what helps then, with settings in braces.
func TooLongRemedy() string { return (&mapping.LimitError{}).Remedy() }

// A mappingError says that rules cannot say anything of an object. No other try changes that.
type mappingError struct{ error }

func (e *mappingError) Error() string      { return "mapping: " + e.error.Error() }
func (e *mappingError) Unwrap() error      { return e.error }
func (e *mappingError) Class() retry.Class { return retry.Permanent }

// remarks are notes for people.
func remarks(notes []mapping.Note) (remark string) {
	for _, n := range notes {
		remark = joined(remark, n.String())
	}
	return remark
}

// mappable is an object as rules see it.
func mappable(o sources.Object, found metadata.Found) mapping.Object {
	return mapping.Object{Key: string(o.Key), Size: o.Size, Time: o.Time, ContentType: o.ContentType, Found: found}
}

// account says where each field of an object went, and leaves out what nobody will ask for
// again: a camera writes dozens of fields.
func (d Deps) account(o sources.Object, found metadata.Found) (fields []state.FoundField, kept metadata.Found, err error) {
	if found.IsZero() { // as of most objects that are no pictures
		return nil, nil, nil
	}
	nowhere, err := d.Mapping.Unmapped(mappable(o, found))
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

// looksAtAnything reports whether assets may have something to be described with.
func (d Deps) looksAtAnything() bool { return len(d.Mapping.Origins()) > 0 }
