// Package assettest defines the law of the service: the behaviour that the client and its callers
// rely on. It runs on the stand-in and, if enabled, on a real service, so that both behave alike.
package assettest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"image"
	"image/png"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/assets"
)

// A law is one behaviour that the client relies on.
type law struct {
	name string
	run  func(*testing.T, *scratch)
}

// guess marks the name of a law that is not documented. If a real service violates it, the stand-in
// and the code that relies on it are wrong.
func guess(name string) string { return "guess: " + name }

func laws() []law {
	return slices.Concat(structureLaws(), uploadLaws(), imageLaws(), privateLaws(), searchLaws(), trashLaws(), transferLaws(), revisionLaws(), administrationLaws())
}

// A Caller is the identity of a client.
type Caller struct {
	Role      string   // "user", "admin" or "superadmin"
	Workspace string   // empty: the tested workspace
	Groups    []string // groups of a user
	Service   string   // key under auth; empty: that of the tested service
}

// A NewClient returns a client of the tested service.
type NewClient func(t testing.TB, as Caller) *assets.Client

// InScratchWorkspace returns a NewClient for a new workspace, which is deleted with its contents at
// the end of the test.
func InScratchWorkspace(t *testing.T, newClient NewClient) NewClient {
	t.Helper()
	owner, name := newClient(t, Caller{Role: "superadmin"}), unique("law")
	id, err := owner.CreateWorkspace(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := owner.DeleteWorkspace(ctx, id, name); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	return func(t testing.TB, as Caller) *assets.Client {
		as.Workspace = cmp.Or(as.Workspace, id)
		return newClient(t, as)
	}
}

// Run tests a service. It uses its own categories, workspaces and groups with unique names, and
// deletes them at the end.
func Run(t *testing.T, newClient NewClient) {
	guesses := 0
	for _, l := range laws() {
		if strings.HasPrefix(l.name, guess("")) {
			guesses++
		}
		t.Run(l.name, func(t *testing.T) { l.run(t, newScratch(t, newClient)) })
	}
	t.Logf("%d cases, including %d guesses", len(laws()), guesses)
}

// A scratch is a category for one test.
type scratch struct {
	*assets.Client // with the role of an admin
	as             func(Caller) *assets.Client
	category       string
	categories     []string // IDs of all created categories
	ids            []string // IDs of uploaded assets
}

func newScratch(t *testing.T, newClient NewClient) *scratch {
	t.Helper()
	s := &scratch{as: func(who Caller) *assets.Client { return newClient(t, who) }}
	s.Client = s.as(Caller{Role: "admin"})
	s.category = s.newCategory(t, unique("scratch"))
	t.Cleanup(func() { s.clean(t) })
	return s
}

// clean deletes the created objects. It needs a new context, because that of the test has ended.
func (s *scratch) clean(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for _, id := range s.categories {
		if err := s.DeleteCategory(ctx, id, extensions()...); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("clean up: %v", err)
		}
	}
}

// extensions returns the extensions that scratch categories allow.
func extensions() []string { return []string{"jpg", "png", "txt"} }

func unique(name string) string { return "assetferry test " + name + " " + rand.Text() }

func (s *scratch) newCategory(t *testing.T, name string) string {
	t.Helper()
	id, err := s.CreateCategory(t.Context(), assets.NewCategory{Name: name, Extensions: extensions()})
	if err != nil {
		t.Fatal(err)
	}
	s.keep(id)
	return id
}

// keep registers a category for deletion at the end.
func (s *scratch) keep(category string) { s.categories = append(s.categories, category) }

func (s *scratch) newFolder(t *testing.T, n assets.NewFolder) string {
	t.Helper()
	id, err := s.CreateFolder(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (s *scratch) try(t *testing.T, u assets.Upload, content []byte) (assets.Asset, error) {
	t.Helper()
	u.Size = int64(len(content))
	u.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	a, err := s.Upload(t.Context(), u)
	if a.ID != "" {
		s.ids = append(s.ids, a.ID)
	}
	return a, err
}

func (s *scratch) upload(t *testing.T, name string) assets.Asset {
	t.Helper()
	return s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: name}, []byte("content of "+name))
}

func (s *scratch) uploadTo(t *testing.T, u assets.Upload, content []byte) assets.Asset {
	t.Helper()
	a, err := s.try(t, u, content)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (s *scratch) list(t *testing.T, o assets.ListOptions) []assets.Asset {
	t.Helper()
	var all []assets.Asset
	for a, err := range s.List(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

func idsOf(all []assets.Asset) []string {
	var ids []string
	for _, a := range all {
		ids = append(ids, a.ID)
	}
	return ids
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func long(n int) []byte { return []byte(strings.Repeat("0123456789abcdef", n/16)) }
