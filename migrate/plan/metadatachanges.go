package plan

import (
	"context"

	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/migrate/plan/merge"
	"assetferry/sources"
	"assetferry/state"
)

// metadataComparer reports whether the metadata of objects, in key order, differs from that of the
// last update of their assets. It is nil if this run updates no metadata.
type metadataComparer func(sources.Object, state.Receipt) (bool, error)

// metadataChanges returns a metadataComparer for the objects after a key, and the cursor that it
// reads, which the caller stops.
func (p *planning) metadataChanges(ctx context.Context, after sources.Key) (metadataComparer, *merge.Cursor[state.Described]) {
	key := func(d state.Described) sources.Key { return d.Key }
	if p.Rules.Sync == nil || p.Describer == nil && !p.remapped {
		return nil, merge.New(func(func(state.Described, error) bool) {}, key)
	}
	known := merge.New(p.State.Described(ctx, p.run.Pair.ID, after), key)
	return func(o sources.Object, r state.Receipt) (bool, error) {
		before, there, err := known.Find(o.Key)
		if err != nil {
			return false, err
		}
		given, err := metadata.DecodeFound(before.OldURLs)
		if err != nil {
			return false, migrate.NewStateError(err)
		}
		fields, err := p.TableFields(ctx, p.run, o.Key, nil, given)
		mayDiffer := p.remapped && (there || !r.Adopted) // adopted assets have no metadata from a source
		if err != nil || !there && fields == nil && !mayDiffer {
			return false, err
		}
		table := metadata.Found{}.With(metadata.FromTable, fields)
		if table.EncodeOf(metadata.FromTable) == before.Table && !mayDiffer {
			return false, nil
		}
		last, err := p.LastDescription(ctx, p.run, o.Key)
		if err != nil {
			return false, err
		}
		said, _, err := p.Say(o, last.Found.With(metadata.FromTable, fields))
		return said.Over(last.Base).Encode() != last.Text, err
	}, known
}
