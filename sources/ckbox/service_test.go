package ckbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/token"
	"assetferry/sources"
	"assetferry/sources/ckbox"
	"assetferry/sources/sourcetest"
)

// client returns a client of the sandbox service with tokens of a role.
func client(tb testing.TB, s sandboxtest.Running, role string, readOnly bool) *assets.Client {
	tb.Helper()
	minter, err := token.NewMinter(token.NewSecret(string(s.Environment.AccessKey)), token.Claims{Environment: s.Environment.ID, Role: role})
	must(tb, err)
	c, err := assets.New(assets.Options{BaseURL: s.URL, Tokens: minter, ReadOnly: readOnly})
	must(tb, err)
	tb.Cleanup(c.CloseIdleConnections)
	return c
}

func upload(tb testing.TB, c *assets.Client, category, folder, name string, content []byte) assets.Asset {
	tb.Helper()
	a, err := c.Upload(tb.Context(), assets.Upload{CategoryID: category, FolderID: folder, Filename: name, Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }})
	must(tb, err)
	return a
}

// TestService runs the shared source tests against a sandbox service, with the role of a user and a
// client that cannot write. The assets are in categories and folders, public and private, some of
// them with equal names, in several listing orders of the service.
func TestService(t *testing.T) {
	for _, reading := range sandboxtest.Readings() {
		t.Run(reading, func(t *testing.T) { testService(t, sandboxtest.Read(t, reading)) })
	}
}

func testService(t *testing.T, reading profile.Profile) {
	var calls atomic.Int64
	start := time.Now()
	s := sandboxtest.Run(t, sandbox.Options{Profile: reading, Now: func() time.Time { // all times differ
		return start.Add(time.Duration(calls.Add(1)) * time.Millisecond)
	}})
	admin := client(t, s, "admin", false)
	var want []sources.Key
	content := bytes.Repeat([]byte("content"), 1<<14)
	for _, category := range []assets.NewCategory{{Name: "Open", Extensions: []string{"txt"}}, {Name: "Secret", Extensions: []string{"txt"}, Private: true}} {
		id, err := admin.CreateCategory(t.Context(), category)
		must(t, err)
		folder, err := admin.CreateFolder(t.Context(), assets.NewFolder{CategoryID: id, Name: "a folder"})
		must(t, err)
		inner, err := admin.CreateFolder(t.Context(), assets.NewFolder{ParentID: folder, Name: "within/it"})
		must(t, err)
		for path, in := range map[string]string{"": "", "a folder/": folder, "a folder/within_it/": inner} {
			for n := range 2 {
				a := upload(t, admin, id, in, "same.txt", content[:n*len(content)])
				name := "same.txt"
				if n > 0 {
					name = "same (" + a.ID + ").txt"
				}
				want = append(want, sources.Key(category.Name+"/"+path+name))
			}
		}
	}
	reader := client(t, s, "user", true)
	must(t, sourcetest.Check(t.Context(), ckbox.New(reader, ckbox.Options{Environment: s.Environment.ID, Workspace: s.Environment.ID}), want...))
}

// TestRevisions verifies that the current revision is read, and that a previous revision is refused
// as soon as a new one exists.
func TestRevisions(t *testing.T) {
	s := sandboxtest.Run(t, sandbox.Options{})
	admin := client(t, s, "admin", false)
	id, err := admin.CreateCategory(t.Context(), assets.NewCategory{Name: "Texts", Extensions: []string{"txt"}})
	must(t, err)
	a := upload(t, admin, id, "", "text.txt", []byte("first"))
	src := ckbox.New(admin, ckbox.Options{Environment: s.Environment.ID, Workspace: s.Environment.ID})
	list := func() (o sources.Object) {
		for each, err := range src.Objects(t.Context(), "") {
			must(t, err)
			o = each
		}
		return o
	}
	before := list()
	_, err = admin.Replace(t.Context(), a.ID, assets.Replacement{Filename: "text.txt", Size: 5,
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("other")), nil }})
	must(t, err)
	if _, err := src.Open(t.Context(), before, 0); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("the version before: %v", err)
	}
	r, err := src.Open(t.Context(), list(), 2)
	must(t, err)
	defer r.Close()
	if content, err := io.ReadAll(r); string(content) != "her" || err != nil {
		t.Errorf("got %q, %v", content, err)
	}
}

// TestRefused verifies that an account without access gets an error that names the next step.
func TestRefused(t *testing.T) {
	s := sandboxtest.Run(t, sandbox.Options{})
	s.Environment.AccessKey = "another key that is of no use for this one"
	src := ckbox.New(client(t, s, "user", true), ckbox.Options{Environment: s.Environment.ID, Workspace: s.Environment.ID})
	for _, err := range src.Objects(t.Context(), "") {
		e, ok := errors.AsType[*sources.Error](err)
		if !ok || !assets.IsAuth(err) || e.Hint != "check the environment ID, the access key, the workspace and --service" {
			t.Errorf("got %v", err)
		}
	}
}
