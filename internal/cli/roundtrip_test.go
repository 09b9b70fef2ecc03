package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/assets"
	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"

	"github.com/google/go-cmp/cmp"
)

// everyKind fills a service with a library of every kind of metadata, structure and name.
func everyKind(t *testing.T, s *service) {
	t.Helper()
	minter, err := token.NewMinter(token.NewSecret(string(s.env.AccessKey)), token.Claims{Environment: s.env.ID})
	must(t, err)
	c, err := assets.New(assets.Options{BaseURL: s.url, Tokens: minter})
	must(t, err)
	defer c.CloseIdleConnections()
	category := func(name string, private bool) string {
		id, err := c.CreateCategory(t.Context(), assets.NewCategory{Name: name, Extensions: []string{"txt", "json", "xmp", "jpg"}, Private: private})
		must(t, err)
		return id
	}
	folder := func(in assets.NewFolder) string {
		id, err := c.CreateFolder(t.Context(), in)
		must(t, err)
		return id
	}
	open := func(content string) func(context.Context) (io.ReadCloser, error) {
		return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
	}
	upload := func(category, folder, name, content string, ch assets.Changes) string {
		a, err := c.Upload(t.Context(), assets.Upload{CategoryID: category, FolderID: folder, Filename: name, Size: int64(len(content)), Open: open(content)})
		must(t, err)
		if ch.Description != nil || ch.Tags != nil || ch.CustomAttributes != nil {
			_, err = c.Update(t.Context(), a.ID, ch)
			must(t, err)
		}
		return a.ID
	}
	open1, secret := category("Press", false), category("Board: minutes", true)
	year := folder(assets.NewFolder{CategoryID: open1, Name: "2026"})
	spring := folder(assets.NewFolder{ParentID: year, Name: "Spring & summer, 100%"})
	upload(open1, "", "plain.txt", "plain", assets.Changes{})
	upload(open1, "", "Plain.txt", "other case", assets.Changes{})
	upload(open1, spring, "full.txt", strings.Repeat("full", 1<<18), assets.Changes{
		Description: new("What <it> shows,\nin two lines & \"quoted\""), Tags: &[]string{"harbour", "two words", "Größe"},
		CustomAttributes: map[string]any{"Credit": "Jane", "title": "A title", "category": "mine", "rights.until": "2030-01-01"},
	})
	upload(open1, spring, "same.txt", "first", assets.Changes{Description: new("the first")})
	upload(open1, spring, "same.txt", "second", assets.Changes{Description: new("the second")})
	upload(open1, year, "data.json", `{"description": "not of anything"}`, assets.Changes{Tags: &[]string{"data"}})
	upload(open1, year, "full.xmp", "no XMP", assets.Changes{})
	upload(open1, year, "full.jpg", "no JPEG", assets.Changes{})
	upload(secret, "", "Ünïcödé: a?b.txt", "secret", assets.Changes{Description: new("Only for some")})
	upload(secret, folder(assets.NewFolder{CategoryID: secret, Name: "con"}), "empty.txt", "", assets.Changes{})
	twice := upload(secret, "", "twice.txt", "before", assets.Changes{Tags: &[]string{"kept"}})
	_, err = c.Replace(t.Context(), twice, assets.Replacement{Filename: "twice.txt", Size: 5, Open: open("after")})
	must(t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// assetLines returns all fields of all assets of a service, one per line.
func (s *service) assetLines(t *testing.T) (lines []string) {
	t.Helper()
	var categories struct {
		Items []struct {
			Name      string
			IsPrivate bool
		}
	}
	must(t, s.get("/categories?limit=500", &categories))
	private := map[string]bool{}
	for _, c := range categories.Items {
		private[c.Name] = c.IsPrivate
	}
	all, err := s.assets()
	must(t, err)
	for _, a := range all {
		var full struct {
			Tags     []string
			Metadata struct {
				Description      string
				CustomAttributes map[string]any
			}
		}
		must(t, s.get("/assets/"+a.id, &full))
		delete(full.Metadata.CustomAttributes, "assetferry")
		slices.Sort(full.Tags)
		fields, err := json.Marshal([]any{full.Metadata.Description, full.Tags, full.Metadata.CustomAttributes})
		must(t, err)
		text := bytes.ReplaceAll(bytes.ReplaceAll(fields, []byte("null"), []byte("[]")), []byte("{}"), []byte("[]"))
		lines = append(lines, fmt.Sprintf("%s private=%t %s %x", a.place(), private[a.category], text, sha256.Sum256(a.content)))
	}
	slices.Sort(lines)
	return lines
}

// The test migrates a library of every kind from one environment to another, and through an export
// to a third one. It verifies that all fields and all bytes are the same everywhere.
func TestRoundTrip(t *testing.T) {
	from := startService(t, sandbox.Options{})
	everyKind(t, from)
	want := from.assetLines(t)
	if len(want) != 11 {
		t.Fatalf("%d assets: %q", len(want), want)
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "assetferry.yaml"), []byte("on_collision: keep\nmapping:\n  rules:\n    - use: export\n"), 0o600))
	opens := []string{"ASSETFERRY_SOURCE_URL=" + from.url, "ASSETFERRY_SOURCE_ACCESS_KEY=" + string(from.env.AccessKey)}
	arrives := func(name, source string) {
		t.Helper()
		to := startService(t, sandbox.Options{Environments: []tokens.Environment{{ID: "0123456789abcdef0123", AccessKey: from.env.AccessKey}}})
		env := append(to.variables(), opens...)
		assetferry(t, dir, env, "migrate", source, "--state", name+".db").must(t, exit.CodeDone)
		if diff := cmp.Diff(want, to.assetLines(t)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		assetferry(t, dir, env, "verify", "--content", "--state", name+".db").must(t, exit.CodeDone)
		out := assetferry(t, dir, env, "migrate", source, "--state", name+".db").must(t, exit.CodeDone)
		if !strings.Contains(out, "unchanged") || len(to.assetLines(t)) != len(want) {
			t.Errorf("%s, again: %s", name, out)
		}
		export := filepath.Join(dir, name+"-out")
		assetferry(t, dir, to.variables(), "export", export).must(t, exit.CodeDone)
	}
	arrives("environment", "ckbox://"+from.env.ID)
	assetferry(t, dir, from.variables(), "export", "files").must(t, exit.CodeDone)
	arrives("files", "files")
	b := startBucket(t, "backups")
	opens = append(opens, append(b.variables(), "AWS_ACCESS_KEY_ID=anybody", "AWS_SECRET_ACCESS_KEY=anything")...)
	assetferry(t, dir, append(from.variables(), opens...), "export", "s3://backups/library").must(t, exit.CodeDone)
	arrives("bucket", "s3://backups/library")
}
