package sources

import "time"

// A Measured source counts the folders that it lists. Where each folder is a request, and requests are
// limited, their number decides how long a listing takes.
type Measured interface {
	// LastListing returns the last complete listing; zero if there is none.
	LastListing() Listing
	// ListedFolders returns the number of folders that the latest listing has listed so far, and of
	// those that it knows of.
	ListedFolders() (listed, known int64)
}

// A Listing is a measurement of a complete listing.
type Listing struct {
	Folders int64
	Took    time.Duration
}
