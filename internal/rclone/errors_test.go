package rclone

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/redact"
	"assetferry/internal/retry"
	"assetferry/sources"
)

func TestFailure(t *testing.T) {
	for _, test := range []struct {
		message string
		status  int
		is      error
		class   retry.Class
		auth    bool
	}{
		{`didn't find section in config file ("nope")`, 500, ErrUnknownRemote, retry.Fatal, false},
		{"error in ListJSON: directory not found", 404, ErrDirectoryNotFound, retry.Permanent, false},
		{"error in ListJSON: directory not found", 404, fs.ErrNotExist, retry.Permanent, false},
		{"is a file not a directory", 500, ErrFile, retry.Permanent, false},
		{"failed to find object: is a directory not a file", 500, fs.ErrNotExist, retry.Permanent, false},
		{"failed to find object: object not found", 404, fs.ErrNotExist, retry.Permanent, false},
		{"couldn't find root directory ID: Get \"https://x\": couldn't fetch token: invalid_grant: maybe token expired? - try refreshing with \"rclone config reconnect drive:\"", 500, nil, retry.Fatal, true},
		{"couldn't fetch token: Post \"https://login.example/token\": dial tcp: lookup login.example: no such host", 500, ErrUnreachable, retry.Transient, false},
		{"googleapi: Error 403: User Rate Limit Exceeded, userRateLimitExceeded", 500, nil, retry.Throttled, false},
		{`Propfind "https://example.com/a/": 401 Unauthorized`, 500, nil, retry.Fatal, true},
		{"HTTP error 429 (429 Too Many Requests) returned body", 500, nil, retry.Throttled, false},
		{"Unauthorized: 401 Unauthorized", 500, nil, retry.Fatal, true},
		{"AccessDenied: Access Denied status code: 403", 500, nil, retry.Permanent, true},
		{"error in ListJSON: there were 2 undecryptable name errors. first error: a.txt: undecryptable file name detected: not an encrypted file - does not match suffix", 500, ErrUndecryptable, retry.Permanent, false},
		{"couldn't connect SSH: dial tcp: connection refused", 500, ErrUnreachable, retry.Transient, false},
		{"couldn't list files: Propfind \"http://files.example/\": dial tcp: lookup files.example on 127.0.0.53:53: no such host", 500, ErrUnreachable, retry.Transient, false},
		{"couldn't connect SMB: dial tcp 192.0.2.1:445: i/o timeout", 500, ErrUnreachable, retry.Transient, false},
		{"connectex: No connection could be made because the target machine actively refused it.", 500, ErrUnreachable, retry.Transient, false},
		{"Propfind \"https://127.0.0.1:8443/\": tls: failed to verify certificate: x509: certificate signed by unknown authority", 500, ErrCertificate, retry.Fatal, false},
		{"Propfind \"https://127.0.0.1:8443/\": x509: certificate is valid for other.example, not files.example", 500, ErrCertificate, retry.Fatal, false},
		{"Propfind \"https://127.0.0.1:8443/\": x509: certificate has expired or is not yet valid: current time 2026-11-27", 500, ErrCertificate, retry.Fatal, false},
		{"Propfind \"https://127.0.0.1:8443/\": http: server gave HTTP response to HTTPS client", 500, ErrPlainHTTP, retry.Fatal, false},
		{`panic received: fatal error: Failed to load config file "/x": unable to decrypt configuration and not allowed to ask for password`, 500, ErrEncrypted, retry.Fatal, false},
		{`Failed to load config file "/x": open /x: permission denied`, 500, ErrConfig, retry.Fatal, false},
	} {
		body := `{"error": ` + quote(test.message) + `, "status": 500}`
		res := &http.Response{StatusCode: test.status, Body: io.NopCloser(strings.NewReader(body))}
		err := failure(redact.New(), "operations/list", false, res)
		if test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: is %v", test.message, err.Is)
		}
		wrapped := &sources.Error{Op: "list", Source: "rclone:x:", Err: err}
		if class, _ := retry.Classify(wrapped); class != test.class || sources.IsAuth(wrapped) != test.auth {
			t.Errorf("%s: class %s, auth %v", test.message, class, sources.IsAuth(wrapped))
		}
		if (test.auth || test.class == retry.Throttled || test.class == retry.Fatal || test.is == ErrUnreachable) && err.Hint() == "" {
			t.Errorf("%s: no hint", test.message)
		}
	}
}

// TestNamesAreNoErrors verifies that the name of an object is not taken for the reason of an error.
func TestNamesAreNoErrors(t *testing.T) {
	for _, message := range []string{
		`couldn't list files: Propfind "http://127.0.0.1:18932/room%20401/": dial tcp 127.0.0.1:18932: connect: connection refused`,
		`Propfind "https://example.com/401/": EOF`,
		`Get "https://example.com/forbidden-city.jpg": read: connection reset by peer`,
		`open /srv/room 401/file does not exist.jpg: input/output error`,
		`failed to read "room 401/file does not exist.jpg": EOF`,
		`stat /srv/photos/unauthorized/429.jpg: input/output error`,
	} {
		res := &http.Response{StatusCode: 500, Body: io.NopCloser(strings.NewReader(`{"error": ` + quote(message) + `, "status": 500}`))}
		if err := failure(redact.New(), "", false, res); err.Class() != retry.Transient || err.IsAuth() || err.Is != nil && err.Is != ErrUnreachable {
			t.Errorf("%s: %s, %v, %v", message, err.Class(), err.IsAuth(), err.Is)
		}
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

func TestFailureWithoutJSON(t *testing.T) {
	res := &http.Response{StatusCode: 502, Status: "502 Bad Gateway", Body: io.NopCloser(strings.NewReader("a\nb"))}
	if err := failure(redact.New(), "", false, res); err.Status != 502 || err.Message != "a b" {
		t.Errorf("failure %+v", err)
	}
	res.Body = io.NopCloser(strings.NewReader(""))
	if err := failure(redact.New(), "", false, res); err.Message != "502 Bad Gateway" {
		t.Errorf("failure %+v", err)
	}
}

func TestClean(t *testing.T) {
	r := redact.New("correct-horse-battery")
	for text, want := range map[string]string{
		"the password is correct-horse-battery": "the password is [redacted]",
		`{"access_token":"abcdef123456"}`:       `{"access_token":"[redacted]"}`,
		"pass = abcdef123456 user=me":           "pass = [redacted] user=me",
		"Authorization: Bearer abcdef123456":    "Authorization: Bearer [redacted]",
		"https://me:abc@host/x?sig=abcdefghi&a": "https://me:[redacted]@host/x?sig=[redacted]&a",
		"directory not found":                   "directory not found",
	} {
		if got := clean(r, text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

func TestLogTail(t *testing.T) {
	l := newLogTail(redact.New())
	for range 3 * maxLines {
		_, _ = l.Write([]byte("2026/11/27 04:05:11 ERROR : x: failed to open\ngoroutine 11 [running]:\n\tdebug.go:1\n"))
	}
	_, _ = l.Write([]byte("2026/11/27 04:05:12 NOTICE: Serving remote control on http://127.0.0.1:41139/\n2026/11/27 04:05:13 CRITICAL"))
	_, _ = l.Write([]byte(": gone " + strings.Repeat("x", 2*maxLine) + "\n"))
	if len(l.lines) != maxLines {
		t.Errorf("%d lines", len(l.lines))
	}
	if got := l.reason(2); !strings.HasPrefix(got, "x: failed to open; ") || !strings.Contains(got, "gone xx") || len(got) > 2*maxLine {
		t.Errorf("reason: %s", got)
	}
	if url := <-l.serving; url != "http://127.0.0.1:41139/" {
		t.Errorf("serving on %s", url)
	}
}

func TestUnsent(t *testing.T) {
	l := newLogTail(redact.New())
	_, _ = l.Write([]byte("2026/11/27 11:59:37 ERROR : a/b.jpg: Didn't finish writing GET request (wrote 0/3 bytes): unexpected EOF\n" +
		"2026/11/27 11:59:39 ERROR : a/b.jpg: Didn't finish writing GET request (wrote 0/3 bytes): failed to authenticate decrypted block - bad password?\n" +
		"2026/11/27 11:59:39 ERROR : b.jpg: Didn't finish writing GET request (wrote 1/3 bytes): connection reset by peer\n"))
	for name, want := range map[string]string{"a/b.jpg": "failed to authenticate decrypted block - bad password?", "b.jpg": "connection reset by peer", "jpg": "", "c": ""} {
		if got := l.unsent(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestConfigFile(t *testing.T) {
	environ := environment(t)
	path, err := ConfigFile(t.Context(), Program{Path: executable(t)}, environ)
	if want := valueOf(environ, "RCLONE_CONFIG"); err != nil || path != want {
		t.Errorf("path %s, %v, not %s", path, err, want)
	}
}

func TestCheckWritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rclone.conf")
	if err := CheckWritable(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("[a]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckWritable(path); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "[a]\n" {
		t.Errorf("the check changed the file: %q, %v", got, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the check left %v, %v", left, err)
	}
}
