package standin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// grace is the maximum time for requests in progress to end.
const grace = 10 * time.Second

// Serve serves on a listener until the context ends, and then gives requests in progress some time.
// It closes the listener. about returns the contexts of requests; it may be nil.
func Serve(ctx context.Context, l net.Listener, handler http.Handler, log *slog.Logger, about func(context.Context) context.Context) error {
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	// There is no limit on the total time of reading and writing, because files of several
	// gigabytes take long. Stalled bodies are ended individually.
	if about != nil {
		requests = about(requests)
	}
	h := &http.Server{
		Handler: handler, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
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
		return fmt.Errorf("stop serving: %w", err)
	}
	return nil
}
