package plan

import (
	"context"

	"assetferry/migrate"
	"assetferry/migrate/plan/identical"
)

// A finding is a result of a pass that later passes need.
type finding string

// Findings that are handed over in memory, each of a type of its own.
const (
	theListing        finding = "listing"        // see listing
	theDeleted        finding = "deleted"        // see deletedCount
	thePlaces         finding = "places"         // see placements
	theFollowed       finding = "followed keys"  // see followedKeys
	theUnread         finding = "unread sizes"   // see unreadSizes
	theClaimed        finding = "claimed"        // see claimedAssets
	theHeldDeletes    finding = "held deletes"   // see heldDeletes
	theMissingOwners  finding = "missing owners" // see lostOwners
	theCursor         finding = "drift cursor"   // see driftCursor
	theDuplicateNames finding = "doubled names"  // see doubledNames
	theViolations     finding = "violations"     // see violations
)

// Findings that are in the items of the run.
const (
	stagedItems          finding = "items: staged"                           // not decided so far
	absentItems          finding = "items: absent"                           // of objects that are not listed any more
	possiblyChangedItems finding = "items: possibly changed"                 // only their contents show it
	touchedItems         finding = "items: touched"                          // look changed, and have the content they had
	createItems          finding = "items: create"                           // new objects
	changeItems          finding = "items: replace, update metadata or move" // changes to assets that are there
	trashItems           finding = "items: trash"                            // assets that will be trashed
)

// A handover contains the findings of passes. No pass gets all of it: passes gives each only the
// findings that it declares.
type handover struct {
	listing  *listing
	deleted  *deletedCount
	places   *placements
	followed followedKeys
	unread   unreadSizes
	claimed  claimedAssets
	held     *heldDeletes
	lost     missingOwners
	cursor   *driftCursor
	doubled  *duplicateNames
	violated *violations
}

func newHandover(p *planning) *handover {
	return &handover{
		listing: &listing{}, deleted: &deletedCount{}, places: &placements{planning: p, containers: map[migrate.Place]bool{}},
		followed: followedKeys{}, unread: unreadSizes{}, claimed: claimedAssets{}, held: &heldDeletes{}, lost: missingOwners{},
		cursor: &driftCursor{}, doubled: &duplicateNames{}, violated: &violations{},
	}
}

// A pass is one step of a plan.
type pass struct {
	name    string
	reads   findings // findings of earlier passes
	updates findings // the same, and changes it
	writes  findings
	step    interface {
		do(ctx context.Context) error
	}
}

type findings = []finding

// passes are the steps of a plan in their order, with what each reads, changes and writes. A pass
// gets only those parts of the handover that it declares here; tests check that. Decisions go into
// the items of the run, where later passes find them.
func (p *planning) passes(h *handover) []pass {
	var (
		out         = &decisions{planning: p}
		object      = &decider{planning: p, places: h.places}
		lost        = &changedOwners{p, out, object, h.lost}
		successions = &successions{p, h.places, h.followed}
		beside      = &placeComparer{p, h.claimed}
	)
	return []pass{
		{name: "list the source", writes: findings{theListing, theDeleted, theUnread, thePlaces, stagedItems, absentItems, possiblyChangedItems, touchedItems, createItems, changeItems},
			step: &walk{staging: &staging{planning: p, decider: object, listing: h.listing}, deleted: h.deleted, unread: h.unread}},
		// Objects and sidecars.
		{name: "find sidecars", reads: findings{theListing}, updates: findings{stagedItems},
			step: &possibleSidecars{p, out, h.listing}},
		{name: "decide first", reads: findings{theListing, stagedItems}, updates: findings{thePlaces}, writes: findings{theFollowed, theClaimed, absentItems, possiblyChangedItems, touchedItems, createItems, changeItems},
			step: &firstDecisions{planning: p, decisions: out, decider: object, listing: h.listing, followed: h.followed, claimed: h.claimed}},
		// Changes at the source.
		{name: "compare contents", updates: findings{possiblyChangedItems}, writes: findings{touchedItems, changeItems},
			step: &contentCheck{p, out}},
		{name: "compare metadata of touched objects", updates: findings{touchedItems}, writes: findings{changeItems},
			step: &touches{p, out}},
		{name: "follow sidecars", reads: findings{theListing, createItems}, updates: findings{changeItems},
			step: &changedSidecars{p, out, h.listing}},
		{name: "part aliases", updates: findings{absentItems, changeItems, thePlaces, theFollowed}, writes: findings{createItems},
			step: &aliasDetachments{detachment{planning: p, decisions: out, decider: object}, successions}},
		{name: "match moves", updates: findings{absentItems, createItems, thePlaces, theFollowed, theUnread}, writes: findings{changeItems},
			step: &moves{p, out, successions, h.unread}},
		{name: "match recased keys", updates: findings{absentItems, createItems, thePlaces, theFollowed}, writes: findings{changeItems},
			step: &recasings{p, out, h.places, h.followed}},
		{name: "skip other waves", updates: findings{absentItems},
			step: &otherWaves{p, out}},
		{name: "free names", reads: findings{createItems}, updates: findings{changeItems},
			step: &availableNames{p, out}},
		{name: "expire", reads: findings{createItems, theUnread}, updates: findings{absentItems}, writes: findings{trashItems, theHeldDeletes},
			step: &expiry{p, out, h.unread, h.held}},
		// Changes by users at the destination.
		{name: "check assets", updates: findings{changeItems, trashItems, thePlaces}, writes: findings{createItems, theMissingOwners},
			step: &assetCheck{p, out, object, lost}},
		{name: "find drift", reads: findings{theFollowed}, updates: findings{changeItems, thePlaces}, writes: findings{createItems, theMissingOwners, theCursor},
			step: &drift{p, out, object, lost, h.followed, h.cursor}},
		{name: "place", updates: findings{createItems, changeItems, theClaimed, theFollowed, theMissingOwners, thePlaces, theDeleted}, writes: findings{theDuplicateNames},
			step: &placing{
				existingAssets: &existingAssets{planning: p, decisions: out, placeComparer: beside, places: h.places, doubled: h.doubled, vanished: map[string]bool{}},
				collisions:     &collisions{p, out, beside, successions, h.deleted},
				names:          &foreignNames{p, out},
				joining:        &joining{p, out, object, lost, identical.NewComparer(p.Source, p.Watch, p.Concurrency)},
			}},
		// Limits to the plan.
		{name: "only adopt", updates: findings{createItems, thePlaces},
			step: &adoptOnly{p, out, h.places}},
		{name: "compare with the approved plan", reads: findings{thePlaces}, updates: findings{createItems, changeItems, trashItems},
			step: &approvalCheck{p, out, h.places}},
		{name: "keep shared contents", reads: findings{createItems}, updates: findings{changeItems},
			step: &neededContents{p, out}},
		{name: "find older versions", reads: findings{createItems, changeItems},
			step: &olderVersions{planning: p}},
		{name: "check safety", reads: findings{changeItems, theHeldDeletes, theCursor}, writes: findings{theViolations},
			step: &checking{p, h.held, h.cursor, h.violated}},
		{name: "finish", reads: findings{createItems, changeItems, trashItems, thePlaces},
			step: &finishing{p, h.places}},
	}
}

// placing finds a place, or an asset to share, for each object that will be created. Objects that
// cannot share an asset get a place of their own.
type placing struct {
	existingAssets *existingAssets
	collisions     *collisions
	names          *foreignNames
	joining        *joining
}

func (p *placing) do(ctx context.Context) error {
	for again := true; again; {
		for _, do := range []func(context.Context) error{p.existingAssets.do, p.collisions.do, p.names.do, p.joining.do} {
			if err := do(ctx); err != nil {
				return err
			}
		}
		var err error
		if again, err = p.joining.confirmOwners(ctx); err != nil {
			return err
		}
	}
	return nil
}
