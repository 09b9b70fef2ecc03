package aiservice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"assetferry/internal/pattern"
)

const (
	maxFetched = 10_000_000 // bytes; a guess
	fetchTime  = 15 * time.Second
	maxTitleOf = 200 // characters in the title of a page
)

// A fetcher fetches pages and images, from permitted hosts only: clients of the stand-in must not
// reach through it what only its machine can reach.
type fetcher struct{ client *http.Client }

// errElsewhere reports an IP address that the sandbox does not connect to.
var errElsewhere = errors.New("the sandbox fetches only from this machine and from permitted hosts")

// A reach is the set of permitted network addresses.
type reach struct {
	from     []string // host:port
	anywhere bool
}

// check returns errElsewhere for an IP address that is not allowed.
func (r reach) check(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if r.anywhere || net.ParseIP(host).IsLoopback() || slices.Contains(r.from, addr) {
		return nil
	}
	return errElsewhere
}

func newFetcher(from []string, anywhere bool) *fetcher {
	r := reach{from, anywhere}
	free := &net.Dialer{Timeout: fetchTime}
	// IP addresses are checked after name resolution, for every hop: a name
	// alone does not show which machine it is.
	guarded := &net.Dialer{Timeout: fetchTime, Control: func(_, addr string, _ syscall.RawConn) error { return r.check(addr) }}
	transport := &http.Transport{
		DisableKeepAlives: true, ResponseHeaderTimeout: fetchTime,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if slices.Contains(from, addr) { // by its name
				return free.DialContext(ctx, network, addr)
			}
			return guarded.DialContext(ctx, network, addr)
		},
	}
	return &fetcher{&http.Client{Transport: transport, Timeout: fetchTime, CheckRedirect: withoutReferer}}
}

// withoutReferer follows a few redirects without a Referer header.
func withoutReferer(next *http.Request, via []*http.Request) error {
	next.Header.Del("Referer")
	if len(via) > 5 {
		return errors.New("too many redirects")
	}
	return nil
}

// fetched is the content at a URL.
type fetched struct {
	name, mediaType string
	data            []byte
}

// fetch returns the content at a URL: text, PDF or an image that is not empty. headers may be nil.
func (f *fetcher) fetch(ctx context.Context, rawURL string, headers http.Header) (got fetched, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return got, errors.New("the URL must begin with http:// or https:// and contain no password")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return got, err
	}
	maps.Copy(r.Header, headers)
	response, err := f.client.Do(r)
	if err != nil {
		return got, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return got, fmt.Errorf("the server responded %s", response.Status)
	}
	got.data, err = io.ReadAll(io.LimitReader(response.Body, maxFetched+1))
	switch {
	case err != nil:
		return got, err
	case len(bytes.TrimSpace(got.data)) == 0:
		return got, errors.New("it is empty")
	case len(got.data) > maxFetched:
		return got, fmt.Errorf("it has more than %d bytes", maxFetched)
	}
	got.mediaType, _, err = mime.ParseMediaType(response.Header.Get("Content-Type"))
	readable := strings.HasPrefix(got.mediaType, "text/") || strings.HasPrefix(got.mediaType, "image/") || got.mediaType == "application/pdf"
	if err != nil || !readable {
		return got, fmt.Errorf("its type %q is not text, PDF or an image", response.Header.Get("Content-Type"))
	}
	got.name = pageTitle(got.data)
	return got, nil
}

var titlePattern = pattern.Lazy(`(?is)<title[^>]*>(.*?)</title>`)

// pageTitle returns the title of an HTML page, or "".
func pageTitle(data []byte) string {
	found := titlePattern().FindSubmatch(data[:min(len(data), 64<<10)])
	if found == nil {
		return ""
	}
	title := []rune(strings.Join(strings.Fields(html.UnescapeString(strings.ToValidUTF8(string(found[1]), ""))), " "))
	return string(title[:min(len(title), maxTitleOf)])
}
