package table

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// What an answer says of an object.
type facts struct {
	size        int64 // negative if it does not say
	tag         string
	contentType string
}

const (
	// askTimeout is how long a server may take to say what it has, with all tries.
	askTimeout = 5 * time.Minute
	// restTimeout is how long the rest of an answer may take that nobody wants.
	restTimeout = time.Second
)

// do makes a request until it is answered, and gives the answer to take, which says whether
// it can be used.
func (s *Source) do(ctx context.Context, make func(context.Context) (*http.Request, error), take func(*http.Response) error) error {
	return remote.Patiently(ctx, retry.Policy{}, func(ctx context.Context) error {
		r, err := make(ctx)
		if err != nil {
			return retry.Stop(err)
		}
		a := &address{*r.URL}
		answer, err := s.web.Do(r)
		if err != nil {
			return broken(a, err)
		}
		if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusPartialContent {
			err = refused(a, answer)
		} else {
			err = take(answer)
		}
		if err == nil {
			return nil
		}
		drop(answer)
		return err
	})
}

// drop ends an answer. A short rest is read, so that the connection can be used again, but
// not waited for: not every server brings it.
func drop(answer *http.Response) {
	stalled := time.AfterFunc(restTimeout, func() { _ = answer.Body.Close() })
	defer stalled.Stop()
	_, _ = io.CopyN(io.Discard, answer.Body, 16<<10)
	_ = answer.Body.Close()
}

func request(ctx context.Context, method string, e entry) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, e.url.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "identity") // what is stored is wanted, byte for byte
	r.Header.Set("User-Agent", "assetferry")
	return r, nil
}

// ask asks how large an object is and which version it has. HEAD is for that, but servers
// refuse it, or answer it without a size or with none, and a URL may be signed for GET
// alone.
func (s *Source) ask(ctx context.Context, e entry) (facts, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var is facts
	var err error
	_, headless := s.headless.Load(e.url.host())
	if !headless {
		is, err = s.askHead(ctx, e)
		if err == nil && is.size > 0 || err != nil && isSick(err) {
			return is, err
		}
	}
	byByte, failed := s.askByte(ctx, e)
	if failed == nil && byByte.size > 0 && (err != nil || is.size < 0) {
		s.headless.Store(e.url.host(), true)
	}
	if errors.Is(failed, errEmpty) {
		return facts{tag: is.tag, contentType: is.contentType}, nil
	}
	return byByte, failed
}

func (s *Source) askHead(ctx context.Context, e entry) (is facts, err error) {
	err = s.do(ctx, func(ctx context.Context) (*http.Request, error) { return request(ctx, http.MethodHead, e) }, func(answer *http.Response) error {
		is = factsOf(answer)
		drop(answer)
		return checkContent(e, answer)
	})
	return is, err
}

// askByte asks for the first byte, and so for how many there are.
func (s *Source) askByte(ctx context.Context, e entry) (is facts, err error) {
	err = s.do(ctx, func(ctx context.Context) (*http.Request, error) {
		r, err := request(ctx, http.MethodGet, e)
		if err == nil {
			r.Header.Set("Range", "bytes=0-0")
		}
		return r, err
	}, func(answer *http.Response) error {
		is = factsOf(answer)
		_ = answer.Body.Close() // it may be all of the content
		if err := checkContent(e, answer); err != nil {
			return err
		}
		if is.size < 0 {
			return odd(e.url, "the server does not say how large it is; put a column size into the table")
		}
		return nil
	})
	return is, err
}

// factsOf reads an answer.
func factsOf(answer *http.Response) facts {
	is := facts{size: answer.ContentLength, tag: tagIn(answer.Header)}
	if answer.StatusCode == http.StatusPartialContent {
		is.size = -1
		if _, total, ok := remote.ParseRange(answer.Header.Get("Content-Range")); ok {
			is.size = total
		}
	}
	if t, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err == nil && !strings.HasSuffix(t, "/octet-stream") {
		is.contentType = t
	}
	return is
}

// tagIn is the version that an answer names: the ETag without its quotes, or else the time
// of the last change.
func tagIn(h http.Header) string {
	if etag := h.Get("Etag"); etag != "" {
		return strings.Trim(etag, `"`)
	}
	return h.Get("Last-Modified")
}

// isListed compares what an answer says of its version with a version tag. What is not
// said has no say.
func isListed(h http.Header, tag string) bool {
	now := strings.Trim(h.Get("Etag"), `"`)
	if _, err := http.ParseTime(tag); err == nil {
		now = h.Get("Last-Modified")
	}
	return now == "" || tag == "" || now == tag
}

// checkContent refuses what is not the content of an object: a page where people log in
// looks like one otherwise.
func checkContent(e entry, answer *http.Response) error {
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return odd(e.url, "the server sends the content compressed, and not as it is stored")
	}
	t, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if t == "text/html" && !isPage(string(e.key)) && !isPage(e.url.Path) {
		return odd(e.url, "%w", errPage)
	}
	if remote.IsDocument(answer, string(e.key)) {
		return odd(e.url, "%w", remote.ErrDocument)
	}
	return nil
}

func isPage(name string) bool {
	extension := strings.ToLower(path.Ext(name))
	return extension == ".html" || extension == ".htm" || extension == ".xhtml"
}
