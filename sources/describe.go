package sources

import "context"

// A Describer is a source that keeps descriptions with its objects. They are no
// part of a listing, because each costs a request or more.
type Describer interface {
	// Describe tells what is kept with the listed version of an object; like Open
	// it fails with ErrChanged or fs.ErrNotExist if that is not there any more.
	Describe(ctx context.Context, o Object) (Description, error)
}

// A Description is what somebody who stored an object wrote down with it.
type Description struct {
	ContentType string            // empty if there is none
	Metadata    map[string]string // by name in lower case
	Tags        map[string]string // nil if they were not asked for
}
