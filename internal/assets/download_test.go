package assets

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

func file(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	return data
}

// read downloads a content from an offset.
func read(t testing.TB, c *Client, rawURL string, offset int64) ([]byte, int64, error) {
	t.Helper()
	body, size, err := c.Download(t.Context(), rawURL, offset)
	if err != nil {
		return nil, 0, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return data, size, err
}

func TestDownload(t *testing.T) {
	data := file(100_000)
	handlers := map[string]http.HandlerFunc{
		"ranges": func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		},
		"no ranges": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(data)
		},
		"no length": func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(data)
		},
	}
	for name, h := range handlers {
		for _, offset := range []int64{0, 1, 50_000, 99_999, 100_000} {
			t.Run(fmt.Sprint(name, " ", offset), func(t *testing.T) {
				c := serve(t, h)
				got, size, err := read(t, c, c.base.String()+"/f?download=true", offset)
				if err != nil || !bytes.Equal(got, data[offset:]) {
					t.Errorf("got %d bytes, %v, want %d", len(got), err, len(data)-int(offset))
				}
				if want := map[bool]int64{true: -1, false: 100_000}[name == "no length"]; size != want {
					t.Errorf("size: got %d, want %d", size, want)
				}
			})
		}
	}
}

func TestDownloadErrors(t *testing.T) {
	tests := []struct {
		answer string
		offset int64
		class  retry.Class
	}{
		{"404", 0, retry.Permanent},
		{"403", 0, retry.Fatal},
		{"500", 0, retry.Transient},
		{"429", 0, retry.Throttled},
		{"204", 0, retry.Transient},
		{"206 Content-Range=bytes 0-2/3|abc", 0, retry.Transient},
		{"206 Content-Range=bytes 0-2/3|abc", 1, retry.Transient},
		{"206 Content-Range=bytes 1-1/3|b", 1, retry.Transient},
		{"206 Content-Range=nonsense|b", 1, retry.Transient},
		{"200 ab", 5, retry.Transient},
		{"416", 5, retry.Permanent},
		{"416 Content-Range=bytes */4|", 5, retry.Permanent},
	}
	for _, tt := range tests {
		t.Run(tt.answer, func(t *testing.T) {
			c := serve(t, answers(tt.answer).ServeHTTP)
			_, _, err := read(t, c, c.base.String()+"/f", tt.offset)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Class() != tt.class || errors.Is(err, fs.ErrNotExist) != (tt.answer == "404") {
				t.Errorf("got %v, %+v", err, e)
			}
		})
	}
	c := serve(t, answers("200 x").ServeHTTP)
	for _, bad := range []string{"", "/f", "http://example.com/f", "file:///etc/passwd"} {
		if _, _, err := c.Download(t.Context(), bad, 0); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	if _, _, err := c.Download(t.Context(), c.base.String(), -1); err == nil {
		t.Error("negative offset: no error")
	}
}

// The test verifies that a 403 of a delivery host concerns only one asset, and not the credentials.
func TestDownloadForbiddenElsewhere(t *testing.T) {
	cdn := httptest.NewServer(answers("403"))
	t.Cleanup(cdn.Close)
	_, _, err := serve(t, answers("200").ServeHTTP).Download(t.Context(), cdn.URL+"/f", 0)
	if e, ok := errors.AsType[*Error](err); !ok || e.Class() != retry.Permanent {
		t.Errorf("got %v", err)
	}
}

func TestTokenStaysWithItsOrigin(t *testing.T) {
	var leaked atomic.Int32
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), secret) {
				leaked.Add(1)
				t.Errorf("token in %s", name)
			}
		}
		fmt.Fprint(w, "cdn")
	}))
	t.Cleanup(cdn.Close)
	var own atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == secret {
			own.Add(1)
		}
		switch r.URL.Path {
		case "/away", "/assets/x":
			http.Redirect(w, r, cdn.URL+"/f", http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/f", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			fmt.Fprint(w, "own")
		}
	})
	// Another name or port of the same host is another origin.
	for path, want := range map[string]string{
		c.base.String() + "/f": "own", cdn.URL + "/f": "cdn",
		c.base.String() + "/away": "cdn", c.base.String() + "/round": "own",
		strings.Replace(cdn.URL, "127.0.0.1", "localhost", 1) + "/f": "cdn",
	} {
		got, _, err := read(t, c, path, 0)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", path, got, err, want)
		}
	}
	if own.Load() != 4 {
		t.Errorf("our own service got the token %d times, want 4", own.Load())
	}
	if _, err := c.Asset(t.Context(), "x"); err == nil { // the API does not redirect
		t.Error("redirect of the API: no error")
	}
	if _, _, err := c.Download(t.Context(), c.base.String()+"/loop", 0); err == nil {
		t.Error("loop: no error")
	}
}

// cutting serves data with an ETag, and closes the first connections early.
func cutting(data []byte, tag string, cuts int) (scene, *[]string) {
	var ranges []string
	return func(conn net.Conn, r *bufio.Reader) {
		req := readHead(r)
		if req == nil {
			return
		}
		ranges = append(ranges, req.Header.Get("Range")+" "+req.Header.Get("If-Range"))
		w := httptest.NewRecorder()
		if tag != "" {
			w.Header().Set("ETag", tag)
		}
		http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(data))
		w.Header().Set("Content-Length", fmt.Sprint(w.Body.Len()))
		resp := w.Result()
		resp.ContentLength = int64(w.Body.Len())
		var out bytes.Buffer
		_ = resp.Write(&out)
		if len(ranges) <= cuts {
			out.Truncate(out.Len() - w.Body.Len()/2)
		}
		_, _ = conn.Write(out.Bytes())
	}, &ranges
}

func TestDownloadGoesOn(t *testing.T) {
	data := file(100_000)
	s, ranges := cutting(data, `"v1"`, 3)
	base, _ := play(t, s)
	got, size, err := read(t, newClient(t, Options{BaseURL: base}), base+"/f", 0)
	if err != nil || !bytes.Equal(got, data) || size != 100_000 {
		t.Errorf("got %d of %d bytes, %v", len(got), size, err)
	}
	want := `[ ` + ` bytes=50000- "v1" bytes=75000- "v1" bytes=87500- "v1"]`
	if fmt.Sprint(*ranges) != want {
		t.Errorf("got %q, want %q", fmt.Sprint(*ranges), want)
	}
}

func TestDownloadCut(t *testing.T) {
	for name, tag := range map[string]string{"no tag": "", "weak tag": `W/"v1"`} {
		t.Run(name, func(t *testing.T) {
			s, ranges := cutting(file(1000), tag, 1)
			base, _ := play(t, s)
			got, _, err := read(t, newClient(t, Options{BaseURL: base}), base+"/f", 0)
			if class, _ := retry.Classify(err); !errors.Is(err, io.ErrUnexpectedEOF) || class != retry.Transient {
				t.Errorf("got %v, %v", err, class)
			}
			if len(got) != 500 || len(*ranges) != 1 {
				t.Errorf("got %d bytes with %q", len(got), *ranges)
			}
		})
	}
	t.Run("again and again", func(t *testing.T) {
		base, count := play(t, func(conn net.Conn, r *bufio.Reader) {
			readHead(r)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 100\r\n\r\n")
		})
		_, _, err := read(t, newClient(t, Options{BaseURL: base}), base+"/f", 0)
		if !errors.Is(err, io.ErrUnexpectedEOF) || count.Load() > 5 {
			t.Errorf("got %v after %d requests", err, count.Load())
		}
	})
}

func TestDownloadChanged(t *testing.T) {
	first, second := file(1000), file(2000)
	n := 0
	base, _ := play(t, func(conn net.Conn, r *bufio.Reader) {
		n++
		data, tag := first, `"v1"`
		if n > 1 {
			data, tag = second, `"v2"`
		}
		s, _ := cutting(data, tag, map[bool]int{true: 1, false: 0}[n == 1])
		s(conn, r)
	})
	got, _, err := read(t, newClient(t, Options{BaseURL: base}), base+"/f", 0)
	if class, _ := retry.Classify(err); !errors.Is(err, ErrChanged) || class != retry.Permanent {
		t.Errorf("got %v, %v", err, class)
	}
	if !bytes.Equal(got, first[:len(got)]) {
		t.Error("bytes of two versions")
	}
}

func TestStalledDownload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := serveBubble(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		defer stop()
		body, _, err := c.Download(t.Context(), "http://localhost/f", 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // the reader may be slow
		start := time.Now()
		got, err := io.ReadAll(body)
		_ = body.Close()
		_, stalled := errors.AsType[outbound.StallError](err)
		if string(got) != "half" || !stalled || time.Since(start) != stallTimeout {
			t.Errorf("got %q, %v after %v", got, err, time.Since(start))
		}
		if _, again := body.Read(make([]byte, 1)); again == nil || again == io.EOF {
			t.Errorf("after the error: got %v", again)
		}
	})
}

// A failing transport returns an error for every request.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// The test verifies that the error is not that of the watchdog, which ends with the download.
func TestDownloadWithoutAnswer(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		class retry.Class
	}{
		{"refused", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, retry.Transient},
		{"untrusted", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, retry.Fatal},
		{"forbidden", ErrReadOnly, retry.Fatal},
	}
	for _, tt := range tests {
		for _, host := range []string{"http://localhost", "https://files.example.com"} {
			t.Run(tt.name+" "+host, func(t *testing.T) {
				c := newClient(t, Options{BaseURL: "http://localhost", Workspace: "w", Transport: failing{tt.err}})
				_, _, err := c.Download(t.Context(), host+"/f", 0)
				class, _ := retry.Classify(err)
				if !errors.Is(err, tt.err) || errors.Is(err, context.Canceled) || class != tt.class {
					t.Errorf("got %v, %s, want %v, %s", err, class, tt.err, tt.class)
				}
			})
		}
	}
}

func TestContentRange(t *testing.T) {
	for s, want := range map[string]string{
		"bytes 5-9/10": "5 10 true", "bytes 0-0/1": "0 1 true",
		"": "no", "bytes 5-8/10": "no", "bytes */10": "no", "bytes 5-9/*": "no", "items 5-9/10": "no",
		"bytes 9-5/6": "no", "bytes -1-9/10": "no", "bytes 5-9": "no",
	} {
		start, size, ok := parseContentRange(s)
		if got := fmt.Sprint(start, size, ok); ok && got != want || !ok && want != "no" {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}
