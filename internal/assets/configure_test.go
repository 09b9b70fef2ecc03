package assets

import (
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"testing"
)

// What may be in use is not dropped unless the caller says so, and nothing is
// sent that would.
func TestConfigureCategoryGuards(t *testing.T) {
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
		{"dropped what nobody uses", said, []string{"jpg"}, nil, nil},
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

func TestDeleteCategoryGuards(t *testing.T) {
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
