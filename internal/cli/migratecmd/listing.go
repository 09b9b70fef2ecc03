package migratecmd

import (
	"context"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/sources"
)

// shortestListing is the duration from which on a listing is shown: what a shorter one measures is
// not exact, and does not matter.
const shortestListing = time.Second

// printListing prints how fast the source lists its folders, and returns the duration of its listing.
// Each run lists the source again.
func printListing(ctx context.Context, f *command.Factory, s *endpoints) time.Duration {
	measured, ok := s.source.(sources.Measured)
	if !ok {
		return 0
	}
	listing := measured.LastListing()
	if listing.Took < shortestListing {
		return 0
	}
	line := &event.Listing{Folders: listing.Folders, Seconds: event.Seconds(listing.Took)}
	f.Summary.Listing = line
	f.Out.Printf("%s", ui.ListingText(line))
	f.AdviseClient(ctx)
	return listing.Took
}
