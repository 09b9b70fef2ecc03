package assettest

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/assets"
)

func administrationLaws() []law {
	return []law{
		{"workspaces", testWorkspaces},
		{"workspaces are separate", testWorkspacesApart},
		{guess("configure a workspace"), testConfigureWorkspace},
		{"extensions of a workspace", testWorkspaceExtensions},
		{"configuration of the environment", testEnvironmentConfig},
		{guess("template of workspaces"), testTemplate},
		{"permissions of an admin", testOwnPermissions},
		{"groups", testGroups},
		{"permissions of a group", testGrants},
		{guess("groups in tokens"), testMembers},
		{"roles", testRoles},
		{guess("tokens of another service"), testOtherService},
	}
}

// newWorkspace creates a workspace for one test.
func (s *scratch) newWorkspace(t *testing.T, name string) string {
	t.Helper()
	super := s.as(Caller{Role: "superadmin"})
	id, err := super.CreateWorkspace(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		for w, err := range super.FindWorkspaces(ctx, assets.FindWorkspaces{IDs: []string{id}}) {
			if err == nil {
				err = super.DeleteWorkspace(ctx, id, w.Name)
			}
			if err != nil {
				t.Errorf("clean up: %v", err)
			}
		}
	})
	return id
}

func testWorkspaces(t *testing.T, s *scratch) {
	super := s.as(Caller{Role: "superadmin"})
	name := unique("Bereich Ü")
	id := s.newWorkspace(t, name)
	find := func(f assets.FindWorkspaces) (names []string) {
		t.Helper()
		for w, err := range super.FindWorkspaces(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			if w.CreatedAt.IsZero() {
				t.Errorf("%s has no creation time", w.ID)
			}
			names = append(names, w.Name)
		}
		return names
	}
	for _, f := range []assets.FindWorkspaces{
		{IDs: []string{id}}, {Phrase: name}, {Phrase: name, SortBy: assets.ByCreatedAt, Order: assets.Descending},
	} {
		if got := find(f); !slices.Equal(got, []string{name}) {
			t.Errorf("%+v: got %v", f, got)
		}
	}
	renamed := unique("renamed")
	if err := super.RenameWorkspace(t.Context(), id, renamed); err != nil {
		t.Fatal(err)
	}
	if got := find(assets.FindWorkspaces{IDs: []string{id}}); !slices.Equal(got, []string{renamed}) {
		t.Errorf("after renaming: got %v", got)
	}
	if err := super.DeleteWorkspace(t.Context(), id, name); err == nil {
		t.Fatal("the workspace was deleted although its name differs")
	}
	if err := super.DeleteWorkspace(t.Context(), id, renamed); err != nil {
		t.Fatal(err)
	}
	if got := find(assets.FindWorkspaces{IDs: []string{id}}); len(got) != 0 {
		t.Errorf("after deleting: got %v", got)
	}
	if err := super.DeleteWorkspace(t.Context(), id, renamed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted again: got %v", err)
	}
}

// A new workspace has three categories, and no assets of other workspaces. A token for a deleted
// workspace is rejected.
func testWorkspacesApart(t *testing.T, s *scratch) {
	name := unique("apart")
	id := s.newWorkspace(t, name)
	inside := s.as(Caller{Role: "admin", Workspace: id})
	var names []string
	for c, err := range inside.Categories(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, c.Name)
	}
	if !slices.Equal(sorted(names), []string{"Documents", "Files", "Images"}) {
		t.Errorf("categories: got %v", names)
	}
	if _, err := inside.Category(t.Context(), s.category); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("category of another workspace: got %v", err)
	}
	if err := s.as(Caller{Role: "superadmin"}).DeleteWorkspace(t.Context(), id, name); err != nil {
		t.Fatal(err)
	}
	if err := inside.Ping(t.Context()); !assets.IsAuth(err) {
		t.Errorf("after deleting: got %v", err)
	}
}

func testConfigureWorkspace(t *testing.T, s *scratch) {
	id := s.newWorkspace(t, unique("before"))
	inside := s.as(Caller{Role: "admin", Workspace: id})
	name := unique("after")
	for _, on := range []bool{true, false} {
		w, err := inside.ConfigureWorkspace(t.Context(), id, assets.WorkspaceChanges{Name: &name, AIProcessing: &on})
		if err != nil || w.ID != id || w.Name != name || w.AIProcessing != on {
			t.Errorf("got %+v, %v", w, err)
		}
	}
}

func testWorkspaceExtensions(t *testing.T, s *scratch) {
	s.upload(t, "a.TXT")
	e, err := s.WorkspaceExtensions(t.Context())
	if err != nil || !slices.Contains(e.InUse, "txt") || !slices.Contains(e.Allowed, "txt") {
		t.Errorf("got %+v, %v", e, err)
	}
}

// The test writes the existing value, so that the environment does not change. Only the tests of
// the stand-in verify the effect of a restriction.
func testEnvironmentConfig(t *testing.T, s *scratch) {
	before, err := s.EnvironmentConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.as(Caller{Role: "superadmin"}).SetEnvironmentConfig(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	after, err := s.EnvironmentConfig(t.Context())
	if err != nil || !slices.Equal(after.AllowedExtensions, before.AllowedExtensions) || after.Restricted != before.Restricted {
		t.Errorf("got %+v, %v, want %+v", after, err, before)
	}
}

// The test writes the existing value.
func testTemplate(t *testing.T, s *scratch) {
	super := s.as(Caller{Role: "superadmin"})
	before, err := super.WorkspacesTemplate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := super.SetWorkspacesTemplate(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	after, err := super.WorkspacesTemplate(t.Context())
	if err != nil || !slices.EqualFunc(after, before, func(a, b assets.NewCategory) bool {
		return a.Name == b.Name && slices.Equal(a.Extensions, b.Extensions) && a.Private == b.Private
	}) {
		t.Errorf("got %+v, %v, want %+v", after, err, before)
	}
}

func testOwnPermissions(t *testing.T, s *scratch) {
	p, err := s.Permissions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []assets.Permission{
		assets.AccessCategory, assets.CreateAssets, assets.DeleteAssets, assets.ModifyMetadata, assets.OverwriteAssets,
		assets.ChangeRevisions, assets.DeleteRevisions, assets.CreateFolders, assets.DeleteFolders, assets.ModifyFolderData,
	} {
		if !p.May(what, s.category) {
			t.Errorf("an admin lacks %s", what)
		}
	}
}

// newGroup creates a group for one test.
func (s *scratch) newGroup(t *testing.T, name string) string {
	t.Helper()
	id, err := s.CreateGroup(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := s.DeleteGroup(ctx, id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("clean up: %v", err)
		}
	})
	return id
}

// There is one default group, which cannot be deleted.
func testGroups(t *testing.T, s *scratch) {
	id := s.newGroup(t, unique("group"))
	name := unique("Gruppe Ü")
	if err := s.RenameGroup(t.Context(), id, name); err != nil {
		t.Fatal(err)
	}
	all, err := s.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var standard []string
	for _, g := range all {
		if g.Default {
			standard = append(standard, g.ID)
		}
	}
	if len(standard) != 1 || !slices.Contains(all, assets.Group{ID: id, Name: name}) {
		t.Fatalf("got %+v", all)
	}
	if err := s.DeleteGroup(t.Context(), standard[0]); err == nil {
		t.Fatal("the default group was deleted")
	}
	if err := s.DeleteGroup(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := s.DeleteGroup(t.Context(), id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("again: got %v", err)
	}
}

func testGrants(t *testing.T, s *scratch) {
	group := s.newGroup(t, unique("group"))
	grant := assets.Grant{GroupID: group, Categories: []string{s.category}, Allowed: map[assets.Permission]bool{assets.AccessCategory: true}}
	id, err := s.CreateGrant(t.Context(), grant)
	if err != nil {
		t.Fatal(err)
	}
	check := func(categories []string, allowed assets.Permission, want bool) {
		t.Helper()
		all, err := s.Grants(t.Context(), group)
		if err != nil || len(all) != 1 || all[0].ID != id || all[0].GroupID != group ||
			!slices.Equal(all[0].Categories, categories) || all[0].Allowed[allowed] != want {
			t.Errorf("got %+v, %v", all, err)
		}
	}
	check([]string{s.category}, assets.AccessCategory, true)
	check([]string{s.category}, assets.CreateAssets, false)
	grant.ID, grant.Categories, grant.Allowed = id, nil, map[assets.Permission]bool{assets.CreateAssets: true}
	if err := s.ChangeGrant(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
	check([]string{}, assets.CreateAssets, true)
	check([]string{}, assets.AccessCategory, false)
	if err := s.DeleteGrant(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Grants(t.Context(), group); err != nil || len(all) != 0 {
		t.Errorf("after deleting: got %+v, %v", all, err)
	}
}

// A user has the permissions of the groups in the token. The name of the claim, and the sum of the
// permissions of several groups, are guesses.
func testMembers(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	readers, writers := s.newGroup(t, unique("readers")), s.newGroup(t, unique("writers"))
	for group, what := range map[string]assets.Permission{readers: assets.AccessCategory, writers: assets.ModifyMetadata} {
		grant := assets.Grant{GroupID: group, Categories: []string{s.category}, Allowed: map[assets.Permission]bool{what: true}}
		if _, err := s.CreateGrant(t.Context(), grant); err != nil {
			t.Fatal(err)
		}
	}
	outside := s.newCategory(t, unique("outside"))
	for who, tt := range map[string]struct {
		groups        []string
		reads, writes bool
	}{
		"readers": {[]string{readers}, true, false},
		"writers": {[]string{writers}, false, false},
		"both":    {[]string{readers, writers}, true, true},
	} {
		u := s.as(Caller{Role: "user", Groups: tt.groups})
		_, read := u.Asset(t.Context(), a.ID)
		_, write := u.Update(t.Context(), a.ID, assets.Changes{Description: new(who)})
		if refused(read) == tt.reads || refused(write) == tt.writes {
			t.Errorf("%s: read error %v, write error %v", who, read, write)
		}
		var listed []string
		for c, err := range u.Categories(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, c.ID)
		}
		if slices.Contains(listed, s.category) != tt.reads || slices.Contains(listed, outside) {
			t.Errorf("%s: got the categories %v", who, listed)
		}
		p, err := u.Permissions(t.Context())
		if err != nil || p.May(assets.AccessCategory, s.category) != tt.reads || p.May(assets.ModifyMetadata, s.category) != tt.writes {
			t.Errorf("%s: permissions %v, %v", who, p, err)
		}
	}
}

func refused(err error) bool {
	e, ok := errors.AsType[*assets.Error](err)
	return ok && e.Status == http.StatusForbidden
}

// The roles: users work with assets and folders, admins with a workspace, superadmins with the
// environment.
func testRoles(t *testing.T, s *scratch) {
	for role, tt := range map[string]struct{ administers, rules bool }{
		"user": {false, false}, "admin": {true, false}, "superadmin": {true, true},
	} {
		c := s.as(Caller{Role: role})
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("%s: %v", role, err)
		}
		if _, err := c.Groups(t.Context()); refused(err) == tt.administers {
			t.Errorf("%s, groups: %v", role, err)
		}
		if _, err := c.WorkspacesTemplate(t.Context()); refused(err) == tt.rules {
			t.Errorf("%s, template: %v", role, err)
		}
	}
	if _, err := s.as(Caller{Role: "user"}).CreateCategory(t.Context(), assets.NewCategory{Name: strings.Repeat("x", 9), Extensions: extensions()}); !refused(err) {
		t.Errorf("a user created a category: %v", err)
	}
}

// A role for another service grants nothing; otherwise a wrong --service would not be detected.
func testOtherService(t *testing.T, s *scratch) {
	if err := s.as(Caller{Role: "admin", Service: "another"}).Ping(t.Context()); !assets.IsAuth(err) {
		t.Errorf("got %v", err)
	}
}
