package plan

import (
	"context"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// recasings finds new objects whose keys differ from that of a deleted object only in case or
// Unicode form.
type recasings struct {
	*planning
	*decisions
	places   *placements
	followed followedKeys
}

// do finds new objects whose key differs from that of a deleted object only in case or Unicode
// form, and whose content differs. A user who saves "Photo.jpg" again as "photo.jpg" means the same
// image. Its asset gets the new content and name, and keeps its ID and its URL. Otherwise the
// former name would block the new one.
//
// It runs after moves, which handle identical content.
func (r *recasings) do(ctx context.Context) error {
	if !r.Rules.FollowsDeletions() {
		return nil
	}
	found, err := r.State.Recased(ctx, r.run.Num, r.run.Pair.ID, string(migrate.ObstacleAbsent))
	if err != nil {
		return err
	}
	decided := map[sources.Key]bool{}
	for _, i := range found {
		if r.followed[i.PreviousKey] || decided[i.Key] || migrate.FoldName(string(i.Key)) != migrate.FoldName(string(i.PreviousKey)) {
			continue
		}
		needed, err := r.neededBy(ctx, i.PreviousKey)
		if err != nil {
			return err
		}
		if needed != "" { // the others share the former content
			continue
		}
		r.followed[i.PreviousKey], decided[i.Key] = true, true
		r.places.withdraw()
		migrate.SetDecision(&i, state.Replace, migrate.ReasonContentAndNameChanged)
		if err := r.store(ctx, i); err != nil {
			return err
		}
	}
	return r.flush(ctx)
}
