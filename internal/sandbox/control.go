package sandbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"assetferry/internal/sandbox/tokens"
)

// A Control talks to a running sandbox: it asks how it is, and stops it. No process is ever
// killed. A sandbox obeys who has its access key, and shows that it has it, too; so neither
// another sandbox nor another program that has the port by now can be meant by mistake. The
// key itself is never sent, and what is sent is of use for one order, at one address, for a
// minute.
type Control struct {
	URL string // of the sandbox, such as http://127.0.0.1:8080
	Key tokens.AccessKey
	Now func() time.Time
}

// A Status is what a sandbox says of itself.
type Status struct {
	Process int    `json:"process"`
	AI      string `json:"ai,omitempty"`      // address of the AI content service; empty: there is none
	Library string `json:"library,omitempty"` // address of the page, with a new key; empty: there is none
}

// ErrNotRunning says that no sandbox with the key answers at the address.
var ErrNotRunning = errors.New("no sandbox with this access key answers there")

const (
	controlPath   = "/_sandbox/control/"
	controlWindow = time.Minute
	controlProof  = "X-Sandbox-Proof"
)

// Status asks a sandbox how it is.
func (c Control) Status(ctx context.Context) (s Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s, c.order(ctx, "status", &s)
}

// Stop ends a sandbox, and returns when it has ended: another one may have its port and its
// folder at once.
func (c Control) Stop(ctx context.Context) error {
	var s Status
	err := c.order(ctx, "stop", &s)
	if ctx.Err() != nil {
		return fmt.Errorf("it was told to stop and has not ended: %w", context.Cause(ctx))
	}
	return err
}

// order gives an order and reads the answer, which may go on for as long as ctx.
func (c Control) order(ctx context.Context, order string, into *Status) error {
	at, err := url.Parse(c.URL)
	if err != nil {
		return err
	}
	stamp := strconv.FormatInt(c.Now().Unix(), 10) + "." + rand.Text()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.Host+controlPath+order, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Sandbox "+stamp+"."+controlMAC(c.Key, "order", order, at.Host, stamp))
	client := &http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(r)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	proof := controlMAC(c.Key, "answer", order, at.Host, stamp+"\n"+string(body))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	case resp.StatusCode == http.StatusConflict:
		return errors.New("this sandbox is part of another command, and ends with it")
	case resp.StatusCode != http.StatusOK || !hmac.Equal([]byte(proof), []byte(resp.Header.Get(controlProof))):
		return ErrNotRunning
	}
	return json.Unmarshal(body, into)
}

func controlMAC(key tokens.AccessKey, words ...string) string {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(h, "assetferry sandbox control\n"+strings.Join(words, "\n"))
	return hex.EncodeToString(h.Sum(nil))
}

// serveControl answers a [Control].
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	order := strings.TrimPrefix(r.URL.Path, controlPath)
	key, stamp, ok := s.admitControl(r, order)
	switch {
	case !ok:
		http.Error(w, "not allowed", http.StatusForbidden)
		return
	case order == "stop" && s.options.Stop == nil:
		http.Error(w, "part of another command", http.StatusConflict)
		return
	case order != "stop" && order != "status":
		http.NotFound(w, r)
		return
	}
	status := Status{Process: os.Getpid()}
	if order == "status" {
		status.Library = s.LibraryURL("http://" + r.Host)
		if s.options.AI != nil {
			status.AI = s.options.AI()
		}
	}
	var body bytes.Buffer
	_ = json.NewEncoder(&body).Encode(status) // a buffer takes everything
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(controlProof, controlMAC(key, "answer", order, r.Host, stamp+"\n"+body.String()))
	if order == "stop" {
		s.stop(w, body.Bytes())
		return
	}
	_, _ = w.Write(body.Bytes()) // who has gone needs no answer
}

// stop ends the sandbox. The answer breaks off where everything is given back, or with the
// process.
func (s *Server) stop(w http.ResponseWriter, body []byte) {
	defer s.options.Stop()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.untilEnd.add(conn)
	answer := http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: w.Header(),
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: -1, Close: true,
	}
	_ = answer.Write(conn) // who has gone needs no answer
}

// An untilEnd keeps connections open until the end of what they wait for.
type untilEnd struct {
	mu    sync.Mutex
	conns []net.Conn
	ended bool
}

func (u *untilEnd) add(conn net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conns = append(u.conns, conn); u.ended {
		_ = conn.Close()
	}
}

func (u *untilEnd) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	for _, conn := range u.conns {
		_ = conn.Close() // nothing more is to be said
	}
}

// admitControl finds the access key with which an order was signed just now.
func (s *Server) admitControl(r *http.Request, order string) (key tokens.AccessKey, stamp string, ok bool) {
	signed, isOurs := strings.CutPrefix(r.Header.Get("Authorization"), "Sandbox ")
	n := strings.LastIndexByte(signed, '.')
	if r.Method != http.MethodPost || !isOurs || n < 0 {
		return "", "", false
	}
	stamp = signed[:n]
	seconds, _, _ := strings.Cut(stamp, ".")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || s.options.Now().Sub(time.Unix(at, 0)).Abs() > controlWindow {
		return "", "", false
	}
	for _, e := range s.options.Environments {
		if hmac.Equal([]byte(signed[n+1:]), []byte(controlMAC(e.AccessKey, "order", order, r.Host, stamp))) {
			return e.AccessKey, stamp, true
		}
	}
	return "", "", false
}
