// Package sandbox is a stand-in of the asset management service: an http.Handler that stores
// workspaces, categories, folders and assets, in memory or in a directory, so that a migration can
// be tested without the service. It is written from the documented behaviour of the service and
// shares no code with any client. For undocumented behaviour it takes the stricter choice, and the
// comment there says "guess".
//
// An upload is stored first and becomes visible with one commit, so no asset lacks its bytes. A
// request with a complete body is executed even if the client has disconnected; an incomplete body
// changes nothing.
//
// Options make the service slow, wrong or unavailable: see [Options] and [fault.Parse].
package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"assetferry/internal/sandbox/contents"
	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/rendition"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sandbox/tokens"
)

// Options configure a sandbox. The zero value is one in memory without environments, which rejects
// every token.
type Options struct {
	// Dir is the data directory; it is created if missing. Empty means in memory.
	Dir string
	// Environments are the environments that tokens may name in aud. Each is isolated.
	Environments []tokens.Environment
	// Service is the key under the auth claim; default "ckbox". Other keys in it grant nothing.
	Service string
	// Latency is the delay before every request; 0 means that of the profile.
	Latency time.Duration
	// ClockSkew is how far the server's clock is ahead: in the Date header, for the check of iat,
	// and in the times of assets.
	ClockSkew time.Duration
	// Faults are checked in order; the first one that applies is used. No response is streamed, so
	// [New] refuses rules about streams.
	Faults []fault.Rule
	// ProcessingDelay is the minimum time that an image is queued. The response to an upload
	// reports a queued image even with 0; [Server.Processed] waits for the end.
	ProcessingDelay time.Duration
	// TokenAge is the maximum age of a token by iat; default 24 h. The service limits the age, but
	// the limit is not documented: a guess.
	TokenAge time.Duration
	// Profile is the measured behaviour of a real service, where it is undocumented.
	Profile profile.Profile
	// Limits are the limits of the plan.
	Limits profile.Limits
	// Library shows the stored data at /, including private files, without a token, to browsers on
	// this machine that were opened with [Server.LibraryURL]. It requires [Server.Serve] on a
	// loopback address. Faults and latency do not apply to it, and statistics do not count it.
	Library bool
	// Stop ends the process, or the command that runs the sandbox, for [Control]; nil: the sandbox
	// cannot be stopped.
	Stop func()
	// AI returns the URL of the AI content service beside it, for [Control].
	AI func() string
	// Log receives internal errors; nil discards them.
	Log *slog.Logger
	// Now is the clock before skew; nil means time.Now.
	Now func() time.Time
}

// A Server is a running stand-in. It is an http.Handler, safe for concurrent use.
type Server struct {
	options    Options
	tokens     tokens.Rules
	routes     []route
	router     standin.Router // by index of the route
	store      *store.Store
	contents   contents.Contents
	workspaces *records.Workspaces
	faults     *fault.Set
	delays     *delays
	stats      *standin.Stats
	delivered  *delivered
	processor  *processor
	renditions *rendition.Cache
	library    *library.Pages // nil if it is off
	access     *library.Access
	unlock     func() error
	untilEnd   untilEnd // connections that requested the stop
	closed     atomic.Bool
}

// New starts a stand-in. If another one uses the directory, the error is [ErrInUse]. The caller
// must call Close.
func New(o Options) (*Server, error) {
	if _, err := o.Profile.CheckValues(); err != nil {
		return nil, fmt.Errorf("start sandbox: profile: %w", err)
	}
	o.apply(o.Profile)
	o.Service = cmp.Or(o.Service, "ckbox")
	o.TokenAge = cmp.Or(o.TokenAge, 24*time.Hour)
	o.Limits = o.Limits.WithDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, delays: newDelays(o.Latency, o.Profile), stats: standin.NewStats(), delivered: newDelivered(), routes: routesOf(o.Profile, routes())}
	names := named(s.routes)
	s.router = standin.NewRouter(names)
	var err error
	if s.faults, err = fault.NewSet(o.Faults, names, o.Now); err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("start sandbox: %w", errors.Join(err, s.release()))
	}
	if err := s.openLibrary(); err != nil {
		return nil, fmt.Errorf("start sandbox: %w", errors.Join(err, s.release()))
	}
	s.renditions = rendition.NewCache(rendition.RenditionsInMemory, s.convert)
	s.startProcessing()
	return s, nil
}

// open opens the storage and ensures that every environment has its default workspace.
func (s *Server) open() error {
	keys := make(map[string]tokens.AccessKey)
	for _, e := range s.options.Environments {
		if e.ID == "" || strings.ContainsAny(e.ID, "/?#%") || e.AccessKey == "" {
			return fmt.Errorf("environment %q: needs an access key and an ID that fits into a URL", e.ID)
		}
		if _, twice := keys[e.ID]; twice {
			return fmt.Errorf("environment %q is there twice", e.ID)
		}
		keys[e.ID] = e.AccessKey
	}
	if err := s.openStorage(); err != nil {
		return err
	}
	var err error
	if s.workspaces, err = records.LoadWorkspaces(s.store); err != nil {
		return err
	}
	for id := range keys {
		if w, ok := s.workspaces.Get(id); ok && w.Environment == id {
			continue
		} else if ok {
			return fmt.Errorf("environment %q: its ID is that of a workspace of another one", id)
		}
		w := records.Workspace{ID: id, Environment: id, Name: "Default workspace", Created: s.now()}
		if err := s.addWorkspace(w); err != nil {
			return err
		}
	}
	s.tokens = tokens.Rules{
		Keys: keys, Service: s.options.Service, Age: s.options.TokenAge,
		Workspace: s.workspaces.In,
	}
	return nil
}

// openStorage opens memory or the directory, and deletes the leftovers of a crash.
func (s *Server) openStorage() (err error) {
	if s.options.Dir == "" {
		s.contents = contents.NewMemory()
		if s.store, err = store.OpenMemory(); err != nil {
			return err
		}
		s.store.Forget = s.forget
		return nil
	}
	disk, err := contents.OpenDisk(s.options.Dir)
	if err != nil {
		return err
	}
	s.contents = disk
	if s.unlock, err = datadir.LockDir(s.options.Dir); err != nil {
		return err
	}
	if s.store, err = store.Open(s.options.Dir); err != nil {
		return err
	}
	s.store.Forget = s.forget
	if err := disk.ClearDrafts(); err != nil {
		return err
	}
	clean, err := s.store.SetClean(false)
	if err != nil || clean {
		return err
	}
	return disk.Sweep(s.store.HasContent)
}

// Close ends the stand-in. Requests in progress fail, so stop the HTTP server first.
func (s *Server) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	defer s.untilEnd.end()
	s.processor.end()
	_, err := s.store.SetClean(true)
	if err = errors.Join(err, s.release()); err != nil {
		return fmt.Errorf("close sandbox: %w", err)
	}
	return nil
}

// release closes all resources that open has opened.
func (s *Server) release() error {
	var errs []error
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.unlock != nil {
		errs = append(errs, s.unlock())
	}
	return errors.Join(errs...)
}

// now returns the time of the server, in the resolution of the service.
func (s *Server) now() time.Time {
	return s.options.Now().Add(s.options.ClockSkew).UTC().Truncate(s.options.Profile.Resolution())
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(standin.MarkHeader, "assetferry")
	switch {
	case s.library != nil && s.library.Takes(r): // first, because no other origin may read it
		s.library.ServeHTTP(w, r)
	case standin.LetBrowsersIn(w, r):
	case r.URL.Path == standin.StatsPath:
		s.serveStats(w, r)
	case strings.HasPrefix(r.URL.Path, controlPath):
		s.serveControl(w, r)
	default:
		s.serve(newCall(s, w, r))
	}
}
