// Package faultpoint names the points in the life of an item at which a crash has a different
// effect, so that a test can end the process there. In a release build they have no effect; see
// [Hit].
package faultpoint

// Variable is the environment variable with the point at which a process built with the tag
// faultpoints dies: "name:n" is the n-th hit of the point of that name, from 1.
const Variable = "ASSETFERRY_FAULTPOINT"

// KilledMessage is printed to stderr, followed by the point, before a process kills itself at a fault
// point. It distinguishes this end from others.
const KilledMessage = "killed at fault point"

// A Point is a moment at which something has just been done.
type Point string

// The points, in the order in which a run reaches them.
const (
	Staged          Point = "staged"           // a page of the listing is durable
	Decided         Point = "decided"          // a batch of decisions is durable
	Planned         Point = "planned"          // the plan is finished
	CategoryMade    Point = "category-made"    // the category exists, but not in the state database
	Taken           Point = "taken"            // the intents of some items are durable
	FolderIntended  Point = "folder-intended"  // the intent to create a folder or a category is durable
	FolderMade      Point = "folder-made"      // the folder exists, but not in the state database
	FolderSaved     Point = "folder-saved"     // the folder is in the state database
	Opened          Point = "opened"           // an object is open, and none of it is sent
	Sent            Point = "sent"             // the upload was answered, nothing is recorded
	Described       Point = "described"        // an asset is described, that is not recorded
	Recorded        Point = "recorded"         // outcomes are durable
	VersionRecorded Point = "version-recorded" // an older version and the intent of the next one are durable
	Waited          Point = "waited"           // the retry of an item is scheduled durably
	Looked          Point = "looked"           // an unconfirmed item was looked up, and the result is not recorded
	Resent          Point = "resent"           // the intent to send an item again is durable
	Released        Point = "released"         // items that were taken and not started are released
	Finished        Point = "finished"         // the run is finished
	BackedUp        Point = "backed-up"        // the new backup of the state database has its final name
)

// All returns all points.
func All() []Point {
	return []Point{
		Staged, Decided, Planned, CategoryMade, Taken, FolderIntended, FolderMade, FolderSaved, Opened, Sent, Described,
		Recorded, VersionRecorded, Waited, Looked, Resent, Released, Finished, BackedUp,
	}
}
