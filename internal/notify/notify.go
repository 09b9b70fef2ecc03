// Package notify sends a JSON object to webhooks when a run starts, and another when it ends.
//
// Notifications never block a run: the first is sent while the run continues, the last has a time
// limit, and failed notifications only lead to a line in the log. URLs of webhooks often contain
// credentials, so only their scheme and host are shown.
package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// An Event is the event of a notification.
type Event string

// The events of a run: it has a start, and one of the others.
const (
	Start   Event = "start"
	Success Event = "success"
	Failure Event = "failure"
)

// schema is the version of messages. Fields may be added under the same version; a changed meaning
// needs the next one.
const schema = 1

// A Message is the body of a notification. Unknown fields are omitted, and those about the result
// are only sent at the end.
type Message struct {
	Event       Event            `json:"event"`
	Version     int              `json:"version"`
	Time        string           `json:"time"` // RFC 3339, UTC
	Text        string           `json:"text"` // the result in one line, for chats
	Tool        string           `json:"tool"` // assetferry and its version
	Command     string           `json:"command"`
	Job         string           `json:"job,omitempty"`
	Source      string           `json:"source,omitempty"`
	Destination string           `json:"destination,omitempty"`
	Run         string           `json:"run,omitempty"`
	Exit        *int             `json:"exit,omitempty"`
	Class       string           `json:"class,omitempty"` // of the exit code, unless it is 0
	Message     string           `json:"message,omitempty"`
	Hint        string           `json:"hint,omitempty"`
	Actions     map[string]int64 `json:"actions,omitempty"`
	States      map[string]int64 `json:"states,omitempty"`
	Bytes       *int64           `json:"bytes,omitempty"`
	Seconds     *float64         `json:"seconds,omitempty"`
	Report      string           `json:"report,omitempty"` // the command that shows the report
}

// line returns the text of a message.
func (m Message) line() string {
	text := "assetferry"
	for _, part := range []string{m.Command, m.Job} {
		if part != "" {
			text += " " + part
		}
	}
	text += ": " + string(m.Event)
	if m.Exit != nil && *m.Exit != 0 {
		text += fmt.Sprintf(" (exit code %d, %s)", *m.Exit, m.Class)
	}
	if m.Message != "" {
		text += ": " + m.Message
	}
	return text
}

const (
	// attempts is the maximum number of attempts for a message.
	attempts = 3
	// answer is the time limit of one attempt.
	answer = 10 * time.Second
	// pause is the first pause between attempts; the next one is twice as long.
	pause = time.Second
	// patience is the time limit for all notifications at the end of a run.
	patience = 15 * time.Second
	// lateStart is the part of it for a start notification that is not sent yet.
	lateStart = 4 * time.Second
)

// Options are the choices of New.
type Options struct {
	Targets   []Target
	TLS       *tls.Config // nil: the defaults of the system
	AllowHTTP bool        // allow plain HTTP to other hosts
	UserAgent string
	Redact    func(string) string // removes secrets from the text; nil changes nothing
}

// A Notifier sends the notifications of one run.
type Notifier struct {
	hooks     []*hook
	client    *http.Client
	userAgent string
	redact    func(string) string
}

// A hook is a target and the progress of the notification about the start.
type hook struct {
	Target
	giveUp context.CancelFunc // of the start
	sent   chan struct{}      // closed when the start is sent or has failed
	err    error              // of the start; read once sent is closed
}

// New returns a notifier. It does not send anything yet.
func New(o Options) (*Notifier, error) {
	n := &Notifier{userAgent: o.UserAgent, redact: o.Redact, client: &http.Client{
		CheckRedirect: outbound.FollowRedirects(maxRedirects, stayAtHost),
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: outbound.MaxHeader},
	}}
	for _, t := range o.Targets {
		if err := t.checkScheme(o.AllowHTTP); err != nil {
			return nil, err
		}
		n.hooks = append(n.hooks, &hook{Target: t})
	}
	return n, nil
}

// Start sends the notification about the start in the background.
func (n *Notifier) Start(ctx context.Context, m Message) {
	for _, h := range n.hooks {
		if !h.wants(m.Event) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		h.giveUp, h.sent = cancel, make(chan struct{})
		go func() {
			defer close(h.sent)
			h.err = n.send(ctx, h.Target, m)
		}()
	}
}

// Finish sends the notification about the end, after the one about the start, even if the context is
// cancelled. It returns an error for each failed message.
func (n *Notifier) Finish(ctx context.Context, m Message) []error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	ended := make(chan []error)
	for _, h := range n.hooks {
		go func() { ended <- h.finish(ctx, n, m) }()
	}
	var errs []error
	for range n.hooks {
		errs = append(errs, <-ended...)
	}
	return errs
}

func (h *hook) finish(ctx context.Context, n *Notifier, m Message) (errs []error) {
	if h.sent != nil {
		late := time.AfterFunc(lateStart, h.giveUp)
		<-h.sent
		late.Stop()
		h.giveUp()
		if h.err != nil {
			errs = append(errs, h.err)
		}
	}
	if h.wants(m.Event) {
		if err := n.send(ctx, h.Target, m); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// send sends a message, and retries it after temporary errors.
func (n *Notifier) send(ctx context.Context, t Target, m Message) error {
	m.Version, m.Text = schema, m.line()
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if n.redact != nil {
		body = []byte(n.redact(string(body)))
	}
	for try, wait := 1, pause; ; try, wait = try+1, 2*wait {
		err := n.post(ctx, t, body)
		if err == nil {
			return nil
		}
		if try == attempts || !isTransient(err) || retry.Sleep(ctx, wait) != nil {
			return fmt.Errorf("cannot send notification %q to %s: %w", m.Event, t, t.hide(err))
		}
	}
}

// post sends a message once.
func (n *Notifier) post(ctx context.Context, t Target, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", n.userAgent)
	resp, err := n.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return &statusError{resp.StatusCode}
	}
	return nil
}

// A statusError is an error status. Its text does not contain the response, which may contain the
// URL.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
}

// isTransient reports whether another attempt may succeed.
func isTransient(err error) bool {
	if errors.Is(err, errRedirect) || errors.Is(err, outbound.ErrRedirects) || errors.Is(err, outbound.ErrDowngrade) {
		return false
	}
	e, ok := errors.AsType[*statusError](err)
	return !ok || e.code >= 500 || slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, e.code)
}
