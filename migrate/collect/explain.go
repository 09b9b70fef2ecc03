package collect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/internal/sorting"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A NoObjectError means that a source has no object with a key.
type NoObjectError struct{ Key sources.Key }

func (e *NoObjectError) Error() string { return fmt.Sprintf("the source has no object %q", e.Key) }

// Remedy returns the next step, with settings in braces.
func (e *NoObjectError) Remedy() string {
	return "a key is relative to SOURCE and exact; plan {verbose} lists the keys"
}

// A SidecarError means that a key is the sidecar of another object.
type SidecarError struct{ Key, Describes sources.Key }

func (e *SidecarError) Error() string {
	return fmt.Sprintf("%q is a sidecar: it holds the metadata of %q", e.Key, e.Describes)
}

// Remedy returns the next step, with settings in braces.
func (e *SidecarError) Remedy() string {
	return "name that object, or use {ignore_metadata} sidecar to treat sidecars as objects"
}

// ExplainMapping shows the result of the mapping rules for an object, with reasons. It reads only
// the source, and there only the object and its sidecars.
func (d *Collector) ExplainMapping(ctx context.Context, key sources.Key) (mapping.Explanation, error) {
	d = New(d.Deps)
	o, beside, err := d.find(ctx, key)
	if err != nil {
		return mapping.Explanation{}, err
	}
	g, err := d.Examine(ctx, o)
	if err != nil {
		return mapping.Explanation{}, err
	}
	says, wrong, err := d.readBeside(ctx, beside)
	if err != nil {
		return mapping.Explanation{}, err
	}
	found := g.Found.With(metadata.FromSidecar, says)
	fields, err := d.TableFields(ctx, state.Run{}, key, nil, found)
	if err != nil {
		return mapping.Explanation{}, err
	}
	found = found.With(metadata.FromTable, fields)
	dir, name := sources.Key(migrate.NormalName(string(key))).Split()
	e := d.Mapping.Explain(MappingObject(o, found), mapping.Place{Folder: dir, Name: name})
	if remark := migrate.JoinTexts(g.Remark, wrong); remark != "" {
		e.Notes = append(e.Notes, mapping.Note{Field: "metadata", What: remark})
	}
	return e, nil
}

// find lists an object and its sidecars, that first which overrules the others.
func (d *Collector) find(ctx context.Context, key sources.Key) (o sources.Object, beside []sources.Object, err error) {
	var keys []string
	var owner metadata.Owner
	if d.FollowsSidecars() {
		keys = metadata.SidecarsOf(string(key))
		owner, _ = metadata.OwnerOf(string(key))
	}
	others := slices.Concat(keys, owner.Keys)
	if owner.Begin != "" {
		others = append(others, owner.Begin)
	}
	begin := beginOf(key, others)
	var described sources.Key
	place := func(o sources.Object) int {
		folded, _ := metadata.FoldSidecar(string(o.Key))
		return slices.Index(keys, folded)
	}
	for next, err := range d.Source.Objects(ctx, justBefore(begin)) {
		switch {
		case err != nil:
			return o, nil, err
		case next.Key == key:
			o = next
		case owner.Describes(string(next.Key)) && !isSidecarName(next.Key):
			described = next.Key
		case place(next) >= 0:
			beside = append(beside, next)
		}
		if string(next.Key) > begin && !strings.HasPrefix(string(next.Key), begin) {
			break
		}
	}
	if o.Key == "" {
		return o, nil, &NoObjectError{key}
	}
	if described != "" {
		return o, nil, &SidecarError{key, described}
	}
	sorting.By(beside, func(a, b sources.Object) int { return place(a) - place(b) })
	return o, beside, nil
}

// beginOf returns the common prefix of a key and some others.
func beginOf(key sources.Key, others []string) string {
	for _, other := range others {
		for !strings.HasPrefix(other, string(key)) {
			_, size := utf8.DecodeLastRuneInString(string(key))
			key = key[:len(key)-size]
		}
	}
	return string(key)
}

func isSidecarName(key sources.Key) bool {
	_, is := metadata.OwnerOf(string(key))
	return is
}

// justBefore returns a cursor from which a listing soon reaches keys with a prefix.
func justBefore(begin string) sources.Key {
	_, size := utf8.DecodeLastRuneInString(begin)
	cut := begin[:len(begin)-size]
	if size != 1 || begin[len(begin)-1] <= ' ' {
		return sources.Key(cut)
	}
	return sources.Key(cut + string(begin[len(begin)-1]-1) + string(utf8.MaxRune))
}

// readBeside returns the metadata in sidecars.
func (d *Collector) readBeside(ctx context.Context, sidecars []sources.Object) (fields metadata.Fields, remark string, err error) {
	for _, o := range sidecars {
		says, err := d.ReadSidecar(ctx, state.Sidecar{Object: o})
		wrong, err := notReadRemark(string(o.Key), err)
		if err != nil {
			return nil, "", err
		}
		fields, remark = fields.Or(says), migrate.JoinTexts(remark, wrong)
	}
	return fields, remark, nil
}
