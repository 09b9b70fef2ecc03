package rclone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"assetferry/internal/pattern"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
)

// maxRestarts is how often rclone is started again after a crash.
const maxRestarts = 3

// SlowAfter is the time after which a request without a response is slow. rclone itself repeats refused
// requests to a storage with pauses, and does not report that.
const SlowAfter = 30 * time.Second

// Options are the options of a Server. The zero Options are usable, but without an environment
// rclone finds no configuration.
type Options struct {
	Environ     []string         // the environment of the user, such as os.Environ()
	Redactor    *redact.Redactor // learns the secrets in Environ; nil means a new one
	Connections int              // simultaneous requests
	Throttled   func()           // called for each error of a storage that limits requests; may be nil
	Slow        func()           // called for each request without a response for SlowAfter; may be nil
}

// A Server is an rclone that belongs to this process. Several goroutines may call its methods.
type Server struct {
	program Program
	options Options
	slow    time.Duration // see SlowAfter
	advised atomic.Bool   // see ClientAdvice

	// access is held to use the fields below. It is a channel, so that waiting for a start can be cancelled.
	access  chan struct{}
	process *process
	crashes int
	closed  bool
}

// Start starts rclone, and checks that it can read its configuration. The error of a configuration
// is a *StartError with ErrEncrypted, ErrWrongPassword or ErrConfig.
func Start(ctx context.Context, program Program, o Options) (*Server, error) {
	if o.Redactor == nil {
		o.Redactor = redact.New()
	}
	for _, entry := range o.Environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "RCLONE_") && LooksSecret(name) {
			o.Redactor.Key(value)
		}
	}
	s := &Server{program: program, options: o, slow: SlowAfter, access: make(chan struct{}, 1)}
	var err error
	if s.process, err = startProcess(ctx, program, o); err != nil {
		return nil, err
	}
	if err := s.checkConfig(ctx); err != nil {
		s.process.end()
		return nil, err
	}
	return s, nil
}

// checkConfig lets rclone read its configuration. Old versions end if that fails, new ones answer.
func (s *Server) checkConfig(ctx context.Context) error {
	_, err := s.Remotes(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	failed := &StartError{Path: s.program.Path, Err: err, Try: "check the configuration of rclone:\n  " + s.program.Path + " listremotes"}
	message := s.process.log.reason(1)
	if e, ok := errors.AsType[*Error](err); ok {
		message = e.Message
	}
	if m := unreadConfig().FindStringSubmatch(message); m != nil {
		reason := configReason(message, s.hasPassword())
		failed.Err, failed.Try = fmt.Errorf("%w: %s", reason, m[1]), configHint(reason)
		if errors.Is(reason, ErrConfig) {
			failed.Log = m[2]
		}
	}
	return failed
}

// unreadConfig is the text of rclone for a configuration that it cannot read: its path and the
// reason.
var unreadConfig = pattern.Lazy(`ailed to load config file "(.*?)": (.*)$`)

// hasPassword reports whether the user set a password for the configuration.
func (s *Server) hasPassword() bool {
	return valueOf(s.options.Environ, "RCLONE_CONFIG_PASS") != "" || valueOf(s.options.Environ, "RCLONE_PASSWORD_COMMAND") != ""
}

// Program returns the program that runs.
func (s *Server) Program() Program { return s.program }

// running returns the running rclone. After a crash it starts another one.
func (s *Server) running(ctx context.Context) (*process, error) {
	select {
	case s.access <- struct{}{}:
		defer func() { <-s.access }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.closed {
		return nil, ErrClosed
	}
	if s.process != nil && !s.process.hasEnded() {
		return s.process, nil
	}
	return s.restart(ctx)
}

func (s *Server) restart(ctx context.Context) (*process, error) {
	last := ""
	if s.process != nil {
		last = s.process.lastWords(3)
		if s.crashes < maxRestarts+1 {
			s.crashes++
		}
	}
	if s.crashes > maxRestarts {
		return nil, &StartError{s.program.Path, last, fmt.Errorf("%w: %d times", ErrTooManyCrashes, s.crashes),
			"check the memory of this machine and the log of the system; run the command again to resume"}
	}
	if s.process != nil {
		s.process.end()
		s.process = nil
	}
	next, err := startProcess(ctx, s.program, s.options)
	if err != nil {
		if ctx.Err() == nil {
			s.crashes++
		}
		return nil, err
	}
	s.process = next
	return next, nil
}

// Call calls a command of the API, such as "operations/list", with the parameters in, which become
// JSON. It returns the JSON of the response. The error of rclone is an *Error, that of a crash an
// *InterruptedError; reading returns the latter, too.
func (s *Server) Call(ctx context.Context, command string, in any) (io.ReadCloser, error) {
	parameters := []byte("{}")
	if in != nil {
		var err error
		if parameters, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	res, err := s.request(ctx, http.MethodPost, command, bytes.NewReader(parameters), http.Header{"Content-Type": {"application/json"}})
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, s.failure(command, res)
	}
	return res.Body, nil
}

// Get reads an object of the storage fs, such as "drive:photos", at the path remote. The status of
// the response is 200, 206 or 416; header may contain a Range. The errors are those of Call.
func (s *Server) Get(ctx context.Context, fs, remote string, header http.Header) (*http.Response, error) {
	path, err := objectPath(fs, remote)
	if err != nil {
		return nil, err
	}
	res, err := s.request(ctx, http.MethodGet, path, nil, header)
	if err != nil {
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusOK, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable:
		return res, nil
	}
	return nil, s.failure("", res)
}

func (s *Server) failure(command string, res *http.Response) error {
	defer func() { _ = res.Body.Close() }()
	e := failure(s.options.Redactor, command, s.hasPassword(), res)
	if e.kind == retry.Throttled && s.options.Throttled != nil {
		s.options.Throttled()
	}
	return e
}

// objectPath returns the path of an object in the URL. rclone takes the first bracket for the end of
// the storage, so the folders of the storage from a bracket on belong to the path.
func objectPath(fs, remote string) (string, error) {
	if bracket := strings.IndexByte(fs, ']'); bracket >= 0 {
		_, path, isRemote := splitConnection(strings.TrimPrefix(fs, ":"))
		if !isRemote {
			path = fs
		}
		end := len(fs) - len(path) // of the parameters
		at := end
		if bracket >= end {
			at += strings.LastIndexByte(fs[end:bracket], '/') + 1
		}
		if bracket < end || at == 0 {
			return "", &Error{Message: fs + ": rclone cannot read from a storage with ] in its parameters", kind: retry.Fatal, Is: errBracket}
		}
		fs, remote = fs[:at], fs[at:]+"/"+remote
	}
	names := strings.Split(remote, "/")
	for i, name := range names {
		names[i] = url.PathEscape(name)
	}
	return url.PathEscape("["+fs+"]") + "/" + strings.Join(names, "/"), nil
}

func (s *Server) request(ctx context.Context, method, path string, content io.Reader, header http.Header) (*http.Response, error) {
	p, err := s.running(ctx)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, content)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	if s.options.Slow != nil {
		defer time.AfterFunc(s.slow, s.options.Slow).Stop()
	}
	return p.send(req)
}

// Close ends rclone. Later calls fail with ErrClosed.
func (s *Server) Close() error {
	s.access <- struct{}{}
	defer func() { <-s.access }()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.process != nil {
		s.process.end()
	}
	return nil
}

// CloseIdleConnections closes connections that are not in use.
func (s *Server) CloseIdleConnections() {
	s.access <- struct{}{}
	defer func() { <-s.access }()
	if s.process != nil {
		s.process.client.CloseIdleConnections()
	}
}

// A body is the body of a response, which distinguishes a crash from the end.
type body struct {
	io.ReadCloser
	process *process
	request *http.Request
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.process.interrupted(b.request, err)
	}
	return n, err
}
