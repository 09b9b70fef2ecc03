package rclone

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// startTimeout limits the time until rclone listens. Its configuration may be on a slow network file
// system.
const startTimeout = time.Minute

// A process is one running rclone and the connection to it.
type process struct {
	*child
	log    *logTail
	client *http.Client
	base   string // the start of all URLs
	user   string // "" on a socket: its folder keeps others out, and each check costs a hash
	pass   string
	folder *socketFolder // nil if there is no socket
}

// hasSockets reports whether rclone can listen on a socket that only this account can open. On
// Windows, sockets have no such permissions.
func hasSockets(p Program) bool {
	return runtime.GOOS != "windows" && !p.Version.Before(firstWithSockets)
}

// startProcess starts rclone, and returns when it listens.
func startProcess(ctx context.Context, program Program, o Options) (*process, error) {
	p := &process{log: newLogTail(o.Redactor)}
	if err := p.start(ctx, program, o); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

func (p *process) start(ctx context.Context, program Program, o Options) error {
	failed := func(err error) error {
		return &StartError{Path: program.Path, Log: p.log.reason(3), Err: err, Try: "check whether rclone works:\n  " + program.Path + " listremotes"}
	}
	env, _ := childEnvironment(o.Environ)
	listen, env, err := p.listenOptions(program, o, withSettings(env))
	if err != nil {
		return failed(err)
	}
	args := append([]string{"rcd", "--rc-serve", "--ask-password=false", "--log-level", "NOTICE", "--rc-server-read-timeout", forever, "--rc-server-write-timeout", forever}, listen...)
	cmd := exec.Command(program.Path, args...) // not bound to ctx: a cancelled call must not end it
	cmd.Env, cmd.Stderr = env, p.log
	if p.child, err = startChild(cmd); err != nil {
		return failed(err)
	}
	served, err := p.listening(ctx)
	if err == nil {
		err = p.connect(served, o.Connections)
	}
	if err == nil {
		err = p.checkWrapper(ctx)
	}
	if _, wrapped := errors.AsType[*wrapperError](err); wrapped {
		return &StartError{Path: program.Path, Err: err, Try: hintWrapper}
	}
	if err != nil && ctx.Err() == nil {
		return failed(err)
	}
	return err
}

// poll is the interval in which a socket is tried: its existence causes no event.
const poll = 5 * time.Millisecond

// listening returns when rclone listens. Only for a port does rclone log the URL.
func (p *process) listening(ctx context.Context) (served string, err error) {
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	var tick <-chan time.Time
	if p.folder != nil {
		ticker := time.NewTicker(poll)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case served := <-p.log.serving:
			return served, nil
		case <-tick:
			if c, err := p.dialSocket(ctx); err == nil {
				return "", c.Close()
			}
		case <-p.done:
			return "", p.endReason()
		case <-limit.C:
			return "", fmt.Errorf("it did not listen within %s", startTimeout)
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func (p *process) dialSocket(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", p.folder.socket())
}

// forever is longer than any transfer: the default of rclone cuts off after an hour.
const forever = "8760h"

func (p *process) endReason() error {
	if p.err == nil {
		return errors.New("it ended at once")
	}
	return fmt.Errorf("it ended: %w", p.err)
}

// listenOptions returns the flags that make rclone listen, and its environment. No password is among
// the flags, because other users see these.
func (p *process) listenOptions(program Program, o Options, env []string) (flags, environ []string, err error) {
	if hasSockets(program) {
		if p.folder, err = newSocketFolder(o.Environ); err != nil {
			return nil, nil, fmt.Errorf("create the folder for its socket: %w", err)
		}
		return []string{"--rc-no-auth", "--rc-addr", "unix://" + filepath.ToSlash(p.folder.socket())}, env, nil
	}
	p.user, p.pass = rand.Text(), rand.Text()
	p.log.redactor.Token(p.pass)
	return []string{"--rc-addr", "127.0.0.1:0"}, append(env, "RCLONE_RC_USER="+p.user, "RCLONE_RC_PASS="+p.pass), nil
}

// connect prepares the client for the URL at which rclone says that it listens.
func (p *process) connect(served string, connections int) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dialSocket(ctx) }
	p.base = "http://rclone/"
	if p.folder == nil {
		u, err := url.Parse(strings.TrimSuffix(served, "/"))
		if err != nil || !isLoopback(u.Hostname()) {
			return fmt.Errorf("rclone listens at %q, which is not the loopback interface", served)
		}
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", u.Host)
		}
		p.base = "http://" + u.Host + "/"
	}
	// No proxy, and no compression: the content must arrive as it is.
	p.client = &http.Client{
		Transport:     &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: max(connections, 8)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// send sends a request. An error of the connection is an *InterruptedError.
func (p *process) send(req *http.Request) (*http.Response, error) {
	res, err := p.do(req)
	if err != nil {
		return nil, p.interrupted(req, err)
	}
	res.Body = &body{res.Body, p, req}
	return res, nil
}

func (p *process) do(req *http.Request) (*http.Response, error) {
	if p.user != "" {
		req.SetBasicAuth(p.user, p.pass)
	}
	return p.client.Do(req)
}

// answers reports whether rclone still answers: it does not when it ends.
func (p *process) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, logDelay)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"rc/noop", strings.NewReader("{}"))
	if err != nil {
		return false
	}
	res, err := p.do(req)
	return err == nil && res.Body.Close() == nil
}

// logDelay is the time that the last lines of a dying rclone need to arrive.
const logDelay = 2 * time.Second

// interrupted returns the error of a connection. The request itself may have been cancelled.
func (p *process) interrupted(req *http.Request, err error) error {
	ctx := req.Context()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL, which contains the name of the object
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && p.answers(ctx) { // the storage sent less than rclone announced
		_, name, _ := strings.Cut(req.URL.Path, "]/")
		return &InterruptedError{Log: p.log.unsent(name), Err: err, Runs: true}
	}
	timer := time.NewTimer(logDelay)
	defer timer.Stop()
	select {
	case <-p.done:
		return &InterruptedError{Log: p.lastWords(2), Err: err}
	case <-timer.C:
		return &InterruptedError{Err: err}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lastWords returns why rclone ended: the last n lines of its log, or its exit code or signal.
func (p *process) lastWords(n int) string {
	text := p.log.reason(n)
	if text == "" && p.hasEnded() && p.err != nil {
		text = p.err.Error()
	}
	return text
}

// quitTimeout limits the request to end.
const quitTimeout = 2 * time.Second

// end ends rclone, if it runs, and removes its folder.
func (p *process) end() {
	if p.client != nil && needsQuit {
		p.quit()
	}
	if p.child != nil {
		p.stop()
	}
	if p.client != nil {
		p.client.CloseIdleConnections()
	}
	if p.folder != nil {
		_ = p.folder.remove() // the next start removes it otherwise
	}
}

// needsQuit is set where no signal reaches rclone: on Windows, and if its supervisor was killed.
const needsQuit = runtime.GOOS != "linux"

func (p *process) quit() {
	ctx, cancel := context.WithTimeout(context.Background(), quitTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"core/quit", nil)
	if err != nil {
		return
	}
	if res, err := p.send(req); err == nil {
		_ = res.Body.Close()
	}
}
