package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
)

// A testedService is a sandbox with helpers to run commands against it.
type testedService struct{ *service }

// ferry runs a command against the service and returns its output, stdout first.
func (s testedService) ferry(t *testing.T, want int, args ...string) string {
	t.Helper()
	c := assetferry(t, t.TempDir(), s.variables(), args...)
	c.must(t, want)
	return c.stdout.String() + c.stderr.String()
}

// make creates an object and returns its ID.
func (s testedService) make(t *testing.T, path string, body map[string]any) string {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ ID string }
	if err := s.call("POST", path, bytes.NewReader(text), "application/json", &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func (s testedService) documents(t *testing.T) string {
	t.Helper()
	all, err := s.structure()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(c folderTree) bool { return c.Name == "Documents" })
	return all[i].ID
}

// answeringSome returns a wrapper that answers the requests for which to returns true.
func answeringSome(to func(*http.Request) (answer any, ok bool)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, ok := to(r)
			if !ok {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer) // a client that closed the connection needs no answer
		})
	}
}

// The test verifies folder commands against services that list all folders or only the top ones,
// and that may show a folder without its subfolders. A folder with content is not deleted, and a
// name is taken only by a folder with the same parent.
func TestFoldersUnderEveryReading(t *testing.T) {
	t.Parallel()
	s := testedService{startService(t, sandbox.Options{})}
	documents := s.documents(t)
	outer := s.make(t, "/folders", map[string]any{"name": "outer", "categoryId": documents})
	inner := s.make(t, "/folders", map[string]any{"name": "inner", "parentId": outer})
	other := s.make(t, "/folders", map[string]any{"name": "other", "categoryId": documents})
	folder := func(id, name, parent string) map[string]any {
		return map[string]any{"id": id, "name": name, "categoryId": documents, "parentId": parent}
	}
	flat := []any{folder(outer, "outer", ""), folder(inner, "inner", outer), folder(other, "other", "")}
	s.wrap(answeringSome(func(r *http.Request) (any, bool) {
		switch {
		case r.Method == "GET" && r.URL.Path == "/folders":
			return map[string]any{"items": flat, "totalCount": len(flat)}, true
		case r.Method == "GET" && r.URL.Path == "/folders/"+outer:
			return flat[0], true
		}
		return nil, false
	}))
	if got := s.ferry(t, exit.CodeSafetyCheck, "assets", "folder", "delete", outer, "--yes"); !strings.Contains(got, "the folder outer was not deleted: it contains folders") {
		t.Errorf("printed %s", got)
	}
	s.ferry(t, exit.CodeError, "assets", "folder", "rename", other, "outer")
	s.ferry(t, exit.CodeDone, "assets", "folder", "rename", other, "inner") // another parent
	s.ferry(t, exit.CodeDone, "assets", "folder", "delete", inner, "--yes")
	places, err := s.places()
	if want := []string{"Documents", "Documents/inner", "Documents/outer", "Files", "Images"}; err != nil || !slices.Equal(places, want) {
		t.Errorf("there is %v (%v), want %v", places, err, want)
	}
}

// The test verifies that a folder with assets is not deleted if the service does not count its
// assets.
func TestFolderWithAssetsIsKept(t *testing.T) {
	t.Parallel()
	s := testedService{startService(t, sandbox.Options{})}
	id := s.make(t, "/folders", map[string]any{"name": "f", "categoryId": s.documents(t)})
	if err := s.upload("Documents", "a.txt", []byte("a")); err != nil {
		t.Fatal(err)
	}
	a, err := s.find("Documents/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	move := `{"target":{"folderId":"` + id + `"},"assetsActions":[{"assetId":"` + a.id + `"}]}`
	if err := s.call("POST", "/assets/move", strings.NewReader(move), "application/json", nil); err != nil {
		t.Fatal(err)
	}
	s.wrap(answeringSome(func(r *http.Request) (any, bool) {
		return map[string]any{"id": id, "name": "f", "categoryId": a.category}, r.Method == "GET" && r.URL.Path == "/folders/"+id
	}))
	s.ferry(t, exit.CodeSafetyCheck, "assets", "folder", "delete", "Documents/f", "--yes")
	if _, err := s.find("Documents/f/a.txt"); err != nil {
		t.Error(err)
	}
}

// The test verifies that a quality that the service accepts but does not store is an error. The
// body of the request is a guess.
func TestQualityThatIsNotTaken(t *testing.T) {
	t.Parallel()
	s := testedService{startService(t, sandbox.Options{})}
	s.wrap(answeringSome(func(r *http.Request) (any, bool) { return map[string]any{}, r.Method == "PUT" }))
	got := s.ferry(t, exit.CodeError, "assets", "quality", "webp", "--set", "70")
	if !strings.Contains(got, "the quality of webp is 80, not 70") || strings.Contains(got, `"state":"done"`) {
		t.Errorf("printed %s", got)
	}
}

// The test verifies that no request is sent if another user adds an extension while the command
// runs: the request would remove that extension, and its files.
func TestCategoryChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := testedService{startService(t, sandbox.Options{})}
	id := s.make(t, "/admin/categories", map[string]any{"name": "Mine", "extensions": []string{"aaa"}})
	looks := 0
	s.onRequest(func(r *http.Request) {
		if r.Method != "GET" || r.URL.Path != "/admin/categories" {
			return
		}
		if looks++; looks == 2 {
			body := `{"name":"Mine","extensions":["aaa","bbb"],"isPrivate":false}`
			if err := s.call("PUT", "/admin/categories/"+id, strings.NewReader(body), "application/json", nil); err != nil {
				t.Error(err)
			}
		}
	})
	got := s.ferry(t, exit.CodeError, "assets", "category", "add-extension", "Mine", "ccc", "--table")
	if !strings.Contains(got, "another user changed the category in the meantime") || slices.Contains(s.drain(), "PUT /admin/categories/"+id) {
		t.Errorf("printed %s", got)
	}
	if got := s.ferry(t, exit.CodeDone, "assets", "category", "add-extension", "Mine", "ccc"); !strings.Contains(got, `"extensions":["aaa","bbb","ccc"]`) {
		t.Errorf("then printed %s", got)
	}
}

// The test verifies the results after a lost answer: copies in earlier requests are done, those in
// that request are unconfirmed, and later ones are not sent.
func TestCopiesOfMany(t *testing.T) {
	t.Parallel()
	const copyBatch = 50 // per request
	rule, err := fault.Parse("POST /assets/copy drop=after once=2")
	if err != nil {
		t.Fatal(err)
	}
	s := testedService{startService(t, sandbox.Options{Faults: []fault.Rule{rule}})}
	for n := range 2*copyBatch + 1 {
		if err := s.upload("Documents", fmt.Sprintf("%d.txt", n), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.assets()
	if err != nil {
		t.Fatal(err)
	}
	s.make(t, "/folders", map[string]any{"name": "f", "categoryId": s.documents(t)})
	args := []string{"assets", "copy", "--into", "Documents/f", "--"}
	for _, a := range all {
		args = append(args, a.id)
	}
	got := s.ferry(t, exit.CodeItems, args...)
	for state, want := range map[string]int{"done": copyBatch, "unconfirmed": copyBatch, "failed": 1} {
		if n := strings.Count(got, `"state":"`+state+`"`); n != want {
			t.Errorf("%d are %s, want %d", n, state, want)
		}
	}
	if !strings.Contains(got, "not sent after an earlier error: copy 50 assets: EOF") || !strings.Contains(got, "50 copies in Documents/f could not be confirmed") {
		t.Errorf("printed %s", got)
	}
}
