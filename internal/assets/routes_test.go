package assets

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/outbound"
)

// The test verifies the exact requests on the wire.
func TestRequests(t *testing.T) {
	tests := []struct {
		name   string
		answer string
		call   func(context.Context, *Client) error
		want   string // method, URL and body
	}{
		{"category", `200 {"id":"x"}`, func(ctx context.Context, c *Client) error { _, err := c.Category(ctx, "a b/c"); return err },
			"GET /categories/a%20b%2Fc?workspaceId=w "},
		{"categories", `200 {"items":[],"totalCount":0}`, func(ctx context.Context, c *Client) error {
			for _, err := range c.Categories(ctx) {
				return err
			}
			return nil
		}, "GET /categories?limit=500&offset=0&workspaceId=w "},
		{"create category", `201 {"id":"x"}`, func(ctx context.Context, c *Client) error {
			_, err := c.CreateCategory(ctx, NewCategory{Name: "Ü", Extensions: []string{"jpg", "png"}})
			return err
		}, `POST /admin/categories?workspaceId=w {"name":"Ü","extensions":["jpg","png"]}`},
		{"create private category", `201 {"id":"x"}`, func(ctx context.Context, c *Client) error {
			_, err := c.CreateCategory(ctx, NewCategory{Name: "n", Extensions: []string{"jpg"}, Private: true})
			return err
		}, `POST /admin/categories?workspaceId=w {"name":"n","extensions":["jpg"],"isPrivate":true}`},
		{"folders", `200 {"items":[]}`, func(ctx context.Context, c *Client) error { _, err := c.Folders(ctx); return err },
			"GET /folders?workspaceId=w "},
		{"folder", `200 {"id":"x"}`, func(ctx context.Context, c *Client) error { _, err := c.Folder(ctx, "f", 2); return err },
			"GET /folders/f?depth=2&workspaceId=w "},
		{"create folder", `201 {"id":"x"}`, func(ctx context.Context, c *Client) error {
			_, err := c.CreateFolder(ctx, NewFolder{Name: "n", CategoryID: "c"})
			return err
		}, `POST /folders?workspaceId=w {"categoryId":"c","name":"n"}`},
		{"create nested folder", `201 {"id":"x"}`, func(ctx context.Context, c *Client) error {
			_, err := c.CreateFolder(ctx, NewFolder{Name: "n", CategoryID: "c", ParentID: "p"})
			return err
		}, `POST /folders?workspaceId=w {"name":"n","parentId":"p"}`},
		{"asset", `200 {"id":"x"}`, func(ctx context.Context, c *Client) error { _, err := c.Asset(ctx, "-a_"); return err },
			"GET /assets/-a_ "},
		{"categories in use", `200 {"items":[],"totalCount":0}`, func(ctx context.Context, c *Client) error {
			for _, err := range c.CategoriesInUse(ctx) {
				return err
			}
			return nil
		}, "GET /admin/categories?limit=500&offset=0&workspaceId=w "},
		{"order categories", "204", func(ctx context.Context, c *Client) error {
			return c.OrderCategories(ctx, []string{"b", "a"})
		}, `PUT /admin/categories/order?workspaceId=w {"categoriesIds":["b","a"]}`},
		{"branch", `200 {"id":"a/b"}`, func(ctx context.Context, c *Client) error { _, err := c.Branch(ctx, "a/b", 1); return err },
			"GET /folders/a%2Fb/branch?depth=1&workspaceId=w "},
		{"rename folder", "200 {}", func(ctx context.Context, c *Client) error { return c.RenameFolder(ctx, "f", "ü") },
			`PUT /folders/f?workspaceId=w {"name":"ü"}`},
		{"delete folder", "204", func(ctx context.Context, c *Client) error { return c.DeleteFolder(ctx, "f") },
			"DELETE /folders/f?workspaceId=w "},
		{"search", `200 {"items":[]}`, func(ctx context.Context, c *Client) error {
			for _, err := range c.Search(ctx, Search{Phrase: "ü"}) {
				return err
			}
			return nil
		}, `POST /search?workspaceId=w {"aiSearch":false,"filters":{},"pagination":{"limit":50,"offset":0},"searchPhrase":"ü"}`},
		{"search for everything", `200 {"items":[]}`, func(ctx context.Context, c *Client) error {
			at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 7200))
			s := Search{AI: true, Categories: []string{"c"}, Extensions: []string{"jpg"}, Tags: []string{"a", "b"}, UploadedFrom: at,
				ModifiedUntil: at, SortBy: ByName, Order: Descending, PageSize: 7}
			for _, err := range c.Search(ctx, s) {
				return err
			}
			return nil
		}, `POST /search?workspaceId=w {"aiSearch":true,"filters":{"categories":{"in":["c"]},"extensions":{"in":["jpg"]},` +
			`"lastModifiedAt":{"lte":"2026-05-01T10:00:00.000Z"},"tags":{"in":["a","b"]},"uploadedAt":{"gte":"2026-05-01T10:00:00.000Z"}},` +
			`"pagination":{"limit":7,"offset":0,"order":"desc","sortBy":"name"},"searchPhrase":""}`},
		{"list category", `200 {"items":[]}`, func(ctx context.Context, c *Client) error {
			for _, err := range c.List(ctx, ListOptions{CategoryID: "c"}) {
				return err
			}
			return nil
		}, "GET /assets?categoryId=c&limit=50&offset=0&workspaceId=w "},
		{"list folder", `200 {"items":[]}`, func(ctx context.Context, c *Client) error {
			for _, err := range c.List(ctx, ListOptions{FolderID: "f", SortBy: ByUploadedAt, Order: Descending, PageSize: 7}) {
				return err
			}
			return nil
		}, "GET /assets?folderId=f&limit=7&offset=0&order=desc&sortBy=uploadedAt&workspaceId=w "},
		{"update all", `200 {"id":"x"}`, func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "a", Changes{Name: new("n"), Extension: new("jpg"), Description: new("d"), Tags: &[]string{"t"}, CustomAttributes: map[string]any{"k": 1}})
			return err
		}, `PATCH /assets/a {"extension":"jpg","metadata":{"customAttributes":{"k":1},"description":"d"},"name":"n","tags":["t"]}`},
		{"update to nothing", `200 {"id":"x"}`, func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "a", Changes{Description: new(""), Tags: new([]string(nil)), CustomAttributes: map[string]any{}})
			return err
		}, `PATCH /assets/a {"metadata":{"customAttributes":{},"description":""},"tags":[]}`},
		{"trash", "204", func(ctx context.Context, c *Client) error { return c.Trash(ctx, "a", "b") },
			`POST /assets/trash?workspaceId=w ["a","b"]`},
		{"delete", "204", func(ctx context.Context, c *Client) error { return c.Delete(ctx, "a") },
			`POST /assets/delete?workspaceId=w ["a"]`},
		{"list trash", `200 {"items":[]}`, func(ctx context.Context, c *Client) error {
			for _, err := range c.Trashed(ctx) {
				return err
			}
			return nil
		}, "GET /assets/trash?limit=50&offset=0&workspaceId=w "},
		{"restore", "204", func(ctx context.Context, c *Client) error {
			return c.Restore(ctx, Restoration{AssetID: "a"},
				Restoration{AssetID: "b", Target: Target{CategoryID: "c"}, IfTaken: RenameIt})
		}, `POST /assets/restore?workspaceId=w {"assetsActions":[{"assetId":"a"},{"action":"rename","assetId":"b","target":{"categoryId":"c"}}]}`},
		{"validate restore", `200 {"assets":{}}`, func(ctx context.Context, c *Client) error {
			_, err := c.ValidateRestore(ctx, "a", "b")
			return err
		}, `POST /assets/restore/validate?workspaceId=w {"assetsIds":["a","b"]}`},
		{"copy", "204", func(ctx context.Context, c *Client) error {
			return c.Copy(ctx, Target{CategoryID: "c"}, Transfer{AssetID: "a"}, Transfer{AssetID: "b", IfTaken: ReplaceThere})
		}, `POST /assets/copy?workspaceId=w {"assetsActions":[{"assetId":"a"},{"action":"replace","assetId":"b"}],"target":{"categoryId":"c"}}`},
		{"move", "204", func(ctx context.Context, c *Client) error {
			return c.Move(ctx, Target{CategoryID: "c", FolderID: "f"}, Transfer{AssetID: "a"})
		}, `POST /assets/move?workspaceId=w {"assetsActions":[{"assetId":"a"}],"target":{"folderId":"f"}}`},
		{"names taken", "200 []", func(ctx context.Context, c *Client) error {
			_, err := c.NamesTaken(ctx, Target{FolderID: "f"}, "a.jpg")
			return err
		}, `POST /assets/namesExist?workspaceId=w {"names":["a.jpg"],"target":{"folderId":"f"}}`},
		{"recent", `200 {"items":[]}`, func(ctx context.Context, c *Client) error {
			for _, err := range c.Recent(ctx) {
				return err
			}
			return nil
		}, "GET /assets/recent?limit=50&offset=0&workspaceId=w "},
		{"mark used", "204", func(ctx context.Context, c *Client) error { return c.MarkUsed(ctx, "a", "b") },
			`PUT /assets/recent?workspaceId=w ["a","b"]`},
		{"offset", `200 {"offset":0}`, func(ctx context.Context, c *Client) error {
			_, err := c.Offset(ctx, "a", ByName, Descending)
			return err
		}, "GET /assets/a/offset?assetId=a&order=desc&sortBy=name "},
		{"revisions", `200 {"items":[]}`, func(ctx context.Context, c *Client) error { _, err := c.Revisions(ctx, "a/b"); return err },
			"GET /assets/a%2Fb/revisions "},
		{"use revision", "200", func(ctx context.Context, c *Client) error { return c.UseRevision(ctx, "a", "r") },
			`POST /assets/a/revisions?workspaceId=w {"revisionId":"r"}`},
		{"delete revision", "204", func(ctx context.Context, c *Client) error { return c.DeleteRevision(ctx, "a", "r/s") },
			"DELETE /assets/a/revisions/r%2Fs?workspaceId=w "},
		{"limits", "200 {}", func(ctx context.Context, c *Client) error { _, err := c.Limits(ctx); return err }, "GET /limits "},
		{"workspaces", `200 {"items":[]}`, func(ctx context.Context, c *Client) error { _, err := c.Workspaces(ctx); return err },
			"GET /v3/workspaces?limit=50&offset=0 "},
		{"find workspaces", `200 {"items":[]}`, func(ctx context.Context, c *Client) error {
			for _, err := range c.FindWorkspaces(ctx, FindWorkspaces{Phrase: "p", IDs: []string{"a", "b"}, SortBy: ByCreatedAt, Order: Descending}) {
				return err
			}
			return nil
		}, "GET /v3/workspaces?ids=a%2Cb&limit=50&offset=0&order=desc&searchPhrase=p&sortBy=createdAt "},
		{"rename workspace", "200 {}", func(ctx context.Context, c *Client) error { return c.RenameWorkspace(ctx, "a", "n") },
			`PUT /superadmin/workspaces/a {"name":"n"}`},
		{"configure workspace", `200 {"id":"a"}`, func(ctx context.Context, c *Client) error {
			_, err := c.ConfigureWorkspace(ctx, "a", WorkspaceChanges{AIProcessing: new(false)})
			return err
		}, `PUT /admin/workspaces/a {"enableAIProcessing":false}`},
		{"extensions of a workspace", "200 {}", func(ctx context.Context, c *Client) error { _, err := c.WorkspaceExtensions(ctx); return err },
			"GET /workspaces/metadata?workspaceId=w "},
		{"environment", "200 {}", func(ctx context.Context, c *Client) error { _, err := c.EnvironmentConfig(ctx); return err },
			"GET /admin/environmentConfig "},
		{"set environment", "200 {}", func(ctx context.Context, c *Client) error {
			return c.SetEnvironmentConfig(ctx, EnvironmentConfig{})
		}, `PUT /superadmin/environmentConfig {"allowedExtensions":[],"isAllowedExtensionsEnabled":false}`},
		{"template", `200 {"categories":[]}`, func(ctx context.Context, c *Client) error { _, err := c.WorkspacesTemplate(ctx); return err },
			"GET /superadmin/workspacesTemplate "},
		{"set template", "200 {}", func(ctx context.Context, c *Client) error {
			return c.SetWorkspacesTemplate(ctx, []NewCategory{{Name: "n", Extensions: []string{"txt"}}})
		}, `PUT /superadmin/workspacesTemplate {"categories":[{"name":"n","extensions":["txt"]}]}`},
		{"permissions", "200 {}", func(ctx context.Context, c *Client) error { _, err := c.Permissions(ctx); return err },
			"GET /permissions?workspaceId=w "},
		{"groups", `200 {"items":[]}`, func(ctx context.Context, c *Client) error { _, err := c.Groups(ctx); return err },
			"GET /admin/groups?workspaceId=w "},
		{"create group", `201 {"id":"x"}`, func(ctx context.Context, c *Client) error { _, err := c.CreateGroup(ctx, "n"); return err },
			`POST /admin/groups?workspaceId=w {"name":"n"}`},
		{"rename group", "200 {}", func(ctx context.Context, c *Client) error { return c.RenameGroup(ctx, "g", "n") },
			`PUT /admin/groups/g?workspaceId=w {"name":"n"}`},
		{"delete group", "204", func(ctx context.Context, c *Client) error { return c.DeleteGroup(ctx, "g") },
			"DELETE /admin/groups/g?workspaceId=w "},
		{"grants", `200 {"items":[]}`, func(ctx context.Context, c *Client) error { _, err := c.Grants(ctx, "g"); return err },
			"GET /admin/permissions?groupId=g&workspaceId=w "},
		{"create grant", `201 {"id":"x"}`, func(ctx context.Context, c *Client) error {
			_, err := c.CreateGrant(ctx, Grant{GroupID: "g", Allowed: map[Permission]bool{CreateAssets: true}})
			return err
		}, `POST /admin/permissions?workspaceId=w {"categoriesIds":[],"groupId":"g","permissionsList":{"asset:create":true}}`},
		{"change grant", "200 {}", func(ctx context.Context, c *Client) error {
			return c.ChangeGrant(ctx, Grant{ID: "p", GroupID: "g", Categories: []string{"c"}})
		}, `PUT /admin/permissions/p?workspaceId=w {"categoriesIds":["c"],"groupId":"g","permissionsList":{}}`},
		{"delete grant", "204", func(ctx context.Context, c *Client) error { return c.DeleteGrant(ctx, "p") },
			"DELETE /admin/permissions/p?workspaceId=w "},
		{"create workspace", `201 {"id":"x"}`, func(ctx context.Context, c *Client) error { _, err := c.CreateWorkspace(ctx, "n"); return err },
			`POST /superadmin/workspaces {"name":"n"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := answers(tt.answer)
			if err := tt.call(t.Context(), serve(t, a.ServeHTTP)); err != nil {
				t.Fatal(err)
			}
			r := a.got[0]
			if got := fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, a.bodies[0]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := r.Header.Get("Authorization"); got != secret {
				t.Errorf("Authorization: got %q", got)
			}
			if got := r.Header.Get("Content-Type"); a.bodies[0] != "" && got != "application/json" {
				t.Errorf("Content-Type: got %q", got)
			}
			if a.count() != 1 {
				t.Errorf("got %d requests", a.count())
			}
		})
	}
}

func TestBasePathAndDefaultWorkspace(t *testing.T) {
	a := answers(`200 {"items":[]}`)
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL + "/behind/proxy/", UserAgent: "tester/1"})
	if _, err := c.Folders(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := a.got[0].RequestURI + " " + a.got[0].UserAgent(); got != "/behind/proxy/folders tester/1" {
		t.Errorf("got %s", got)
	}
}

func TestWorkspacesOfOlderInstallations(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/workspaces" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"items":[{"id":"a","name":"A","createdAt":"2024-05-01T10:00:00Z","enableAIProcessing":true}]}`)
	})
	got, err := c.Workspaces(t.Context())
	want := []Workspace{{ID: "a", Name: "A", CreatedAt: time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC), AIProcessing: true}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestCreateFolderNeedsAPlace(t *testing.T) {
	if _, err := newClient(t, Options{BaseURL: "https://localhost"}).CreateFolder(t.Context(), NewFolder{Name: "n"}); err == nil {
		t.Error("no error")
	}
}

func TestDecodeAsset(t *testing.T) {
	const body = `{"id":"a-1","name":"photo.v2","extension":"jpg","size":34359738368,"mimeType":"image/jpeg",
		"categoryId":"c","folderId":null,"uploadedAt":"2024-05-01T12:00:00.123Z","lastModifiedAt":"2024-05-01T14:00:00+0200",
		"tags":null,"url":"https://cdn/w/assets/a-1/file","imageUrls":{"80":"u80","default":"u"},"new":{"deep":[1]},
		"metadata":{"description":null,"width":1024,"height":768,"blurHash":"L","metadataProcessingStatus":"queued",
		"analysisProcessingStatus":"skipped","customAttributes":{"k":[9007199254740993,"x"]},"thumbnailMetadata":{"blurHash":"T","width":80,"height":60,"mimeType":"image/webp"}}}`
	got, err := serve(t, answers("200 "+body).ServeHTTP).Asset(t.Context(), "a-1")
	want := Asset{
		ID: "a-1", Name: "photo.v2", Extension: "jpg", Size: 34359738368, MIMEType: "image/jpeg", CategoryID: "c",
		UploadedAt:     time.Date(2024, 5, 1, 12, 0, 0, 123e6, time.UTC),
		LastModifiedAt: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC),
		URL:            "https://cdn/w/assets/a-1/file", ImageURLs: map[string]string{"80": "u80", "default": "u"},
		Metadata: Metadata{Width: 1024, Height: 768, BlurHash: "L", Status: Queued, AnalysisStatus: Skipped,
			CustomAttributes: map[string]any{"k": []any{json.Number("9007199254740993"), "x"}},
			Thumbnail:        Thumbnail{BlurHash: "T", Width: 80, Height: 60, MIMEType: "image/webp"}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got.Filename() != "photo.v2.jpg" || (Asset{Name: "README"}).Filename() != "README" {
		t.Errorf("filename: got %s", got.Filename())
	}
}

func TestDecodeFolder(t *testing.T) {
	const body = `{"id":"f","name":"F","categoryId":"c","parentId":null,"createdAt":"2024-05-01","updatedAt":null,
		"folders":[{"id":"g","name":"G","parentId":"f","createdAt":"","folders":null}]}`
	got, err := serve(t, answers("200 "+body).ServeHTTP).Folder(t.Context(), "f", 1)
	want := Folder{ID: "f", Name: "F", CategoryID: "c", CreatedAt: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC),
		Folders: []Folder{{ID: "g", Name: "G", ParentID: "f"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestLimits(t *testing.T) {
	const body = `{"maxFileSizeInBytesLimit":5368709120,"maxImageInMegapixelsLimit":50,"pricingPlanName":"personal","isMaxBandwidthExceeded":false,"isMaxStorageSizeExceeded":true,"isSemanticSearchEnabled":true,"more":1}`
	got, err := serve(t, answers("200 "+body).ServeHTTP).Limits(t.Context())
	if want := (Limits{Plan: "personal", MaxFileSize: 5368709120, MaxMegapixels: 50, StorageExceeded: true, SemanticSearch: true}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestISOTime(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "", `""`: "", `"2024-05-01T12:00:00Z"`: "2024-05-01T12:00:00Z",
		`"2024-05-01T12:00:00.5+02:00"`: "2024-05-01T10:00:00.5Z", `"2024-05-01T12:00:00.000000-0130"`: "2024-05-01T13:30:00Z",
		`"2024-05-01T12:00:00"`: "2024-05-01T12:00:00Z", `"2024-05-01 12:00:00.25"`: "2024-05-01T12:00:00.25Z",
		`"2024-05-01"`: "2024-05-01T00:00:00Z", `"soon"`: "error", `12`: "error", `{}`: "error",
	} {
		var got isoTime
		err := json.Unmarshal([]byte(text), &got)
		switch {
		case want == "error":
			if err == nil {
				t.Errorf("%s: no error", text)
			}
		case err != nil, want == "" && !got.IsZero(), want != "" && got.Format(time.RFC3339Nano) != want:
			t.Errorf("%s: got %v, %v, want %s", text, got, err, want)
		}
	}
}

// The test verifies that no answer makes the client panic or return an invalid object.
func FuzzAnswers(f *testing.F) {
	for s := range strings.SplitSeq(`{}|[]|null|""|{"id":"x"}|{"id":null}|{"items":[]}|{"items":[{"id":"a"}],"totalCount":1}|{"items":null,"totalCount":null}|{"statusCode":404,"message":"m","data":{},"traceId":"t"}|{"a":404}|{"id":"x","uploadedAt":"2024-05-01T12:00:00Z","folders":[{"folders":[]}]}|{"ID":"x"}|{"id":"x","metadata":null,"imageUrls":{"80":null}}`, "|") {
		f.Add(200, s)
		f.Add(207, s)
		f.Add(500, s)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		var asset Asset
		if decode(status, []byte(body), &asset) == nil && asset.ID == "" {
			t.Error("an asset without ID")
		}
		var folder Folder
		if decode(status, []byte(body), &folder) == nil && folder.ID == "" {
			t.Error("a folder without ID")
		}
		var category Category
		if decode(status, []byte(body), &category) == nil && category.ID == "" {
			t.Error("a category without ID")
		}
		var bulk bulkAnswer
		if decode(http.StatusMultiStatus, []byte(body), &bulk) == nil && len(bulk.failed) == 0 {
			t.Error("a failure without assets")
		}
		var list page[Asset]
		_ = decode(status, []byte(body), &list)
		fault := parseFault([]byte(body))
		if message := outbound.Printable(fault.message); len([]rune(message)) > outbound.MaxMessage+1 || strings.ContainsAny(message, "\n\r\x1b\x00") {
			t.Errorf("message is not printable: %q", message)
		}
	})
}

// The test verifies that an ID is a single part of a path. An ID that would change the path is not
// sent.
func TestIDsInPaths(t *testing.T) {
	var sent []string
	c := newClient(t, Options{BaseURL: "http://localhost/base", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Method+" "+r.URL.EscapedPath())
		return (&parrot{200, nil, `{"id":"x"}`}).RoundTrip(r)
	})})
	for _, id := range []string{"", ".", ".."} {
		for what, call := range map[string]func() error{
			"asset":           func() error { _, err := c.Asset(t.Context(), id); return err },
			"delete folder":   func() error { return c.DeleteFolder(t.Context(), id) },
			"delete revision": func() error { return c.DeleteRevision(t.Context(), "x", id) },
			"replace": func() error {
				content := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
				_, err := c.Replace(t.Context(), id, Replacement{Filename: "a.txt", Size: 1, Open: content})
				return err
			},
		} {
			if err := call(); err == nil || !strings.Contains(err.Error(), "is not an ID") {
				t.Errorf("%s %q: %v", what, id, err)
			}
		}
	}
	if len(sent) > 0 {
		t.Errorf("was sent: %v", sent)
	}
	for _, id := range []string{"../x", "a/b", "-_", "a?b#c", "%2e%2e", "…", "a b"} {
		if _, err := c.Asset(t.Context(), id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	want := []string{"GET /base/assets/..%2Fx", "GET /base/assets/a%2Fb", "GET /base/assets/-_", "GET /base/assets/a%3Fb%23c",
		"GET /base/assets/%252e%252e", "GET /base/assets/%E2%80%A6", "GET /base/assets/a%20b"}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

// The test verifies that a list is complete, even if its route is paged unexpectedly.
func TestListsInOnePieceAreWhole(t *testing.T) {
	for what, call := range map[string]func(*Client) (int, error){
		"folders":   func(c *Client) (int, error) { all, err := c.Folders(t.Context()); return len(all), err },
		"groups":    func(c *Client) (int, error) { all, err := c.Groups(t.Context()); return len(all), err },
		"grants":    func(c *Client) (int, error) { all, err := c.Grants(t.Context(), "g"); return len(all), err },
		"revisions": func(c *Client) (int, error) { all, err := c.Revisions(t.Context(), "x"); return len(all), err },
		"qualities": func(c *Client) (int, error) { all, err := c.ImageQualities(t.Context()); return len(all), err },
	} {
		for envelope, want := range map[string]int{`{"items":[{}]}`: 1, `{"items":[{}],"totalCount":1}`: 1, `{"items":[{}],"totalCount":0}`: 1,
			`{"items":[{}],"totalCount":51,"limit":50}`: 0} {
			c := newClient(t, Options{BaseURL: "http://localhost", Transport: &parrot{200, nil, envelope}})
			got, err := call(c)
			if got != want || (err == nil) != (want > 0) {
				t.Errorf("%s %s: %d, %v", what, envelope, got, err)
			}
		}
	}
}
