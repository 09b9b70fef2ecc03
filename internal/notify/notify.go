// Package notify tells web addresses how a run goes: one POST with a JSON object when it
// begins, and one when it ends.
//
// It is there for people, so it never stands in the way of a run: the start is told while
// the run goes on, the end within a time of its own, and what could not be told is an error
// for the log and nothing else. Addresses of such hooks are credentials more often than
// not, so no more of them than scheme and host is ever shown.
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

// An Event is what is told of.
type Event string

// The events of a run: each has its start, and one of the others.
const (
	Start   Event = "start"
	Success Event = "success"
	Failure Event = "failure"
)

// schema is the version of a message. Fields may be added under the same version; a
// changed meaning needs the next one.
const schema = 1

// A Message is the body of a notification. What is not known, or comes with the end only,
// is left out.
type Message struct {
	Event       Event            `json:"event"`
	Version     int              `json:"version"`
	Time        string           `json:"time"` // RFC 3339, UTC
	Text        string           `json:"text"` // what matters in a line, for chats
	Tool        string           `json:"tool"` // assetferry and its version
	Command     string           `json:"command"`
	Job         string           `json:"job,omitempty"`
	Source      string           `json:"source,omitempty"`
	Destination string           `json:"destination,omitempty"`
	Run         string           `json:"run,omitempty"`
	Exit        *int             `json:"exit,omitempty"`
	Class       string           `json:"class,omitempty"` // of what ended it, unless it is done
	Message     string           `json:"message,omitempty"`
	Hint        string           `json:"hint,omitempty"`
	Actions     map[string]int64 `json:"actions,omitempty"`
	States      map[string]int64 `json:"states,omitempty"`
	Bytes       *int64           `json:"bytes,omitempty"`
	Seconds     *float64         `json:"seconds,omitempty"`
	Report      string           `json:"report,omitempty"` // the command that shows all of it
}

// line is what a person reads first.
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
	// attempts is how often a message is sent at most.
	attempts = 3
	// answer is how long one attempt may take.
	answer = 10 * time.Second
	// pause is what the first wait between attempts takes; the next one takes twice that.
	pause = time.Second
	// patience is what the end of a run waits for everything that is to be told.
	patience = 15 * time.Second
	// lateStart is how much of that is left to a start that is not told yet.
	lateStart = 4 * time.Second
)

// Options are the choices of New.
type Options struct {
	Targets   []Target
	TLS       *tls.Config // nil: as the system trusts
	AllowHTTP bool        // plain HTTP to other hosts than this one
	UserAgent string
	Redact    func(string) string // strikes secrets out of what is sent; nil leaves it as it is
}

// A Notifier tells its targets of one run.
type Notifier struct {
	hooks     []*hook
	client    *http.Client
	userAgent string
	redact    func(string) string
}

// A hook is a target and how far the start has come there.
type hook struct {
	Target
	giveUp context.CancelFunc // of the start
	told   chan struct{}      // closed when the start is told, or cannot be
	err    error              // why it could not; read once told is closed
}

// New makes a notifier. It sends nothing yet.
func New(o Options) (*Notifier, error) {
	n := &Notifier{userAgent: o.UserAgent, redact: o.Redact, client: &http.Client{
		CheckRedirect: outbound.FollowRedirects(maxRedirects, stayAtHost),
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: outbound.MaxHeader},
	}}
	for _, t := range o.Targets {
		if err := t.mayBeReached(o.AllowHTTP); err != nil {
			return nil, err
		}
		n.hooks = append(n.hooks, &hook{Target: t})
	}
	return n, nil
}

// Start tells of the start of the run, while that goes on.
func (n *Notifier) Start(ctx context.Context, m Message) {
	for _, h := range n.hooks {
		if !h.wants(m.Event) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		h.giveUp, h.told = cancel, make(chan struct{})
		go func() {
			defer close(h.told)
			h.err = n.tell(ctx, h.Target, m)
		}()
	}
}

// Finish tells of the end, after the start, whatever becomes of the context. It gives an
// error for each message that reached nobody.
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
	if h.told != nil {
		late := time.AfterFunc(lateStart, h.giveUp)
		<-h.told
		late.Stop()
		h.giveUp()
		if h.err != nil {
			errs = append(errs, h.err)
		}
	}
	if h.wants(m.Event) {
		if err := n.tell(ctx, h.Target, m); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// tell sends a message until it is taken, or that is of no use.
func (n *Notifier) tell(ctx context.Context, t Target, m Message) error {
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
			return fmt.Errorf("%s of the run was not told to %s: %w", m.Event, t, t.hide(err))
		}
	}
}

// post sends a message once.
func (n *Notifier) post(ctx context.Context, t Target, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address.String(), bytes.NewReader(body))
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

// A statusError is an answer that says no. Its text is ours: theirs may repeat the
// address.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("it answered %d %s", e.code, http.StatusText(e.code))
}

// isTransient reports whether another try may help.
func isTransient(err error) bool {
	if errors.Is(err, errLeads) || errors.Is(err, outbound.ErrRedirects) || errors.Is(err, outbound.ErrDowngrade) {
		return false
	}
	e, ok := errors.AsType[*statusError](err)
	return !ok || e.code >= 500 || slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, e.code)
}
