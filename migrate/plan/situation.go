package plan

import (
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// maybeSidecar marks an item of what may be a sidecar, until all is listed that it may describe.
const maybeSidecar sources.Obstacle = "may describe another object"

// situation is what is known of a listed object before anyone looks at the
// destination. An approved plan may have an item of it.
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

// failed gives the reason why an object that is meant to be taken cannot be.
func failed(o sources.Object) migrate.Reason {
	switch {
	case o.Obstacle == sources.Obstacle(migrate.ReasonMissingAtSource):
		return migrate.ReasonMissingAtSource
	case o.Obstacle.IsMiswritten():
		return migrate.ReasonTableError
	case o.Obstacle == migrate.ObstacleUnconfirmed:
		return migrate.ReasonUnconfirmedDeleted
	case o.Obstacle.IsFailure():
		return migrate.ReasonUnreadable
	}
	return ""
}

// lacksMetadata reports whether an asset is still to be described, by who can.
func (p *Planner) lacksMetadata(r state.Receipt) bool {
	return r.MetadataPending && (p.Describes || p.UsesMetadata())
}

// update has an asset updated if the source says something else of its object,
// unless an approved plan knows nothing of that.
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

// sameFingerprint compares the cheap signs of change; a side that does not know
// a sign has no say.
func sameFingerprint(o, was sources.Object, precision time.Duration) bool {
	if o.Size != was.Size {
		return false
	}
	if o.VersionTag != "" && was.VersionTag != "" && o.VersionTag != was.VersionTag {
		return false
	}
	return o.Time.IsZero() || was.Time.IsZero() || o.Time.Sub(was.Time).Abs() < max(precision, 1)
}
