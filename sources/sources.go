// Package sources defines a source of digital assets: an ordered, resumable listing of objects, and
// a way to open exactly the listed object. Adapters are in the packages below it. Package
// sourcetest has the tests that each of them must pass.
package sources

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// A Source lists objects and opens them. Its methods may be called from
// several goroutines at once.
type Source interface {
	// Traits returns properties that the engine relies on. They never change.
	Traits() Traits

	// Objects lists every object whose key is greater than after; all of them
	// if after is empty. It guarantees:
	//
	//   - Keys ascend strictly by bytes. So no key is repeated, and the last key
	//     is enough to resume the listing.
	//   - At most one error is yielded, as the last value and with a zero Object.
	//     Then the listing is incomplete.
	//   - An unreadable entry is no error of the listing: it is an Object with an
	//     Obstacle, and the listing continues.
	//   - When the loop ends early, everything is released, and no goroutine
	//     outlives the loop.
	//   - On cancellation, the error is context.Cause(ctx).
	//   - Each call lists the source as it is at that time.
	//
	// An error that satisfies errors.Is(err, fs.ErrNotExist) means that the
	// source itself is missing.
	Objects(ctx context.Context, after Key) iter.Seq2[Object, error]

	// Open reads the content of a listed object from offset, which is between 0
	// and the object's size. It reads the listed version or fails: with
	// ErrChanged if the object has changed (a reader may notice it later), with
	// fs.ErrNotExist if it was deleted. A reader that cannot deliver all bytes up
	// to the listed size ends with io.ErrUnexpectedEOF or a more specific error,
	// never with io.EOF.
	Open(ctx context.Context, o Object, offset int64) (io.ReadCloser, error)
}

// Traits are properties of a source. The engine depends on them, and not on the adapter.
type Traits struct {
	// Precision is the resolution of Object.Time; 0 if times are unknown.
	Precision time.Duration
	// PinsVersions means that Open reads the listed version even if the object
	// has been overwritten.
	PinsVersions bool
	// ContentTags means that a version tag of 32 hexadecimal digits is computed from the content.
	// Objects of the same size with the same tag are identical. Objects with different tags, or
	// with tags of another form, may still be identical: the content may have been encrypted.
	ContentTags bool
	// MetadataTags means that a version tag is the version of the metadata, a space, and the version
	// of the content. Versions of an object of the same size with the same version of the content
	// are identical. If the version of the content is unknown, the tag ends with the space.
	MetadataTags bool
	// Describes means that Open returns a Describer.
	Describes bool
	// Categories means that the first segment of a key is the name of a category.
	Categories bool
	// NoSidecars means that no object is a sidecar, whatever its name.
	NoSidecars bool
	// Complete means that all metadata of an object is stored with it or beside it. Embedded
	// metadata was evaluated before, and is ignored by default.
	Complete bool
	// Concurrency is the maximum useful number of parallel Opens; 0 if there is no limit.
	Concurrency int
}

// An Object is an object at the source. It is a comparable value: Time is in UTC and without a
// monotonic reading. A run stores all of it, so that a plan and its execution see the same listing.
type Object struct {
	Key         Key
	Size        int64     // bytes; 0 if there is an Obstacle and the size is unknown
	Time        time.Time // last change; zero if unknown
	VersionTag  string    // opaque change marker, or ""; never an MD5
	ContentType string    // "" if unknown; never guessed from the name
	Obstacle    Obstacle  // the reason why the content cannot be read, or ""
	Version     string    // ID of an older version, see Historian; "" for the current one
}

// CheckOffset returns an error for an offset at which Open cannot begin.
func (o Object) CheckOffset(offset int64) error {
	if offset < 0 || offset > o.Size {
		return fmt.Errorf("offset %d is not between 0 and %d", offset, o.Size)
	}
	return nil
}

// An Obstacle is the reason why a listed entry cannot be copied. Its text is stored in state
// databases and shown to users.
type Obstacle string

// The obstacles that adapters report.
const (
	Symlink             Obstacle = "symbolic link"
	BrokenSymlink       Obstacle = "symbolic link that is broken or leads out of the source"
	Special             Obstacle = "not a regular file"
	Unreadable          Obstacle = "cannot be read"
	UnreadableDirectory Obstacle = "directory cannot be read" // its key ends with "/"
	Miswritten          Obstacle = "error in the table"
	Archived            Obstacle = "in an archive storage class"
	FolderMarker        Obstacle = "folder marker" // an empty object, as consoles and tools create them
	Ambiguous           Obstacle = "several objects have this key"
	Unsized             Obstacle = "has no size" // a document of an online editor
)

// Because returns an obstacle with its reason.
func (o Obstacle) Because(why string) Obstacle { return o + ": " + Obstacle(why) }

// HidesObjects reports whether the entry may hide objects from the listing. Missing objects below it
// do not count as deleted.
func (o Obstacle) HidesObjects() bool { return o == UnreadableDirectory }

// IsFailure reports whether the entry should have been copied, unlike an entry that is skipped by its
// nature.
func (o Obstacle) IsFailure() bool {
	return o.is(Unreadable) || o == UnreadableDirectory || o == BrokenSymlink || o.IsMiswritten()
}

// IsMiswritten reports whether the table is wrong, and not the object.
func (o Obstacle) IsMiswritten() bool { return o.is(Miswritten) }

// is reports whether an obstacle is of a kind, with or without its reason.
func (o Obstacle) is(kind Obstacle) bool {
	return o == kind || strings.HasPrefix(string(o), string(kind)+": ")
}
