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

// facts are the properties of an object in a response.
type facts struct {
	size        int64 // negative if unknown
	tag         string
	contentType string
}

const (
	// askTimeout is the maximum time for a request for facts, with all retries.
	askTimeout = 5 * time.Minute
	// restTimeout is the maximum time for reading the unused rest of a response.
	restTimeout = time.Second
)

// do makes a request with retries, and passes the response to take, which returns an error if it is
// not usable.
func (s *Source) do(ctx context.Context, make func(context.Context) (*http.Request, error), take func(*http.Response) error) error {
	return remote.Patiently(ctx, retry.Policy{}, func(ctx context.Context) error {
		r, err := make(ctx)
		if err != nil {
			return retry.Stop(err)
		}
		a := &contentURL{*r.URL}
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

// drop closes a response. It reads a short rest, so that the connection can be reused, but does not
// wait for it, because some servers do not send it.
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
	r.Header.Set("Accept-Encoding", "identity") // the stored bytes are needed
	r.Header.Set("User-Agent", "assetferry")
	return r, nil
}

// ask requests the size and the version of an object. Some servers refuse HEAD, or answer it
// without a size or with 0, and some URLs are signed for GET only.
func (s *Source) ask(ctx context.Context, e entry) (facts, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var is facts
	var err error
	_, headless := s.headless.Load(e.url.host())
	if !headless {
		is, err = s.askHead(ctx, e)
		if err == nil && is.size > 0 || err != nil && isServerError(err) {
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

// askByte requests the first byte; the response contains the size.
func (s *Source) askByte(ctx context.Context, e entry) (is facts, err error) {
	err = s.do(ctx, func(ctx context.Context) (*http.Request, error) {
		r, err := request(ctx, http.MethodGet, e)
		if err == nil {
			r.Header.Set("Range", "bytes=0-0")
		}
		return r, err
	}, func(answer *http.Response) error {
		is = factsOf(answer)
		_ = answer.Body.Close() // it may be the whole content
		if err := checkContent(e, answer); err != nil {
			return err
		}
		if is.size < 0 {
			return odd(e.url, "the server returned no size; add a column size to the table")
		}
		return nil
	})
	return is, err
}

// factsOf returns the facts in a response.
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

// tagIn returns the version in a response: the ETag without its quotes, or else the time of the last
// change.
func tagIn(h http.Header) string {
	if etag := h.Get("Etag"); etag != "" {
		return strings.Trim(etag, `"`)
	}
	return h.Get("Last-Modified")
}

// isListed compares the version in a response with a version tag. A missing version matches.
func isListed(h http.Header, tag string) bool {
	now := strings.Trim(h.Get("Etag"), `"`)
	if _, err := http.ParseTime(tag); err == nil {
		now = h.Get("Last-Modified")
	}
	return now == "" || tag == "" || now == tag
}

// checkContent returns an error if a response is not the content of an object, such as a login page.
func checkContent(e entry, answer *http.Response) error {
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return odd(e.url, "the server sent compressed content instead of the stored bytes")
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
