package plan

import (
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// maybeSidecar marks an item that may be a sidecar, until all objects are listed that it may belong
// to.
const maybeSidecar sources.Obstacle = "may describe another object"

// situation returns what is known about a listed object before the destination is read. An approved
// plan may contain an item for it.
func (p *planning) situation(o sources.Object, m migrate.Memory, r state.Receipt, approved state.Item, known bool) migrate.Situation {
	s := migrate.Situation{Failed: failed(o), Memory: m, MetadataPending: p.lacksMetadata(r), Deleted: o.Obstacle == migrate.ObstacleAbsent}
	switch {
	case p.Approval == nil && m != migrate.MemorySame && p.isSkipped(o):
		s.Skipped = migrate.ReasonNotFailedBefore
	case p.Approval == nil:
		s.Skipped = p.Rules.SkipReason(o, p.started)
	case known && !acts(approved):
		s.Skipped = migrate.Reason(approved.Reason)
	case known:
	case m == migrate.MemorySame: // then, too, or it would have an item; to describe it was not approved
		s.MetadataPending = false
	default:
		s.Skipped = migrate.ReasonNotApproved
	}
	return s
}

// failed returns the reason why a selected object cannot be read.
func failed(o sources.Object) migrate.Reason {
	switch {
	case o.Obstacle == sources.Obstacle(migrate.ReasonMissingAtSource):
		return migrate.ReasonMissingAtSource
	case o.Obstacle.IsMiswritten():
		return migrate.ReasonTableError
	case o.Obstacle == migrate.ObstacleUnconfirmed:
		return migrate.ReasonUnconfirmedDeleted
	case o.Obstacle == sources.Ambiguous:
		return migrate.ReasonAmbiguous
	case o.Obstacle.IsFailure():
		return migrate.ReasonUnreadable
	}
	return ""
}

// lacksMetadata reports whether an asset still needs its metadata and this planner can provide it.
func (p *Planner) lacksMetadata(r state.Receipt) bool {
	return r.MetadataPending && (p.Describes || p.UsesMetadata())
}

// checkMetadata plans a metadata update if the metadata of the source changed, unless an approved
// plan contains no such update.
func (p *planning) checkMetadata(s *migrate.Situation, o sources.Object, r state.Receipt, approved bool, differs metadataComparer) (err error) {
	if p.isSkipped(o) {
		return nil
	}
	if s.Skipped != "" || s.Memory == migrate.MemoryNone || p.Approval != nil && !approved {
		return nil
	}
	if p.Rules.Sync != nil && p.Rules.Sync.RefreshMetadata {
		s.MetadataRefreshed = true
		return nil
	}
	if differs == nil {
		return nil
	}
	s.MetadataRefreshed, err = differs(o, r)
	return err
}

// sameFingerprint compares the cheap signs of a change. It ignores a sign that one side does not
// have.
func sameFingerprint(o, was sources.Object, precision time.Duration) bool {
	if o.Size != was.Size {
		return false
	}
	if o.VersionTag != "" && was.VersionTag != "" && o.VersionTag != was.VersionTag {
		return false
	}
	return o.Time.IsZero() || was.Time.IsZero() || o.Time.Sub(was.Time).Abs() < max(precision, 1)
}
