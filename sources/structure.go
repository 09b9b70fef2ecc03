package sources

import "context"

// A Structured source lists its categories; see Traits.Categories.
type Structured interface {
	// Structure returns all categories, including empty ones.
	Structure(ctx context.Context) ([]Category, error)
}

// A Category is a category at the source.
type Category struct {
	Segment    string // the first segment of the keys in it
	Name       string // several categories may have the same name
	Private    bool   // its URLs are not public
	Extensions []string
}
