package sources

import (
	"fmt"
	"strconv"
	"strings"
)

// A SizeError is the error of Open or Read for an object whose content is the listed version, but has
// another size than the storage lists. The content can be read with Object.
type SizeError struct {
	Listed int64
	Object Object // as Resized returns it
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("the storage lists %d bytes, and the content has %d", e.Listed, e.Object.Size)
}

// listedMark precedes the listed size in the version tag of a resized object.
const listedMark = "|listed="

// Resized returns o with the size of its content, if the storage lists another one. The version tag
// keeps the listed size.
func (o Object) Resized(size int64) Object {
	if o = o.Listed(); o.Size == size {
		return o
	}
	o.VersionTag += listedMark + strconv.FormatInt(o.Size, 10)
	o.Size = size
	return o
}

// Listed returns o as the storage lists it: the inverse of Resized.
func (o Object) Listed() Object {
	at := strings.LastIndex(o.VersionTag, listedMark)
	if at < 0 {
		return o
	}
	if size, err := strconv.ParseInt(o.VersionTag[at+len(listedMark):], 10, 64); err == nil && size >= 0 {
		o.VersionTag, o.Size = o.VersionTag[:at], size
	}
	return o
}

// ResizedLike returns a listed object with the size of a version that was read before, if the storage
// lists the same size and the same version tag.
func (o Object) ResizedLike(known Object) Object {
	if listed := known.Listed(); listed != known && listed.Size == o.Size && listed.VersionTag == o.VersionTag {
		return o.Resized(known.Size)
	}
	return o
}
