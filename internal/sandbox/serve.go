package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"assetferry/internal/sandbox/library"
)

// grace is how long running requests may take to end.
const grace = 10 * time.Second

// Serve answers on a listener until the context ends, then lets running requests
// finish for a while. It closes the listener, not the server's storage.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	// No limit on reading and writing as a whole: files of several gigabytes take
	// their time. Bodies that stand still are ended one by one.
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(l net.Listener) context.Context { return library.ListeningAt(requests, l.Addr()) },
		ErrorLog:    slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve sandbox: %w", err)
	case <-ctx.Done():
	}
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer done()
	err := h.Shutdown(stopping)
	cut()
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.Close()
	}
	if err != nil {
		return fmt.Errorf("stop sandbox: %w", err)
	}
	return nil
}
