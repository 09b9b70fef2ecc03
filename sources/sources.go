// Package sources says what a source of digital assets is: an ordered,
// resumable listing of objects, and a way to open exactly the object that was
// listed. Adapters live one package below, and package sourcetest holds the law
// that each of them passes.
package sources

import (
	"context"
	"io"
	"iter"
	"strings"
	"time"
)

// A Source lists objects and opens them. Its methods may be called from
// several goroutines at once.
type Source interface {
	// Traits says what the engine may rely on. It costs nothing and never changes.
	Traits() Traits

	// Objects lists every object whose key is greater than after, all of them
	// if after is empty, and makes these promises:
	//
	//   - keys ascend strictly by bytes, so no key comes twice and the last key
	//     seen is all that is needed to go on later;
	//   - at most one error comes, it comes last and with a zero Object, and it
	//     means that the listing is not complete;
	//   - an entry that cannot be read is no error of the listing: it comes as an
	//     Object with an Obstacle, and the listing goes on;
	//   - when the loop ends early everything is released, and no goroutine
	//     outlives the loop;
	//   - on cancellation the error is context.Cause(ctx);
	//   - each call starts a new walk of the source as it is then.
	//
	// An error that satisfies errors.Is(err, fs.ErrNotExist) says that the
	// source itself is not there.
	Objects(ctx context.Context, after Key) iter.Seq2[Object, error]

	// Open reads the content of a listed object from offset, which is between 0
	// and the object's size. It reads the version that was listed or fails:
	// with ErrChanged if the object is another one by now (that may be noticed
	// only while reading), with fs.ErrNotExist if it is gone. A reader that
	// cannot deliver all bytes up to the listed size ends with
	// io.ErrUnexpectedEOF or a better reason, never with io.EOF.
	Open(ctx context.Context, o Object, offset int64) (io.ReadCloser, error)
}

// Traits are facts about a source, as data, so that the engine adapts without
// asking which adapter it talks to.
type Traits struct {
	// Precision is the resolution of Object.Time; 0 means that times are unknown.
	Precision time.Duration
	// PinsVersions says that Open reads the listed version even if the object
	// has been overwritten since.
	PinsVersions bool
	// ContentTags says that a version tag of 32 hexadecimal digits is made from the
	// content, so that objects of equal size with equal tags are equal. Different tags, and
	// tags of another form, prove nothing: the content may have been encrypted before.
	ContentTags bool
	// Describes says that what Open returns is a Describer.
	Describes bool
	// Categories says that the first segment of a key names a category, as the people
	// know it who use the source.
	Categories bool
	// NoSidecars says that every object stands for itself: none is a file that describes
	// another, whatever its name.
	NoSidecars bool
	// Complete says that all that describes an object is kept with it or beside it, as people
	// left it, so that what its content says has had its say.
	Complete bool
	// Concurrency is the most Opens at once that do the source good; 0 means
	// that it does not matter.
	Concurrency int
}

// An Object is an item at the source. It is a comparable value: Time is in UTC
// and without a monotonic reading. All of it is kept with a run, so that a plan and what
// carries it out see what was listed.
type Object struct {
	Key         Key
	Size        int64     // bytes; 0 where there is an Obstacle and the size is unknown
	Time        time.Time // last change as far as the source knows; zero if unknown
	VersionTag  string    // opaque change marker, empty if there is none; never an MD5
	ContentType string    // only if the source knows it; never guessed from the name
	Obstacle    Obstacle  // why the content cannot be taken; empty if it can
}

// An Obstacle is the reason why a listed entry cannot be taken over. Its text is
// stored in state databases and shown to people.
type Obstacle string

// The obstacles that adapters report.
const (
	Symlink             Obstacle = "symbolic link"
	BrokenSymlink       Obstacle = "symbolic link that leads nowhere or out of the source"
	Special             Obstacle = "not a regular file"
	Unreadable          Obstacle = "cannot be read"
	UnreadableDirectory Obstacle = "directory cannot be read" // its key ends with "/"
	Miswritten          Obstacle = "what the table says of it is wrong"
	Archived            Obstacle = "in an archived storage class"
	FolderMarker        Obstacle = "stands for a folder" // an empty object, as consoles and tools make them
)

// Because returns an obstacle with the reason for it.
func (o Obstacle) Because(why string) Obstacle { return o + ": " + Obstacle(why) }

// HidesObjects reports whether there may be objects behind the entry that the
// listing could not see, so that nothing may be concluded from their absence.
func (o Obstacle) HidesObjects() bool { return o == UnreadableDirectory }

// IsFailure reports whether the entry was meant to be taken and could not be,
// as opposed to an entry that is left out by its nature.
func (o Obstacle) IsFailure() bool {
	return o.is(Unreadable) || o == UnreadableDirectory || o == BrokenSymlink || o.IsMiswritten()
}

// IsMiswritten reports whether it is a list of objects that is wrong, and not the object.
func (o Obstacle) IsMiswritten() bool { return o.is(Miswritten) }

// is reports whether an obstacle is of a kind, with or without the reason for it.
func (o Obstacle) is(kind Obstacle) bool {
	return o == kind || strings.HasPrefix(string(o), string(kind)+": ")
}
