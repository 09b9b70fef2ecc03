// Package assettest holds the law of the service: what the client and everything
// above it rely on. It runs on the stand-in and, opted in, on a real service, so
// that the one stays honest about the other.
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

// A law is something that the service is relied upon to do.
type law struct {
	name string
	run  func(*testing.T, *scratch)
}

// guess marks the name of a law that nothing public says of the service. Where a
// real service breaks one, the stand-in and whatever relies on it is wrong.
func guess(name string) string { return "guess: " + name }

func laws() []law {
	return slices.Concat(structureLaws(), uploadLaws(), imageLaws(), privateLaws(), searchLaws(), trashLaws(), transferLaws(), revisionLaws(), administrationLaws())
}

// A Caller is whom a client acts for.
type Caller struct {
	Role      string   // "user", "admin" or "superadmin"
	Workspace string   // empty: the one that is tested
	Groups    []string // of a user
	Service   string   // the key under auth; empty: that of the service that is tested
}

// A NewClient makes clients of the service that is tested.
type NewClient func(t testing.TB, as Caller) *assets.Client

// InScratchWorkspace makes clients whose workspace is a new one. It is deleted
// with all that is in it when the test ends.
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

// Run tests a service. It works in categories, workspaces and groups of its own,
// with unique names, and deletes them in the end.
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
	*assets.Client // of an admin
	as             func(Caller) *assets.Client
	category       string
	categories     []string // all that were made
	ids            []string // of what was uploaded
}

func newScratch(t *testing.T, newClient NewClient) *scratch {
	t.Helper()
	s := &scratch{as: func(who Caller) *assets.Client { return newClient(t, who) }}
	s.Client = s.as(Caller{Role: "admin"})
	s.category = s.newCategory(t, unique("scratch"))
	t.Cleanup(func() { s.clean(t) })
	return s
}

// clean deletes what was made. The test's own context is over by now.
func (s *scratch) clean(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for _, id := range s.categories {
		if err := s.DeleteCategory(ctx, id, extensions()...); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("clean up: %v", err)
		}
	}
}

// extensions are all that scratch categories take.
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

// keep has a category deleted in the end.
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
