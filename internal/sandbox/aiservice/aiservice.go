// Package aiservice is a stand-in of the AI content service: an http.Handler that
// keeps conversations with their documents, files and messages, in memory or under a
// directory, so that descriptions can be rehearsed before anything leaves for the
// service. What it answers is made up by package answer. It is written from the
// documented behaviour of the service and shares no code with any client. Where the
// behaviour is not documented it takes the stricter choice, and the comment there, or
// the table of routes, says "guess".
//
// A call is billed, and the message of the user is kept, in the moment in which the
// reply begins. From then on the reply goes on to its end, whether somebody listens or
// not, and is kept before its last event is sent.
//
// Knobs make the service slow, wrong or absent: see [Options] and [fault.Parse].
package aiservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assetferry/internal/filelock"
	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/tokens"
)

// Options say what a stand-in is like. The zero value is one in memory that knows no
// environment and so refuses every token.
type Options struct {
	// Dir is where everything is kept; it is created if missing. Empty keeps
	// everything in memory.
	Dir string
	// Environments are those that tokens may name in aud. Each is isolated, and an
	// organisation of its own.
	Environments []tokens.Environment
	// Latency is waited before every request is handled.
	Latency time.Duration
	// EventInterval is waited between two events of a stream.
	EventInterval time.Duration
	// Faults are asked in order; the first that fires decides.
	Faults []fault.Rule
	// Limits are enforced; default none.
	Limits Limits
	// Credits is the allowance of each environment; 0 has no end.
	Credits float64
	// OnPremises leaves out what only the hosted service has: billing and limits.
	OnPremises bool
	// RefuseAdmin has ai:admin grant nothing, which one source says of installations
	// on premises, and another one does not.
	RefuseAdmin bool
	// Models are those on offer; default [DefaultModels].
	Models []Model
	// TokenAge is the oldest iat of a token accepted; default 24 h, as a sibling of
	// the service has it.
	TokenAge time.Duration
	// Profile says what the stand-in does where the documentation is silent.
	Profile Profile
	// NoDone leaves out the event that ends a stream, as some versions do.
	NoDone bool
	// FetchFrom are the network addresses (host:port) that web pages and pictures are fetched
	// from, besides those of this machine. Everything else is refused, so that nobody
	// can reach through the stand-in what only its machine can reach.
	FetchFrom []string
	// FetchAnywhere lifts that.
	FetchAnywhere bool
	// Log receives what goes wrong inside; default is nowhere.
	Log *slog.Logger
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// A Server is a running stand-in. It is an http.Handler, safe for concurrent use.
type Server struct {
	options Options
	tokens  tokenRules
	routes  []route
	router  standin.Router // by the index of the route
	faults  *fault.Set
	stats   *standin.Stats
	limits  *limiter
	fetcher *fetcher
	deleted graveyard
	store   *store
	started time.Time
	lock    *filelock.Lock // nil: in memory

	closing context.Context // ends when replies must not wait any more
	hurry   context.CancelFunc
	replies replies
	closed  atomic.Bool
}

// New starts a stand-in. If another one uses the directory, the error is
// [datadir.ErrInUse]. Close must be called.
func New(o Options) (*Server, error) {
	o.TokenAge = cmp.Or(o.TokenAge, 24*time.Hour)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Models == nil {
		o.Models = DefaultModels()
	}
	if o.OnPremises {
		o.Limits = Limits{}
	}
	s := &Server{options: o, stats: standin.NewStats(), routes: offered(o.OnPremises)}
	s.limits, s.fetcher, s.started = newLimiter(o.Limits, o.Now), newFetcher(o.FetchFrom, o.FetchAnywhere), o.Now()
	s.closing, s.hurry = context.WithCancel(context.Background())
	if err := s.open(); err != nil {
		s.hurry()
		return nil, fmt.Errorf("start the AI sandbox: %w", errors.Join(err, s.release()))
	}
	return s, nil
}

// open checks the options and takes hold of the storage.
func (s *Server) open() (err error) {
	names := named(s.routes)
	s.router = standin.NewRouter(names)
	if s.faults, err = fault.NewSet(s.options.Faults, names, s.options.Now); err != nil {
		return err
	}
	keys := map[string]tokens.AccessKey{}
	for _, e := range s.options.Environments {
		if _, twice := keys[e.ID]; twice || e.ID == "" || e.AccessKey == "" {
			return fmt.Errorf("environment %q needs an ID and an access key", e.ID)
		}
		keys[e.ID] = e.AccessKey
	}
	s.tokens = tokenRules{keys: keys, age: s.options.TokenAge, noAdmin: s.options.RefuseAdmin}
	if s.options.Dir == "" {
		s.store, err = openMemory()
		return err
	}
	if err := prepareDir(s.options.Dir); err != nil {
		return err
	}
	s.lock, err = filelock.Acquire(filepath.Join(s.options.Dir, "lock"))
	if errors.Is(err, filelock.ErrLocked) {
		return datadir.ErrInUse
	} else if err != nil {
		return err
	}
	s.store, err = openStore(s.options.Dir)
	return err
}

// Close ends the stand-in, after the replies that are under way. Requests still
// running fail; stop the HTTP server first.
func (s *Server) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.hurry()
	s.replies.end()
	if err := s.release(); err != nil {
		return fmt.Errorf("close the AI sandbox: %w", err)
	}
	return nil
}

// release gives back what open took, as far as it came.
func (s *Server) release() error {
	var errs []error
	if s.store != nil {
		errs = append(errs, s.store.close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Release())
	}
	return errors.Join(errs...)
}

// Serve answers on a listener until the context ends, then lets running requests
// finish for a while. It closes the listener, not the server's storage.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := standin.Serve(ctx, l, s, s.options.Log, nil); err != nil {
		return fmt.Errorf("the AI sandbox: %w", err)
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(standin.MarkHeader, "assetferry")
	switch {
	case standin.LetBrowsersIn(w, r):
	case r.URL.Path == standin.StatsPath:
		s.serveStats(w)
	default:
		s.serve(newCall(s, w, r))
	}
}

// now is the server's clock, in the precision that the service shows.
func (s *Server) now() time.Time { return s.options.Now().UTC().Truncate(time.Millisecond) }

// model finds a model that can still be used.
func (s *Server) model(id string) (Model, bool) {
	i := slices.IndexFunc(s.options.Models, func(m Model) bool { return m.ID == id })
	if i < 0 || s.options.Models[i].isRemoved(s.now()) {
		return Model{}, false
	}
	return s.options.Models[i], true
}

// replies are those under way, by conversation.
type replies struct {
	mu      sync.Mutex
	running map[int64]bool
	all     sync.WaitGroup
	closed  bool
}

// begin reports false if a reply is under way in the conversation already, or if the
// server is being closed.
func (r *replies) begin(conversation int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[conversation] || r.closed {
		return false
	}
	if r.running == nil {
		r.running = map[int64]bool{}
	}
	r.running[conversation] = true
	r.all.Add(1)
	return true
}

func (r *replies) finish(conversation int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, conversation)
	r.all.Done()
}

// end waits for those that are under way, and lets no other begin.
func (r *replies) end() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.all.Wait()
}

// bearer is the token in a header, whatever the case of the scheme.
func bearer(header string) (string, bool) {
	const scheme = "bearer "
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimSpace(header[len(scheme):]), true
}
