package permissions_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/assets"
	"assetferry/internal/permissions"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/token"
)

// A deed is what a permission allows. It returns the error of a user who tries it with objects that
// an administrator made.
type deed struct {
	permission assets.Permission
	try        func(t *testing.T, admin, user *assets.Client, category string) error
}

func content(text string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte(text))), nil }
}

// uploaded returns an asset with two revisions, and the ID of the first one.
func uploaded(t *testing.T, admin *assets.Client, category string) (id, revision string) {
	t.Helper()
	a, err := admin.Upload(t.Context(), assets.Upload{CategoryID: category, Filename: "a.txt", Size: 1, Open: content("a")})
	if err == nil {
		_, err = admin.Replace(t.Context(), a.ID, assets.Replacement{Filename: "a.txt", Size: 1, Open: content("b")})
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := admin.Revisions(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	old := slices.IndexFunc(all, func(r assets.Revision) bool { return !r.Current })
	return a.ID, all[old].ID
}

func folder(t *testing.T, admin *assets.Client, category string) string {
	t.Helper()
	id, err := admin.CreateFolder(t.Context(), assets.NewFolder{Name: "f", CategoryID: category})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func deeds() []deed {
	onAsset := func(do func(t *testing.T, user *assets.Client, id, revision string) error) func(*testing.T, *assets.Client, *assets.Client, string) error {
		return func(t *testing.T, admin, user *assets.Client, category string) error {
			id, revision := uploaded(t, admin, category)
			return do(t, user, id, revision)
		}
	}
	return []deed{
		{assets.AccessCategory, func(t *testing.T, _, user *assets.Client, category string) error {
			_, err := user.Category(t.Context(), category)
			return err
		}},
		{assets.CreateAssets, func(t *testing.T, _, user *assets.Client, category string) error {
			_, err := user.Upload(t.Context(), assets.Upload{CategoryID: category, Filename: "n.txt", Size: 1, Open: content("n")})
			return err
		}},
		{assets.ModifyMetadata, onAsset(func(t *testing.T, user *assets.Client, id, _ string) error {
			_, err := user.Update(t.Context(), id, assets.Changes{Description: new("d")})
			return err
		})},
		{assets.OverwriteAssets, onAsset(func(t *testing.T, user *assets.Client, id, _ string) error {
			_, err := user.Replace(t.Context(), id, assets.Replacement{Filename: "a.txt", Size: 1, Open: content("c")})
			return err
		})},
		{assets.DeleteAssets, onAsset(func(t *testing.T, user *assets.Client, id, _ string) error { return user.Trash(t.Context(), id) })},
		{assets.ChangeRevisions, onAsset(func(t *testing.T, user *assets.Client, id, revision string) error {
			return user.UseRevision(t.Context(), id, revision)
		})},
		{assets.DeleteRevisions, onAsset(func(t *testing.T, user *assets.Client, id, revision string) error {
			return user.DeleteRevision(t.Context(), id, revision)
		})},
		{assets.CreateFolders, func(t *testing.T, _, user *assets.Client, category string) error {
			_, err := user.CreateFolder(t.Context(), assets.NewFolder{Name: "n", CategoryID: category})
			return err
		}},
		{assets.ModifyFolderData, func(t *testing.T, admin, user *assets.Client, category string) error {
			return user.RenameFolder(t.Context(), folder(t, admin, category), "renamed")
		}},
		{assets.DeleteFolders, func(t *testing.T, admin, user *assets.Client, category string) error {
			return user.DeleteFolder(t.Context(), folder(t, admin, category))
		}},
	}
}

// The test verifies with the tokens of two other users, for each permission and category, that they
// can do what they could before and what the table says, and nothing else. The third group is not in
// the table.
func TestUsersCanDoExactlyThis(t *testing.T) {
	s := sandboxtest.Run(t, sandbox.Options{})
	client := func(role string, groups ...string) *assets.Client {
		minter, err := token.NewMinter(token.NewSecret(string(s.Environment.AccessKey)), token.Claims{Environment: s.Environment.ID, Role: role, Groups: groups})
		if err != nil {
			t.Fatal(err)
		}
		c, err := assets.New(assets.Options{BaseURL: s.URL, Tokens: minter})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	admin := client("admin")
	categories := map[string]string{}
	for _, name := range []string{"Press", "Archive", "Secret"} {
		id, err := admin.CreateCategory(t.Context(), assets.NewCategory{Name: name, Extensions: []string{"txt"}})
		if err != nil {
			t.Fatal(err)
		}
		categories[name] = id
	}
	want := map[string]bool{} // group, category and permission
	for _, name := range []string{"editors", "others"} {
		id, err := admin.CreateGroup(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		g := assets.Grant{GroupID: id, Categories: []string{categories["Archive"]}, Allowed: map[assets.Permission]bool{assets.AccessCategory: true, assets.CreateFolders: true}}
		if _, err := admin.CreateGrant(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		want[name+"Archive"+string(assets.AccessCategory)], want[name+"Archive"+string(assets.CreateFolders)] = true, true
	}
	var rows []permissions.Row
	for n, p := range permissions.Known() { // half of them here, half of them there
		in := []string{"Press", "Archive"}[n%2]
		rows = append(rows, permissions.Row{Group: "editors", Category: in, Permissions: []assets.Permission{assets.AccessCategory, p}},
			permissions.Row{Group: "new", Category: "Press", Permissions: []assets.Permission{p}})
		want["editors"+in+string(p)], want["editorsPress"+string(assets.AccessCategory)], want["newPress"+string(p)] = true, true, true
	}
	table := permissions.NewTable(rows)
	for range 2 { // the second time adds nothing
		if _, err := permissions.Apply(t.Context(), permissions.In(admin), table); err != nil {
			t.Fatal(err)
		}
	}
	all, err := admin.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if g.Default {
			continue
		}
		user := client("user", g.ID)
		for name, id := range categories {
			for _, d := range deeds() {
				expected := want[g.Name+name+string(d.permission)] && want[g.Name+name+string(assets.AccessCategory)]
				err := d.try(t, admin, user, id)
				if (err == nil) != expected || err != nil && !strings.Contains(fmt.Sprint(err), "403") {
					t.Errorf("group %s, category %s: %s: got %v, allowed %v", g.Name, name, d.permission, err, expected)
				}
			}
		}
	}
	if len(all) != 4 {
		t.Errorf("got groups %+v", all)
	}
}
