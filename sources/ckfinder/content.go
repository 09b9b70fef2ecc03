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

// smallContent is the size in bytes up to which a rest is read, so that the connection can be reused.
const smallContent = 64 << 10

// A content is a response with bytes of a file, or with none if the requested range does not exist.
type content struct {
	answer *http.Response
	*remote.Body
}

// content requests a range of a file, or all of it if bytes is "".
func (s *Source) content(ctx context.Context, at place, name, bytes string) (*content, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	a, err := s.deliver(ctx, at, name, bytes)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	err = checkContent(a, name) // it may replace the body
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

// deliver requests a file with Proxy or, from older connectors, with DownloadFile.
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
	problem := troubleIn(a)
	if problem == nil || strconv.Itoa(problem.Number) != invalidCommand {
		return a, nil
	}
	a.Body.Close()
	s.old.Store(true)
	return s.get(ctx, "DownloadFile", parameters, bytes)
}

// isContent reports whether a response looks like a file, because some connectors return errors
// with a success status.
func isContent(a *http.Response) bool {
	return a.StatusCode == http.StatusPartialContent || a.StatusCode == http.StatusOK && !remote.IsJSON(a)
}

// troubleIn returns the error in a response. The body can still be read.
func troubleIn(a *http.Response) *trouble {
	start := remote.Start(a, smallContent)
	var problem answer
	if json.Unmarshal(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), &problem) != nil {
		return nil
	}
	return problem.trouble()
}

// pages are the extensions of files that may look like a web page.
var pages = []string{".htm", ".html", ".shtml", ".xhtml", ".xml", ".svg", ".txt", ".md", ".php", ".tpl"}

// checkContent returns an error if a response is not a file.
func checkContent(a *http.Response, name string) error {
	extension := strings.ToLower(path.Ext(name))
	var problem *trouble
	if !isContent(a) {
		problem = troubleIn(a)
	}
	if problem != nil && problem.Number == 0 && a.StatusCode == http.StatusOK && extension == ".json" {
		problem = nil // the file may contain such a text
	}
	encoding := a.Header.Get("Content-Encoding")
	switch {
	case a.StatusCode == http.StatusRequestedRangeNotSatisfiable:
	case problem != nil, a.StatusCode != http.StatusOK && a.StatusCode != http.StatusPartialContent:
		return refused(a, problem)
	case isPage(a) && !slices.Contains(pages, extension):
		return &remote.Failure{Status: a.StatusCode, Err: errPage, Kind: retry.Fatal, Auth: true}
	case remote.IsDocument(a, name):
		return odd("%w", remote.ErrDocument)
	case encoding != "" && encoding != "identity":
		return odd("the connector sent content encoded as %s instead of the stored bytes", encoding)
	}
	return nil
}

// isPage reports whether the content type of a response is that of a web page.
func isPage(a *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return a.StatusCode == http.StatusOK && kind == "text/html"
}

// mayBeOther reports whether a possible file looks like a login page. The session is checked then.
func mayBeOther(a *http.Response) bool {
	return isPage(a) || a.StatusCode == http.StatusOK && remote.IsJSON(a)
}

// Close closes the connection, unless the rest is small.
func (c *content) Close() {
	if n := c.answer.ContentLength; n >= 0 && n <= smallContent {
		_, _ = io.Copy(io.Discard, c)
	}
	c.Body.Close()
}

// span returns the offset of a response and the size of the file; -1 if unknown.
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

// none reports whether the requested range does not exist.
func (c *content) none() bool {
	return c.answer.StatusCode == http.StatusRequestedRangeNotSatisfiable
}

// modified returns the time of the last change in a response. It ignores the time of the response
// itself, which some scripts return.
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

// validator returns the text that identifies the version of a file, or "".
func (c *content) validator() string {
	if tag := c.answer.Header.Get("ETag"); tag != "" {
		return tag
	}
	if t := c.modified(); !t.IsZero() {
		return t.Format(time.RFC3339)
	}
	return ""
}

// versionTag joins the values in the listing of a file and its validator.
func versionTag(e entry, validator string) string {
	return strings.ReplaceAll(string(e.date), " ", "") + " " + strings.ReplaceAll(string(e.size), " ", "") + " " + validator
}

// validatorIn returns the validator in a version tag.
func validatorIn(tag string) string {
	_, rest, _ := strings.Cut(tag, " ")
	_, validator, _ := strings.Cut(rest, " ")
	return validator
}

// look requests the exact values of a file. A refused file gets an obstacle.
func (s *Source) look(ctx context.Context, at place, e entry, o *sources.Object) error {
	var m measure
	err := patiently(ctx, func(ctx context.Context) (err error) {
		m, err = s.measure(ctx, at, e.name)
		return err
	})
	if err == nil && !e.fits(m.size) {
		err = odd("the connector sent %d bytes for a file of about %s KB", m.size, e.size)
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

// A measure has the exact values of a file.
type measure struct {
	size      int64
	modified  time.Time
	validator string
}

// measure requests the first byte; the response contains the size. Otherwise it counts the bytes.
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
		return measure{}, odd("the connector returned no file size")
	}
	return m, nil
}

// cutOff returns the failure of an interrupted response. It may concern one file only.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &remote.Failure{Status: http.StatusOK, Err: fmt.Errorf("the download was interrupted: %w", err), Kind: retry.Transient}
}

// fits reports whether a size agrees with the listed one in kilobytes. The size of a login page
// usually does not. Connectors round in different ways.
func (e entry) fits(size int64) bool {
	kilobytes, err := strconv.ParseFloat(string(e.size), 64)
	return err != nil || float64(size) >= kilobytes*1000-1024 && float64(size) <= kilobytes*1024+1024
}

// time returns the date in a listing, or zero. Its time zone is unknown. It is read as UTC, which
// may differ by some hours, but always by the same. It is used only for files without
// Last-Modified.
func (e entry) time() time.Time {
	const layout = "200601021504"
	if len(e.date) < len(layout) {
		return time.Time{}
	}
	t, _ := time.Parse(layout, string(e.date[:len(layout)]))
	return t
}
