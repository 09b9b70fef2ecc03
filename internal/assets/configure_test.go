package assets

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"testing"
)

// The test verifies that extensions that may be in use are removed only if the caller permits it,
// and that otherwise no changing request is sent.
func TestConfigureCategoryInUse(t *testing.T) {
	const (
		said    = `200 {"items":[{"id":"a","extensions":["jpg","png","txt"],"extensionsInUse":["jpg"]}],"totalCount":1}`
		notSaid = `200 {"items":[{"id":"a","extensions":["jpg","png"]}],"totalCount":1}`
		other   = `200 {"items":[{"id":"b"}],"totalCount":1}`
	)
	for _, tt := range []struct {
		name, answer string
		extensions   []string
		lose         []string
		lost         []string // nil: the change is sent
	}{
		{"nothing dropped", said, []string{"jpg", "png", "txt"}, nil, nil},
		{"dropped, because unused", said, []string{"jpg"}, nil, nil},
		{"dropped what is in use", said, []string{"png", "txt"}, nil, []string{"jpg"}},
		{"with leave", said, []string{"png"}, []string{"jpg"}, nil},
		{"leave in other case", said, []string{"png"}, []string{"JPG"}, nil},
		{"leave for another", said, []string{"png"}, []string{"txt"}, []string{"jpg"}},
		{"it does not say what is in use", notSaid, []string{"jpg"}, nil, []string{"png"}},
		{"it does not say, with leave", notSaid, []string{"jpg"}, []string{"png"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := answers(tt.answer, `200 {"id":"a"}`)
			_, err := serve(t, a.ServeHTTP).ConfigureCategory(t.Context(), "a", NewCategory{Name: "n", Extensions: tt.extensions}, tt.lose...)
			if tt.lost == nil {
				if err != nil || a.count() != 2 || a.got[1].Method != http.MethodPut {
					t.Errorf("got %v after %d requests", err, a.count())
				}
				return
			}
			used, ok := errors.AsType[*InUseError](err)
			if !ok || !slices.Equal(used.Extensions, tt.lost) || a.count() != 1 {
				t.Errorf("got %v after %d requests, want %v", err, a.count(), tt.lost)
			}
		})
	}
	a := answers(other)
	c := serve(t, a.ServeHTTP)
	_, configure := c.ConfigureCategory(t.Context(), "a", NewCategory{})
	if !errors.Is(configure, fs.ErrNotExist) || !errors.Is(c.DeleteCategory(t.Context(), "a", "jpg"), fs.ErrNotExist) || a.count() != 2 {
		t.Errorf("a category that is not there: got %v after %d requests", configure, a.count())
	}
}

// The test verifies that the complete set of extensions is sent, once, and only if the category did
// not change since it was read. The service deletes the files of an omitted extension.
func TestAddExtensions(t *testing.T) {
	category := func(fields string) string { return `200 {"items":[{"id":"a",` + fields + `}],"totalCount":1}` }
	const plain = `"name":"n","extensions":["jpg","PNG"],"isPrivate":true`
	changed, inUse := new(ChangedError), new(InUseError)
	for _, tt := range []struct {
		name, before, after, answer string
		requests                    int
		want                        any // pointer to the error type; nil: no error
	}{
		{"as it was", category(plain), category(plain), `200 {"id":"a","extensions":["jpg","PNG","webp"]}`, 3, nil},
		{"in another order", category(plain), category(`"name":"n","extensions":["PNG","jpg"],"isPrivate":true`), `200 {"id":"a"}`, 3, nil},
		{"one was added", category(plain), category(`"name":"n","extensions":["jpg","PNG","gif"],"isPrivate":true`), "", 2, &changed},
		{"one was dropped", category(plain), category(`"name":"n","extensions":["jpg"],"isPrivate":true`), "", 2, &changed},
		{"renamed", category(plain), category(`"name":"m","extensions":["jpg","PNG"],"isPrivate":true`), "", 2, &changed},
		{"made public", category(plain), category(`"name":"n","extensions":["jpg","PNG"]`), "", 2, &changed},
		{"files of what it does not take", category(plain + `,"extensionsInUse":["tif","Jpg"]`), category(plain + `,"extensionsInUse":["tif","Jpg"]`), "", 2, &inUse},
		{"it does not say what it takes", category(`"name":"n"`), category(`"name":"n"`), "", 2, new(error)},
		{"it was deleted", category(plain), `200 {"items":[],"totalCount":0}`, "", 2, new(error)},
		{"no answer", category(plain), category(plain), "503", 3, new(error)},
		{"too many requests", category(plain), category(plain), "429", 3, new(error)},
		{"it took nothing", category(plain), category(plain), `200 {"id":"a","extensions":["jpg","png"]}`, 3, new(error)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := answers(tt.before, tt.after, tt.answer)
			c := serve(t, a.ServeHTTP)
			was, err := c.CategoryInUse(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.AddExtensions(t.Context(), was, "webp")
			if tt.want == nil && err != nil || tt.want != nil && !errors.As(err, tt.want) || a.count() != tt.requests {
				t.Fatalf("got %v after %d requests, want %T after %d", err, a.count(), tt.want, tt.requests)
			}
			if tt.requests < 3 {
				return
			}
			var sent NewCategory
			if err := json.Unmarshal([]byte(a.bodies[2]), &sent); err != nil || a.got[2].Method != http.MethodPut {
				t.Fatal(a.got[2].Method, err)
			}
			slices.Sort(sent.Extensions)
			if sent.Name != "n" || !sent.Private || !slices.Equal(sent.Extensions, []string{"PNG", "jpg", "webp"}) {
				t.Errorf("sent %+v", sent)
			}
		})
	}
}

func TestDeleteCategoryInUse(t *testing.T) {
	a := answers(`200 {"items":[{"id":"a","extensionsInUse":["jpg","png"]}],"totalCount":1}`, "204")
	c := serve(t, a.ServeHTTP)
	used, ok := errors.AsType[*InUseError](c.DeleteCategory(t.Context(), "a", "png"))
	if !ok || !slices.Equal(used.Extensions, []string{"jpg"}) || a.count() != 1 {
		t.Errorf("got %v after %d requests", used, a.count())
	}
	a.got = nil
	if err := c.DeleteCategory(t.Context(), "a", "png", "jpg"); err != nil || a.got[1].RequestURI != "/admin/categories/a?workspaceId=w" {
		t.Errorf("got %v", err)
	}
}

func TestBranchWithoutTheFolder(t *testing.T) {
	c := serve(t, answers(`200 {"id":"top","folders":[{"id":"x"},{"id":"y","folders":[{"id":"f"}]}]}`).ServeHTTP)
	if _, err := c.Branch(t.Context(), "none", 1); err == nil {
		t.Error("no error")
	}
	if way, err := c.Branch(t.Context(), "f", 1); err != nil || len(way) != 3 || way[1].ID != "y" {
		t.Errorf("beside other folders: got %+v, %v", way, err)
	}
}
