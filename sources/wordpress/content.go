package wordpress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
	api "assetferry/internal/wordpress"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// facts are what a server knows about a file.
type facts struct {
	size      int64  // -1 if unknown
	validator string // ETag or date of the last change, or ""
}

// factsTimeout is the maximum time for the facts of a file.
const factsTimeout = time.Minute

// facts requests the facts of the content of an entry. The original may have been deleted to save
// space; then the copy counts.
func (s *Source) facts(ctx context.Context, e entry) (is facts, err error) {
	if e.SourceURL == "" {
		return is, errNoURL
	}
	ctx, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	for _, place := range e.contentURLs() {
		if is, err = s.factsAt(ctx, place); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil && is.size < 0 {
		is.size = e.size()
		if is.size < 0 || len(e.contentURLs()) > 1 {
			return is, odd("the server does not send the size of the file")
		}
	}
	return is, err
}

// factsAt requests the facts of a file: with HEAD, or else from the response for its first byte.
func (s *Source) factsAt(ctx context.Context, place string) (is facts, err error) {
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		err = s.do(ctx, method, place, "bytes=0-0", func(a *http.Response) error {
			is = factsIn(a)
			_ = a.Body.Close() // it may be the whole content
			return check(a, place)
		})
		f, failed := errors.AsType[*remote.Failure](err)
		if err == nil && is.size >= 0 || failed && (f.Status == 0 || errors.Is(err, fs.ErrNotExist)) {
			return is, err
		}
	}
	return is, err
}

func factsIn(a *http.Response) facts {
	is := facts{size: a.ContentLength, validator: a.Header.Get("ETag")}
	if is.validator == "" {
		is.validator = a.Header.Get("Last-Modified")
	}
	if a.StatusCode == http.StatusPartialContent {
		is.size = -1
		if _, total, ok := remote.ParseRange(a.Header.Get("Content-Range")); ok {
			is.size = total
		}
	}
	return is
}

// do makes a request for a file, with retries. take closes the body, or keeps it.
func (s *Source) do(ctx context.Context, method, place, span string, take func(*http.Response) error) error {
	return remote.Patiently(ctx, retry.Policy{Attempts: 4}, func(ctx context.Context) error {
		a, err := s.send(ctx, method, place, span)
		if err != nil {
			return err
		}
		if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusPartialContent {
			_ = a.Body.Close() // only its status counts
			return refused(a)
		}
		return take(a)
	})
}

// send makes one request. Only the site itself gets the credentials. Some plugins redirect from
// there to another host, which does not get them.
func (s *Source) send(ctx context.Context, method, place, span string) (*http.Response, error) {
	u, err := url.Parse(place)
	if err != nil || u.Host == "" {
		return nil, odd("the URL of the file is not valid")
	}
	site := s.client.URL().Site()
	if strings.EqualFold(u.Host, site.Host) {
		u.Scheme = site.Scheme // a site behind a proxy with TLS may not know about it
	}
	a, err := request(ctx, s.senderTo(u), method, u, span)
	if err != nil || a.StatusCode < 300 || a.StatusCode >= 400 {
		return a, err
	}
	to, err := a.Location()
	_ = a.Body.Close() // a redirect
	if err != nil || strings.Contains(to.Path, "wp-login.php") {
		return a, nil
	}
	return request(ctx, s.senderTo(to), method, to, span)
}

// A sender makes a request, with or without the credentials.
type sender func(*http.Request) (*http.Response, error)

func (s *Source) senderTo(u *url.URL) sender {
	if s.client.IsOwn(u) {
		return s.client.Do
	}
	return s.elsewhere.Do
}

func request(ctx context.Context, send sender, method string, u *url.URL, span string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "identity") // the stored bytes are needed
	r.Header.Set("User-Agent", "assetferry")
	if span != "" && method == http.MethodGet {
		r.Header.Set("Range", span)
	}
	a, err := send(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f := remote.Unreached(err, retry.Permanent)
		f.Host = u.Host
		return nil, f
	}
	return a, nil
}

// refused returns the failure of an unsuccessful response.
func refused(a *http.Response) *remote.Failure {
	f := &remote.Failure{Host: a.Request.URL.Host, Status: a.StatusCode, Err: fmt.Errorf("%d %s", a.StatusCode, http.StatusText(a.StatusCode)), Kind: retry.Permanent}
	f.Classify(a.Header)
	return f
}

// odd returns the failure of an invalid response.
func odd(format string, args ...any) error {
	return &remote.Failure{Status: http.StatusOK, Err: fmt.Errorf(format, args...), Kind: retry.Permanent}
}

// isServerFailure reports whether an error says something about a server, and not only about a file.
func isServerFailure(err error) bool {
	f, ok := errors.AsType[*remote.Failure](err)
	return ok && (f.Status == 0 || f.Kind.Repeatable() || errors.Is(err, fs.ErrPermission))
}

// check returns an error if a response is not a file, such as a login page.
func check(a *http.Response, place string) error {
	if encoding := a.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return odd("the server sent compressed content instead of the stored bytes")
	}
	_, name := splitURL(place)
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if extension := strings.ToLower(path.Ext(name)); kind == "text/html" && extension != ".html" && extension != ".htm" {
		return odd("the server sent a web page instead of the file")
	}
	return nil
}

// Open implements sources.Source.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	r, err := s.openReader(ctx, o, offset)
	if err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	return r, nil
}

func (s *Source) openReader(ctx context.Context, o sources.Object, offset int64) (*reader, error) {
	if err := o.CheckOffset(offset); err != nil {
		return nil, err
	}
	find := s.entriesOf
	if tagOf(o).validator == "" { // only the site knows whether the file has changed
		find = s.request
	}
	all, err := find(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, source: s, object: o, entries: all}
	r.Reader, err = remote.Open(ctx, remote.Content{Size: o.Size, Connect: r.connect, TooLong: r.tooLong, Fail: r.fail, Flaky: true}, offset)
	return r, err
}

// A reader reads one object to its listed size, and has its metadata.
type reader struct {
	*remote.Reader
	ctx     context.Context
	source  *Source
	object  sources.Object
	entries []entry
}

// Describe implements sources.Describer.
func (r *reader) Describe(context.Context) (sources.Description, error) {
	return describe(r.entries), nil
}

// connect requests the content from the next byte on. An empty range cannot be requested, so at the
// end it requests the last byte again.
func (r *reader) connect(next int64) (body *remote.Body, err error) {
	for _, place := range r.entries[0].contentURLs() {
		if body, err = r.connectTo(place, next); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return body, err
}

func (r *reader) connectTo(place string, next int64) (*remote.Body, error) {
	from := min(next, max(r.object.Size-1, 0))
	span := ""
	if from > 0 {
		span = fmt.Sprintf("bytes=%d-", from)
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	var content io.ReadCloser
	err := r.source.do(ctx, http.MethodGet, place, span, func(a *http.Response) error {
		err := check(a, place)
		if err == nil {
			from, err = r.begin(a, from)
		}
		if err != nil {
			_ = a.Body.Close() // of another version
			return retry.Stop(err)
		}
		content = a.Body
		return nil
	})
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := remote.Watch(content, cancel)
	if _, err := io.CopyN(io.Discard, body, next-from); err != nil { // the response begins earlier
		body.Close()
		return nil, &remote.Cut{Err: err}
	}
	return body, nil
}

// begin checks that a response has the listed version, and returns its offset. Some servers ignore
// ranges.
func (r *reader) begin(a *http.Response, from int64) (int64, error) {
	is := factsIn(a)
	listed := tagOf(r.object).validator
	if is.size >= 0 && is.size != r.object.Size || listed != "" && is.validator != "" && is.validator != listed {
		return 0, sources.ErrChanged
	}
	if a.StatusCode != http.StatusPartialContent {
		return 0, nil
	}
	first, _, ok := remote.ParseRange(a.Header.Get("Content-Range"))
	if !ok || first != from {
		return 0, odd("the server sent another range than from byte %d on", from)
	}
	return first, nil
}

func (r *reader) tooLong() error {
	return fmt.Errorf("%w: the server sent more than the listed %d bytes", sources.ErrChanged, r.object.Size)
}

// fail converts the errors of Read.
func (r *reader) fail(err error) error {
	return r.source.fail(r.ctx, "read", r.object.Key, err)
}

// hintOf returns the next step for the user, or "" if the error is enough.
func hintOf(err error) string {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Hint()
	}
	f, failed := errors.AsType[*remote.Failure](err)
	network, private := errors.AsType[*outbound.NetworkError](err)
	switch {
	case errors.Is(err, sources.ErrChanged):
		return "run the same command again"
	case errors.Is(err, remote.ErrPlain):
		return "if you trust the network, add --allow-http"
	case private && !network.Never:
		return "if the files of the site are in your own network, add --allow-private-networks"
	case errors.Is(err, fs.ErrPermission):
		return "allow this machine to read the uploads of the site, in its web server, firewall or plugin"
	case failed && f.Status == 0:
		return "check the network and the proxy"
	}
	return ""
}
