package sources

import "context"

// A Structured source knows its categories, and not only by the names in keys; see
// Traits.Categories.
type Structured interface {
	// Structure tells all categories, also those that nothing is in.
	Structure(ctx context.Context) ([]Category, error)
}

// A Category is one at the source.
type Category struct {
	Segment    string // the first of the keys in it
	Name       string // what it is called; several may have one name
	Private    bool   // its files are not for everybody who has their address
	Extensions []string
}
