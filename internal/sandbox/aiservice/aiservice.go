// Package aiservice is a stand-in of the AI content service: an http.Handler that stores
// conversations with their documents, files and messages, in memory or in a directory, so that
// descriptions can be tested without the service. Package answer invents its answers. It is written
// from the documented behaviour of the service and shares no code with any client. For undocumented
// behaviour it takes the stricter choice, and the comment there, or the table of routes, says
// "guess".
//
// A request is billed, and the message of the user is stored, when the reply begins. From then on
// the reply continues to its end, with or without a connected client, and is stored before its last
// event is sent.
//
// Options make the service slow, wrong or unavailable: see [Options] and [fault.Parse].
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

// Options configure a stand-in. The zero value is one in memory without environments, which rejects
// every token.
type Options struct {
	// Dir is the data directory; it is created if missing. Empty means in memory.
	Dir string
	// Environments are the environments that tokens may name in aud. Each is isolated, and an
	// organisation of its own.
	Environments []tokens.Environment
	// Latency is the delay before every request.
	Latency time.Duration
	// EventInterval is the delay between two events of a stream.
	EventInterval time.Duration
	// Faults are checked in order; the first one that applies is used.
	Faults []fault.Rule
	// Limits are the rate limits; default none.
	Limits Limits
	// Credits is the allowance of each environment; 0 is unlimited.
	Credits float64
	// OnPremises disables billing and limits, which only the hosted service has.
	OnPremises bool
	// RefuseAdmin makes ai:admin grant nothing, as one source says of installations on premises;
	// another one does not.
	RefuseAdmin bool
	// Models are the available models; default [DefaultModels].
	Models []Model
	// TokenAge is the maximum age of a token by iat; default 24 h, as for a sibling of the service.
	TokenAge time.Duration
	// Profile selects undocumented behaviour.
	Profile Profile
	// NoDone omits the event that ends a stream, as some versions do.
	NoDone bool
	// FetchFrom are the network addresses (host:port) from which web pages and images are fetched,
	// besides this machine. All others are refused, so that clients cannot reach through the
	// stand-in what only its machine can reach.
	FetchFrom []string
	// FetchAnywhere permits all network addresses.
	FetchAnywhere bool
	// Log receives internal errors; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Server is a running stand-in. It is an http.Handler, safe for concurrent use.
type Server struct {
	options Options
	tokens  tokenRules
	routes  []route
	router  standin.Router // by index of the route
	faults  *fault.Set
	stats   *standin.Stats
	limits  *limiter
	fetcher *fetcher
	deleted graveyard
	store   *store
	started time.Time
	lock    *filelock.Lock // nil in memory

	closing context.Context // ends when replies must no longer wait
	hurry   context.CancelFunc
	replies replies
	closed  atomic.Bool
}

// New starts a stand-in. If another one uses the directory, the error is [datadir.ErrInUse]. The
// caller must call Close.
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

// open checks the options and opens the storage.
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

// Close ends the stand-in after the current replies. Requests in progress fail, so stop the HTTP
// server first.
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

// release closes all resources that open has opened.
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

// Serve serves on a listener until the context ends, and then gives requests in progress some time.
// It closes the listener, but not the storage.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := standin.Serve(ctx, l, s, s.options.Log, nil); err != nil {
		return fmt.Errorf("the AI sandbox: %w", err)
	}
	return nil
}

// ServeHTTP answers a request.
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

// now returns the time of the server, in the resolution of the service.
func (s *Server) now() time.Time { return s.options.Now().UTC().Truncate(time.Millisecond) }

// model returns a model that is not removed.
func (s *Server) model(id string) (Model, bool) {
	i := slices.IndexFunc(s.options.Models, func(m Model) bool { return m.ID == id })
	if i < 0 || s.options.Models[i].isRemoved(s.now()) {
		return Model{}, false
	}
	return s.options.Models[i], true
}

// replies records the replies in progress, by conversation.
type replies struct {
	mu      sync.Mutex
	running map[int64]bool
	all     sync.WaitGroup
	closed  bool
}

// begin reports false if the conversation has a reply in progress, or if the server is closing.
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

// end waits for the replies in progress, and refuses new ones.
func (r *replies) end() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.all.Wait()
}

// bearer returns the token in a header. The scheme may have any case.
func bearer(header string) (string, bool) {
	const scheme = "bearer "
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimSpace(header[len(scheme):]), true
}
