package sources

import "context"

// A Describer is a reader of content that also knows what was stored with it. What
// Open returns is one where Traits.Describes says so.
type Describer interface {
	// Describe tells what is kept with the version that is being read. It is asked
	// before the first Read, and fails as Open does. What the answer to Open brought
	// along costs nothing; anything else costs requests, and the user asked for it.
	Describe(ctx context.Context) (Description, error)
}

// A Catalog is a source that tells what is kept with an object without reading its
// content. What it tells is what the Describer tells that Open returns, if it returns one.
type Catalog interface {
	// Describe tells what is kept with the listed version of an object, and fails as
	// Open does. It costs nothing, or a request for each object.
	Describe(ctx context.Context, o Object) (Description, error)
}

// A Description is what somebody who stored an object wrote down with it.
type Description struct {
	ContentType string              // empty if there is none
	Metadata    map[string]string   // by name, as the source gives it
	Tags        map[string]string   // nil if there are none, or they were not asked for
	Fields      map[string][]string // what the source knows to be a description, tags and so on; see package metadata
}
