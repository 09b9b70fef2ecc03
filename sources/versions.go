package sources

import (
	"context"
	"iter"
)

// A Historian is a source that can keep older versions of its objects.
type Historian interface {
	// KeepsVersions reports whether the source has older versions of objects, or may have some. It
	// makes at most one request.
	KeepsVersions(ctx context.Context) (bool, error)

	// Versions lists the older versions of a listed object, the newest first, without the current
	// one. Each has the key of the object and its own Version, with which Open reads it. A version
	// that cannot be read has an Obstacle. Deletions are no versions. At most one error is yielded, as
	// the last value and with a zero Object. Callers that ask for objects in the order of their keys
	// cause fewer requests.
	Versions(ctx context.Context, o Object) iter.Seq2[Object, error]
}

// A VersionCounter is a Historian that can count all older versions without a request.
type VersionCounter interface {
	// CountVersions returns the number of objects with older versions, and of these versions.
	CountVersions(ctx context.Context) (objects, older int64, err error)
}

// A VersionOrder is a Historian whose versions have an order but no times.
type VersionOrder interface {
	// IsNewer reports whether a version is newer than another version of the same object, or cannot be
	// compared with it. Only the first one has a Version: the other one is known from its listing as
	// the object itself.
	IsNewer(version, than Object) bool
}

// A VersionChecksums is a Historian that knows the contents of its versions, while their times do not
// compare with that of the object.
type VersionChecksums interface {
	// Checksum returns the SHA-256 of a version in hexadecimal digits, "" if it is unknown.
	Checksum(version Object) string
}
