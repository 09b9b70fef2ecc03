package ckfinder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// smallContent is read to its end rather than giving up a connection for it.
const smallContent = 64 << 10

// A content is an answer with the bytes of a file, or none if it has none of those that
// were asked for.
type content struct {
	answer *http.Response
	*remote.Body
}

// content asks for bytes of a file; all of them if none are named.
func (s *Source) content(ctx context.Context, at place, name, bytes string) (*content, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	a, err := s.deliver(ctx, at, name, bytes)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	err = checkContent(a, name) // which may put another body in place
	c := &content{a, remote.Watch(a.Body, cancel)}
	if err == nil && mayBeOther(a) {
		_, err = s.kinds(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// deliver has Proxy deliver a file, and where a connector is older than that, DownloadFile.
func (s *Source) deliver(ctx context.Context, at place, name, bytes string) (*http.Response, error) {
	parameters := at.parameters()
	parameters.Set("fileName", name)
	if s.old.Load() {
		return s.get(ctx, "DownloadFile", parameters, bytes)
	}
	a, err := s.get(ctx, "Proxy", parameters, bytes)
	if err != nil || isContent(a) {
		return a, err
	}
	told := troubleIn(a)
	if told == nil || strconv.Itoa(told.Number) != invalidCommand {
		return a, nil
	}
	a.Body.Close()
	s.old.Store(true)
	return s.get(ctx, "DownloadFile", parameters, bytes)
}

// isContent reports whether an answer looks like that of a file: not every connector gives
// its errors another status.
func isContent(a *http.Response) bool {
	return a.StatusCode == http.StatusPartialContent || a.StatusCode == http.StatusOK && !remote.IsJSON(a)
}

// troubleIn reads what an answer says that went wrong, and leaves its body as it was.
func troubleIn(a *http.Response) *trouble {
	start := remote.Start(a, smallContent)
	var told answer
	if json.Unmarshal(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), &told) != nil {
		return nil
	}
	return told.trouble()
}

// pages are the extensions of files that may be what they look like: a page.
var pages = []string{".htm", ".html", ".shtml", ".xhtml", ".xml", ".svg", ".txt", ".md", ".php", ".tpl"}

// checkContent makes sure that an answer is that of a file.
func checkContent(a *http.Response, name string) error {
	extension := strings.ToLower(path.Ext(name))
	var told *trouble
	if !isContent(a) {
		told = troubleIn(a)
	}
	if told != nil && told.Number == 0 && a.StatusCode == http.StatusOK && extension == ".json" {
		told = nil // a file may say so
	}
	encoding := a.Header.Get("Content-Encoding")
	switch {
	case a.StatusCode == http.StatusRequestedRangeNotSatisfiable:
	case told != nil, a.StatusCode != http.StatusOK && a.StatusCode != http.StatusPartialContent:
		return refused(a, told)
	case isPage(a) && !slices.Contains(pages, extension):
		return &remote.Failure{Status: a.StatusCode, Err: errPage, Kind: retry.Fatal, Auth: true}
	case remote.IsDocument(a, name):
		return odd("%w", remote.ErrDocument)
	case encoding != "" && encoding != "identity":
		return odd("the content comes encoded as %s, although that was not asked for", encoding)
	}
	return nil
}

// isPage reports whether an answer says that it is a web page.
func isPage(a *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return a.StatusCode == http.StatusOK && kind == "text/html"
}

// mayBeOther reports whether an answer that may be that of a file looks like what people get
// who are not logged in. Whether they are is asked then.
func mayBeOther(a *http.Response) bool {
	return isPage(a) || a.StatusCode == http.StatusOK && remote.IsJSON(a)
}

// Close ends the connection, unless the rest is known to be small.
func (c *content) Close() {
	if n := c.answer.ContentLength; n >= 0 && n <= smallContent {
		_, _ = io.Copy(io.Discard, c)
	}
	c.Body.Close()
}

// span returns the first byte of an answer and the size of the file; -1 if it is not known.
func (c *content) span() (first, size int64) {
	if c.answer.StatusCode == http.StatusOK {
		return 0, c.answer.ContentLength
	}
	part, isBytes := strings.CutPrefix(c.answer.Header.Get("Content-Range"), "bytes ")
	part, whole, slash := strings.Cut(part, "/")
	begin, _, _ := strings.Cut(part, "-")
	size, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || size < 0 || !isBytes || !slash {
		size = -1
	}
	if first, err = strconv.ParseInt(begin, 10, 64); err != nil || first < 0 {
		first = -1
	}
	return first, size
}

// none reports whether the answer is that there are no such bytes.
func (c *content) none() bool {
	return c.answer.StatusCode == http.StatusRequestedRangeNotSatisfiable
}

// modified is when the file was changed last, as far as the answer says it: not by the time
// of the answer, which is what scripts give that know no better.
func (c *content) modified() time.Time {
	t, err := http.ParseTime(c.answer.Header.Get("Last-Modified"))
	if err != nil {
		return time.Time{}
	}
	now, err := http.ParseTime(c.answer.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	if t.After(now.Add(-2 * time.Second)) {
		return time.Time{}
	}
	return t.UTC()
}

// validator is what tells the version of a file from others; empty if nothing does.
func (c *content) validator() string {
	if tag := c.answer.Header.Get("ETag"); tag != "" {
		return tag
	}
	if t := c.modified(); !t.IsZero() {
		return t.Format(time.RFC3339)
	}
	return ""
}

// versionTag is made of what the listing says of a file and its validator.
func versionTag(e entry, validator string) string {
	return strings.ReplaceAll(string(e.date), " ", "") + " " + strings.ReplaceAll(string(e.size), " ", "") + " " + validator
}

// validatorIn takes a version tag apart.
func validatorIn(tag string) string {
	_, rest, _ := strings.Cut(tag, " ")
	_, validator, _ := strings.Cut(rest, " ")
	return validator
}

// look asks what a listing does not tell of a file. One that the connector refuses is an
// obstacle.
func (s *Source) look(ctx context.Context, at place, e entry, o *sources.Object) error {
	var m measure
	err := patiently(ctx, func(ctx context.Context) (err error) {
		m, err = s.measure(ctx, at, e.name)
		return err
	})
	if err == nil && !e.fits(m.size) {
		err = odd("%d bytes come for a file of about %s KB", m.size, e.size)
	}
	if err != nil {
		o.Obstacle = sources.Unreadable
		return s.excuse(ctx, at.kind, err)
	}
	o.Size, o.Time, o.VersionTag = m.size, m.modified, versionTag(e, m.validator)
	if o.Time.IsZero() {
		o.Time = e.time()
	}
	return nil
}

// A measure is what is exact about a file.
type measure struct {
	size      int64
	modified  time.Time
	validator string
}

// measure asks for the first byte, because that is answered with the size. Where it is not,
// the bytes are counted.
func (s *Source) measure(ctx context.Context, at place, name string) (measure, error) {
	m, err := s.measureBy(ctx, at, name, "0-0")
	if err == nil && m.size < 0 {
		m, err = s.measureBy(ctx, at, name, "")
	}
	return m, err
}

func (s *Source) measureBy(ctx context.Context, at place, name, bytes string) (measure, error) {
	c, err := s.content(ctx, at, name, bytes)
	if err != nil {
		return measure{}, err
	}
	defer c.Close()
	_, size := c.span()
	m := measure{size, c.modified(), c.validator()}
	if size < 0 && c.answer.StatusCode == http.StatusOK {
		if m.size, err = io.Copy(io.Discard, c); err != nil {
			return measure{}, cutOff(err)
		}
	}
	if m.size < 0 && bytes == "" {
		return measure{}, odd("the connector does not tell the size of the file")
	}
	return m, nil
}

// cutOff is the end of a connection before that of the content, of which an answer had begun:
// it may be that of one file only.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &remote.Failure{Status: http.StatusOK, Err: fmt.Errorf("the content was cut off: %w", err), Kind: retry.Transient}
}

// fits reports whether a size can be the one that was listed, in kilobytes: a page to log in
// at that comes in the place of a file usually cannot. Connectors round in their own ways.
func (e entry) fits(size int64) bool {
	kilobytes, err := strconv.ParseFloat(string(e.size), 64)
	return err != nil || float64(size) >= kilobytes*1000-1024 && float64(size) <= kilobytes*1024+1024
}

// time reads the date of a listing; zero if it is none. In which zone it is nobody says. It
// is taken for UTC, which is off by some hours and always the same, and only where a file
// comes without Last-Modified.
func (e entry) time() time.Time {
	const layout = "200601021504"
	if len(e.date) < len(layout) {
		return time.Time{}
	}
	t, _ := time.Parse(layout, string(e.date[:len(layout)]))
	return t
}
