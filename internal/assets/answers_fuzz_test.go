package assets

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"assetferry/internal/retry"
)

// A parrot gives the same answer to every request.
type parrot struct {
	status int
	header http.Header
	body   string
}

func (p *parrot) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, err := io.Copy(io.Discard, r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: p.status, Header: p.header.Clone(), Request: r,
		Body: io.NopCloser(strings.NewReader(p.body)), ContentLength: int64(len(p.body)),
	}, nil
}

// The test verifies that for any answer of a service, every call ends, returns an object with an ID
// or an error, and that no error contains a secret. It verifies that a creating request is
// unconfirmed exactly if the service did not reject it. Status 408 is no rejection: the parrot
// reads the complete request, so only a proxy can have waited for it in vain.
func FuzzClient(f *testing.F) {
	for _, body := range []string{
		"", "{}", "[]", "null", `{"id":"x"}`, `{"items":[]}`, `{"items":[{"id":"x"}],"totalCount":1}`, `{"items":[{"id":"x"}],"totalCount":9}`,
		`{"items":[{"id":"x"}],"totalCount":-1}`, `{"statusCode":413,"message":"m"}`, `{"x":404}`, `{"maxFileSizeInBytesLimit":1e30}`, "<html>", secret,
	} {
		for _, status := range []int{200, 201, 204, 206, 207, 302, 400, 401, 404, 408, 416, 429, 503} {
			f.Add(status, "Retry-After", "1", body)
		}
	}
	f.Add(206, "Content-Range", "bytes 1-3/4", "abc")
	f.Add(416, "Content-Range", "bytes */1", "")
	f.Add(200, "Date", "soon", `{"id":"x"}`)
	f.Add(302, "Location", "http://elsewhere.example/", "")
	f.Fuzz(func(t *testing.T, status int, name, value, body string) {
		if status < 200 || status > 599 {
			return // net/http never returns other statuses
		}
		p := &parrot{status, http.Header{http.CanonicalHeaderKey(name): {value}}, body}
		c := newClient(t, Options{BaseURL: "http://localhost", Transport: p, Retry: retry.Policy{Attempts: 1}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for what, err := range everyCall(ctx, c, p) {
			if ctx.Err() != nil {
				t.Fatalf("%s does not end", what)
			}
			if err != nil && (strings.Contains(err.Error(), secret) || strings.ContainsAny(err.Error(), "\x00\x1b\r")) {
				t.Errorf("%s: the error is not fit to be shown: %q", what, err)
			}
			if bulk, ok := errors.AsType[*BulkError](err); ok && bulk.Err == nil {
				continue // all possible operations are done
			}
			refused := status >= 400 && status < 500 && status != http.StatusRequestTimeout
			if made := strings.HasPrefix(what, "create "); err != nil && errors.Is(err, ErrUnconfirmed) != (made && !refused) {
				t.Errorf("%s, status %d: in doubt is %v: %v", what, status, errors.Is(err, ErrUnconfirmed), err)
			}
		}
	})
}

var errNoID = errors.New("it has no id, and passes")

// named panics if an object was returned without an ID.
func named(id string, err error) error {
	if err == nil && id == "" {
		panic(errNoID)
	}
	return err
}

// everyCall makes each call of the client, and yields its name and its error.
func everyCall(ctx context.Context, c *Client, p *parrot) iter.Seq2[string, error] {
	content := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil }
	calls := []struct {
		what string
		call func() error
	}{
		{"ping", func() error { return c.Ping(ctx) }},
		{"category", func() error { got, err := c.Category(ctx, "x"); return named(got.ID, err) }},
		{"folder", func() error { got, err := c.Folder(ctx, "x", 1); return named(got.ID, err) }},
		{"folders", func() error { _, err := c.Folders(ctx); return err }},
		{"asset", func() error { got, err := c.Asset(ctx, "x"); return named(got.ID, err) }},
		{"update", func() error {
			got, err := c.Update(ctx, "x", Changes{Name: new("n")})
			return named(got.ID, err)
		}},
		{"trash", func() error { return c.Trash(ctx, "x") }},
		{"limits", func() error { _, err := c.Limits(ctx); return err }},
		{"workspaces", func() error { _, err := c.Workspaces(ctx); return err }},
		{"categories", func() error { return last(c.Categories(ctx)) }},
		{"list", func() error { return last(c.List(ctx, ListOptions{FolderID: "x"})) }},
		{"list a page", func() error {
			_, err := c.ListPage(ctx, ListOptions{FolderID: "x"}, 0, func([]byte) bool { return true })
			return err
		}},
		{"create category", func() error {
			id, err := c.CreateCategory(ctx, NewCategory{Name: "n", Extensions: []string{"jpg"}})
			return named(id, err)
		}},
		{"create folder", func() error {
			id, err := c.CreateFolder(ctx, NewFolder{Name: "n", CategoryID: "x"})
			return named(id, err)
		}},
		{"create workspace", func() error { id, err := c.CreateWorkspace(ctx, "n"); return named(id, err) }},
		{"create asset", func() error {
			got, err := c.Upload(ctx, Upload{CategoryID: "x", Filename: "n.jpg", Size: 3, Open: content})
			return named(got.ID, err)
		}},
		{"create replacement", func() error {
			got, err := c.Replace(ctx, "x", Replacement{Filename: "n.jpg", Size: 3, Open: content})
			return named(got.ID, err)
		}},
		{"create copy", func() error { return c.Copy(ctx, Target{CategoryID: "x"}, Transfer{AssetID: "x"}) }},
		{"create by moving", func() error {
			return c.Move(ctx, Target{CategoryID: "x"}, Transfer{AssetID: "x", IfTaken: RenameIt})
		}},
		{"move", func() error { return c.Move(ctx, Target{CategoryID: "x"}, Transfer{AssetID: "x"}) }},
		{"delete", func() error { return c.Delete(ctx, "x") }},
		{"restore", func() error { return c.Restore(ctx, Restoration{AssetID: "x"}) }},
		{"validate restore", func() error { _, err := c.ValidateRestore(ctx, "x"); return err }},
		{"list trash", func() error { return last(c.Trashed(ctx)) }},
		{"recent", func() error { return last(c.Recent(ctx)) }},
		{"mark used", func() error { return c.MarkUsed(ctx, "x") }},
		{"names taken", func() error { _, err := c.NamesTaken(ctx, Target{CategoryID: "x"}, "n.jpg"); return err }},
		{"offset", func() error { _, err := c.Offset(ctx, "x", "", ""); return err }},
		{"revisions", func() error { _, err := c.Revisions(ctx, "x"); return err }},
		{"use revision", func() error { return c.UseRevision(ctx, "x", "y") }},
		{"delete revision", func() error { return c.DeleteRevision(ctx, "x", "y") }},
		{"download", func() error { return downloaded(ctx, c, p, 0) }},
		{"download part", func() error { return downloaded(ctx, c, p, 1) }},
	}
	return func(yield func(string, error) bool) {
		for _, c := range calls {
			if !yield(c.what, c.call()) {
				return
			}
		}
	}
}

// last reads a list and returns its error.
func last[T any](items iter.Seq2[T, error]) (err error) {
	for _, e := range items {
		if err != nil {
			panic("something comes after an error")
		}
		err = e
	}
	return err
}

// downloaded reads a content, and verifies that it contains only received bytes.
func downloaded(ctx context.Context, c *Client, p *parrot, offset int64) error {
	r, _, err := c.Download(ctx, "http://localhost/x", offset)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(r)
	if err == nil && !bytes.HasSuffix([]byte(p.body), got) {
		panic("another content than came")
	}
	return errors.Join(err, r.Close())
}
