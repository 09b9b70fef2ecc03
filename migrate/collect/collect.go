// Package collect finds out the metadata of an object: what its source says of it, what its
// content holds, what lies beside it and what the user wrote down. It reads and never writes;
// package plan asks it where that decides what has to happen, package apply before it sends.
package collect

import "assetferry/migrate"

// A Collector finds out the metadata of objects.
type Collector struct {
	migrate.Deps
	// Sidecarless says that there is no sidecar at all, so that none has to be looked for.
	Sidecarless bool
}

// New makes a Collector of what the engine works with.
func New(d migrate.Deps) Collector { return Collector{Deps: d.WithDefaults()} }
