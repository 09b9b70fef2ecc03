package sandbox

import (
	"context"
	"fmt"
	"net"

	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/standin"
)

// Serve answers on a listener until the context ends, then lets running requests
// finish for a while. It closes the listener, not the server's storage.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	about := func(ctx context.Context) context.Context { return library.ListeningAt(ctx, l.Addr()) }
	if err := standin.Serve(ctx, l, s, s.options.Log, about); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	return nil
}
