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

// A Control sends orders to a running sandbox: status and stop. It never kills a process. Messages
// in both directions are signed with the access key, so no other sandbox or program on the same
// port can be affected. The key itself is never sent. A message is valid for one order, at one URL,
// for a minute.
type Control struct {
	URL string // of the sandbox, such as http://127.0.0.1:8080
	Key tokens.AccessKey
	Now func() time.Time
}

// A Status is the status of a sandbox.
type Status struct {
	Process int    `json:"process"`
	AI      string `json:"ai,omitempty"`      // URL of the AI content service; "" if it is off
	Library string `json:"library,omitempty"` // URL of the library page with a new key; "" if it is off
}

// ErrNotRunning reports that no sandbox with the key responds at the URL.
var ErrNotRunning = errors.New("no sandbox with this access key responds at the URL")

const (
	controlPath      = "/_sandbox/control/"
	controlWindow    = time.Minute
	controlSignature = "X-Sandbox-Signature"
)

// Status returns the status of a sandbox.
func (c Control) Status(ctx context.Context) (s Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s, c.order(ctx, "status", &s)
}

// Stop stops a sandbox and waits for its end, so that its port and folder are free afterwards.
func (c Control) Stop(ctx context.Context) error {
	var s Status
	err := c.order(ctx, "stop", &s)
	if ctx.Err() != nil {
		return fmt.Errorf("the sandbox received the stop request, but is still running: %w", context.Cause(ctx))
	}
	return err
}

// order sends an order and reads the response until the end of ctx.
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
	mac := controlMAC(c.Key, "answer", order, at.Host, stamp+"\n"+string(body))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	case resp.StatusCode == http.StatusConflict:
		return errors.New("this sandbox is part of another command and ends with it")
	case resp.StatusCode != http.StatusOK || !hmac.Equal([]byte(mac), []byte(resp.Header.Get(controlSignature))):
		return ErrNotRunning
	}
	return json.Unmarshal(body, into)
}

func controlMAC(key tokens.AccessKey, words ...string) string {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(h, "assetferry sandbox control\n"+strings.Join(words, "\n"))
	return hex.EncodeToString(h.Sum(nil))
}

// serveControl handles the orders of a [Control].
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
	_ = json.NewEncoder(&body).Encode(status) // a buffer accepts everything
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(controlSignature, controlMAC(key, "answer", order, r.Host, stamp+"\n"+body.String()))
	if order == "stop" {
		s.stop(w, body.Bytes())
		return
	}
	_, _ = w.Write(body.Bytes()) // the client may have disconnected
}

// stop ends the sandbox. The response ends when all resources are free, or with the process.
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
	_ = answer.Write(conn) // the client may have disconnected
}

// An untilEnd keeps connections open until the sandbox has ended.
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
		_ = conn.Close() // the end is the message
	}
}

// admitControl finds the access key that signed a recent order.
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
