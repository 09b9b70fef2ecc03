package aiservice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/standin"
)

// slowEventInterval is the event interval for the fault slow.
const slowEventInterval = 200 * time.Millisecond

// eventInterval returns the time between two events of a response.
func (s *Server) eventInterval(c *call) time.Duration {
	if c.fault.Stream != fault.Slow {
		return s.options.EventInterval
	}
	if c.fault.Delay > 0 {
		return c.fault.Delay
	}
	return slowEventInterval
}

// ended adds the last event, or that of the fault of the call. failure is the data of an error
// event.
func (s *Server) ended(c *call, events []event, failure fields) []event {
	middle := (len(events) + 1) / 2
	switch {
	case c.fault.Stream == fault.Error:
		return append(events[:middle], event{"error", failure})
	case c.fault.Stream == fault.Cut:
		return events[:middle]
	case c.fault.Stream == fault.NoDone || s.options.NoDone:
		return events
	}
	return append(events, event{"done", fields{}})
}

// stream sends events. The last one waits until the reply is stored.
func (c *call) stream(events []event, kept <-chan struct{}) error {
	h := c.W.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	c.W.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(c.W)
	for i, e := range events {
		if i > 0 && !standin.Pause(c.R.Context(), c.server.eventInterval(c)) {
			c.Abort()
		}
		if i == len(events)-1 {
			<-kept
		}
		text, err := e.encode(c.fault.Stream == fault.Envelope)
		if err != nil {
			return err
		}
		if _, err := c.W.Write(text); err != nil {
			c.Abort() // the client has disconnected
		}
		_ = flusher.Flush() // some writers do not support it
	}
	if c.fault.Stream == fault.Cut {
		c.Abort()
	}
	return nil
}

// encode returns the lines of an event, with bare data or in the envelope of an earlier version of
// the service.
func (e event) encode(envelope bool) ([]byte, error) {
	data := e.data
	if envelope {
		data = fields{"event": e.name, "data": e.data}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.name, err)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.name, text), nil
}
