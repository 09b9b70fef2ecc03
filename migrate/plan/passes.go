package plan

import "context"

// A finding is what a pass finds out and later ones need.
type finding string

// Findings that are handed over in memory, each of a type of its own.
const (
	theListing    finding = "listing"       // see listing
	theGone       finding = "gone"          // see goneCount
	thePlaces     finding = "places"        // see placements
	theFollowed   finding = "followed keys" // see followedKeys
	theClaimed    finding = "claimed"       // see claimedAssets
	theHeld       finding = "held deletes"  // see heldDeletes
	theLost       finding = "lost owners"   // see lostOwners
	theCursor     finding = "drift cursor"  // see driftCursor
	theDoubled    finding = "doubled names" // see doubledNames
	theViolations finding = "violations"    // see violations
)

// Findings that are in the items of the run.
const (
	stagedItems  finding = "items: staged"                    // not decided so far
	absentItems  finding = "items: gone"                      // of objects that are not listed any more
	maybeItems   finding = "items: maybe changed"             // what only their contents tell
	seemingItems finding = "items: touched"                   // look changed, and have the content they had
	createItems  finding = "items: create"                    // new objects
	changeItems  finding = "items: replace, describe or move" // changes to assets that are there
	trashItems   finding = "items: trash"                     // assets that are to be trashed
)

// A pass is one step of a plan.
type pass struct {
	name   string
	reads  findings // what passes before it have written
	writes findings
	step   interface {
		do(ctx context.Context) error
	}
}

type findings = []finding

// passes are the steps of a plan in their order, each with its name, what it reads and what it
// writes. Of the handover it gets what it declares; what it decides goes into the items of the run,
// where others find it. Tests hold passes to what they declare.
func (p *planning) passes(h *handover) []pass {
	var (
		out         = &decisions{planning: p}
		object      = &decider{planning: p, places: h.places}
		lost        = &lostAssets{p, out, object, h.lost}
		successions = &successions{p, h.places, h.followed}
		beside      = &encounters{p, h.claimed}
	)
	return []pass{
		{"list the source", nil, findings{theListing, theGone, thePlaces, stagedItems, absentItems, maybeItems, seemingItems, createItems, changeItems},
			&walk{planning: p, decider: object, listing: h.listing, gone: h.gone}},
		// What is an object, and what describes one.
		{"find sidecars", findings{theListing, stagedItems}, findings{stagedItems},
			&maybeSidecars{p, out, h.listing}},
		{"decide first", findings{theListing, thePlaces, stagedItems}, findings{thePlaces, theFollowed, theClaimed, absentItems, maybeItems, seemingItems, createItems, changeItems},
			&firstDecisions{planning: p, decisions: out, decider: object, listing: h.listing, followed: h.followed, claimed: h.claimed}},
		// What happened to objects.
		{"compare contents", findings{maybeItems}, findings{seemingItems, changeItems},
			&maybes{p, out}},
		{"ask about touched objects", findings{seemingItems}, findings{changeItems},
			&touches{p, out}},
		{"follow sidecars", findings{createItems, changeItems}, findings{changeItems},
			&changedSidecars{p, out}},
		{"part aliases", findings{absentItems, changeItems, thePlaces, theFollowed}, findings{createItems, changeItems, thePlaces, theFollowed},
			&aliasPartings{parting{planning: p, decisions: out, decider: object}, successions}},
		{"match moves", findings{absentItems, createItems, thePlaces, theFollowed}, findings{createItems, changeItems, thePlaces, theFollowed},
			&moves{p, out, successions}},
		{"match recased keys", findings{absentItems, createItems, thePlaces, theFollowed}, findings{changeItems, thePlaces, theFollowed},
			&recasings{p, out, h.places, h.followed}},
		{"free names", findings{createItems, changeItems}, findings{changeItems},
			&freedNames{p, out}},
		{"expire", findings{absentItems, createItems, changeItems}, findings{trashItems, theHeld},
			&expiry{p, out, h.held}},
		// What people did at the destination.
		{"survey", findings{changeItems, trashItems, thePlaces}, findings{createItems, changeItems, thePlaces, theLost},
			&survey{p, out, object, lost}},
		{"find drift", findings{theFollowed, changeItems, thePlaces}, findings{createItems, changeItems, thePlaces, theLost, theCursor},
			&drift{p, out, object, lost, h.followed, h.cursor}},
		{"place", findings{createItems, changeItems, theClaimed, theFollowed, theLost, thePlaces, theGone}, findings{createItems, changeItems, theClaimed, theFollowed, theLost, thePlaces, theGone, theDoubled},
			&placing{
				contacts:   &contacts{planning: p, decisions: out, encounters: beside, places: h.places, doubled: h.doubled, vanished: map[string]bool{}},
				collisions: &collisions{p, out, beside, successions, h.gone},
				names:      &foreignNames{p, out},
				joining:    &joining{p, out, object, lost, &equalContents{p, map[tagBatch]tagEvidence{}}},
			}},
		// What of it is not to be done.
		{"only adopt", findings{createItems, thePlaces}, findings{createItems, thePlaces},
			&adoptOnly{p, out, h.places}},
		{"hold against the approved plan", findings{createItems, changeItems, trashItems, thePlaces}, findings{createItems, changeItems, trashItems},
			&approvalCheck{p, out, h.places}},
		{"keep needed contents", findings{createItems, changeItems}, findings{changeItems},
			&neededContents{p, out}},
		{"check safety", findings{changeItems, theHeld, theCursor}, findings{theViolations},
			&guarding{p, h.held, h.cursor, h.violated}},
		{"finish", findings{createItems, changeItems, trashItems, thePlaces}, nil,
			&finishing{p, h.places}},
	}
}
