// Package collect collects the metadata of an object from the source, the content, sidecars and the
// table of the user. It only reads. Package plan uses it if a decision depends on metadata, package
// apply before an upload.
package collect

import "assetferry/migrate"

// A Collector finds out the metadata of objects.
type Collector struct {
	migrate.Deps
	// Sidecarless means that the source has no sidecars, so none are looked up.
	Sidecarless bool
}

// New returns a Collector with the dependencies of the engine.
func New(d migrate.Deps) *Collector { return &Collector{Deps: d.WithDefaults()} }
