package outbound_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"assetferry/internal/outbound"
)

func TestParseBase(t *testing.T) {
	const seed = "s3cr3t"
	for _, c := range []struct {
		raw       string
		allowHTTP bool
		want      string // the origin, or a part of the error
		ok        bool
	}{
		{"https://Example.com/", false, "https://example.com:443", true},
		{"https://example.com:8443/behind/a/proxy", false, "https://example.com:8443", true},
		{"http://localhost:8000", false, "http://localhost:8000", true},
		{"http://127.0.0.1", false, "http://127.0.0.1:80", true},
		{"http://[::1]:1", false, "http://[::1]:1", true},
		{"http://example.com", true, "http://example.com:80", true},
		{"http://example.com", false, "--allow-http", false},
		{"http://localhost.example.com", false, "--allow-http", false},
		{"ftp://example.com", true, "must be https", false},
		{"https://u:" + seed + "@example.com", false, "user name or password", false},
		{"https://example.com?key=" + seed, false, "a query or a fragment is not allowed", false},
		{"https://example.com#" + seed, false, "a query or a fragment is not allowed", false},
		{"https://example.com:" + seed, false, "https://host", false},
		{"example.com/" + seed, false, "https://host", false},
		{"", false, "https://host", false},
	} {
		u, err := outbound.ParseBase(c.raw, c.allowHTTP)
		switch {
		case (err == nil) != c.ok:
			t.Errorf("%q: got %v", c.raw, err)
		case err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), seed)):
			t.Errorf("%q: got %v, want %q and no secret", c.raw, err, c.want)
		case err == nil && outbound.Origin(u) != c.want:
			t.Errorf("%q: got %s, want %s", c.raw, outbound.Origin(u), c.want)
		}
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, dog := outbound.Watch(t.Context(), time.Minute)
		time.Sleep(time.Hour) // it sleeps so far
		for range 3 {
			dog.Alive()
			time.Sleep(time.Minute - 1)
		}
		if ctx.Err() != nil {
			t.Fatalf("too soon: %v", outbound.ContextError(ctx))
		}
		dog.Alive()
		time.Sleep(time.Minute - 1)
		dog.Rest()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatalf("while resting: %v", outbound.ContextError(ctx))
		}
		dog.Alive()
		time.Sleep(time.Minute)
		synctest.Wait()
		stall, ok := errors.AsType[outbound.StallError](outbound.ContextError(ctx))
		if !ok || stall.After != time.Minute || !stall.Timeout() {
			t.Errorf("got %v", outbound.ContextError(ctx))
		}
		dog.Stop()
	})
}

func TestContextError(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if err := outbound.ContextError(ctx); !errors.Is(err, enough) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestHint(t *testing.T) {
	const origin = "https://example.com:443"
	dial := &url.Error{Op: "Get", URL: "https://example.com/s3cr3t", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	if err := outbound.WithoutURL(dial); strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("got %v", err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{dial, "no process listens at " + origin},
		{&net.OpError{Op: "dial", Err: errors.New("no route")}, origin + " is not reachable"},
		{&net.DNSError{IsNotFound: true}, "host not found"},
		{io.ErrUnexpectedEOF, ""},
	} {
		if got := outbound.Hint(c.err, origin); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", " a\n\tb\x1b[31m\x00c ": "a b [31m c", "\xff": "\uFFFD",
		strings.Repeat("é", 400): strings.Repeat("é", outbound.MaxMessage) + "…",
	} {
		if got := outbound.Printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := outbound.Plain([]byte("\n<html>")); got != "" {
		t.Errorf("got %q of a page", got)
	}
}

func TestExactly(t *testing.T) {
	for _, c := range []struct {
		content string
		size    int64
		ok      bool
	}{{"", 0, true}, {"abc", 3, true}, {"abc", 2, false}, {"abc", 4, false}, {"", 1, false}, {"a", 0, false}} {
		for _, in := range []io.Reader{strings.NewReader(c.content), iotest.DataErrReader(strings.NewReader(c.content))} {
			got, err := io.ReadAll(outbound.Exactly(in, c.size))
			if c.ok && (err != nil || string(got) != c.content) || !c.ok && (!errors.Is(err, outbound.ErrSize) || int64(len(got)) > c.size) {
				t.Errorf("%q of %d: got %q, %v", c.content, c.size, got, err)
			}
		}
	}
}

func TestConnectFailure(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "connection refused"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Name: "a.invalid", Err: "no such host", IsNotFound: true}}, "host a.invalid: no such host"},
		{&net.OpError{Op: "dial", Err: errors.New("no route")}, "no route"},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, ""},
		{errors.New("other"), ""},
	} {
		if got := outbound.ConnectFailure(test.err); got != test.want {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
}
