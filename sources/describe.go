package sources

import "context"

// A Describer is a reader of content that also returns the metadata stored with it. If
// Traits.Describes is true, Open returns a Describer.
type Describer interface {
	// Describe returns the metadata of the version that is read. It must be called before the first
	// Read. Its errors are those of Open. Metadata beyond the response to Open needs more requests,
	// and only options of the user cause these.
	Describe(ctx context.Context) (Description, error)
}

// A Catalog is a source that returns the metadata of an object without reading its content. The
// result is the same as that of the Describer that Open returns.
type Catalog interface {
	// Describe returns the metadata of the listed version of an object. Its errors are those of Open.
	// It makes at most one request per object.
	Describe(ctx context.Context, o Object) (Description, error)
}

// A Description is the metadata stored with an object.
type Description struct {
	ContentType string              // "" if there is none
	Metadata    map[string]string   // by name, unchanged
	Tags        map[string]string   // nil if there are none, or they were not requested
	Fields      map[string][]string // fields with a known meaning; see package metadata
}
