package plan

import "assetferry/migrate"

// A handover is what passes find out and later ones need. No pass has all of it: passes gives each
// what it declares.
type handover struct {
	listing  *listing
	gone     *goneCount
	places   *placements
	followed followedKeys
	claimed  claimedAssets
	held     *heldDeletes
	lost     lostOwners
	cursor   *driftCursor
	doubled  *doubledNames
	violated *violations
}

func newHandover(p *planning) *handover {
	return &handover{
		listing: &listing{}, gone: &goneCount{}, places: &placements{planning: p, containers: map[migrate.Place]bool{}},
		followed: followedKeys{}, claimed: claimedAssets{}, held: &heldDeletes{}, lost: lostOwners{},
		cursor: &driftCursor{}, doubled: &doubledNames{}, violated: &violations{},
	}
}
