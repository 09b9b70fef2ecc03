package sandbox

import "time"

// A stored says what was stored, when and by whom: a revision of an asset.
type stored struct {
	revision string
	number   int // among the revisions of the asset
	content  string
	size     int64
	digest   string
	picture  picture
	made     time.Time
	by       string // empty: not known
}
