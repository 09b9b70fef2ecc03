package sandbox

import (
	"context"
	"fmt"
	"net"

	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/standin"
)

// Serve serves on a listener until the context ends, and then gives requests in progress some time.
// It closes the listener, but not the storage.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	about := func(ctx context.Context) context.Context { return library.ListeningAt(ctx, l.Addr()) }
	if err := standin.Serve(ctx, l, s, s.options.Log, about); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	return nil
}
