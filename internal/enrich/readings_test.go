package enrich_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/enrich"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
)

// However a service lists folders and categories, the audit contains each asset once, with its
// folder: rules exclude by folder.
func TestAuditListsEachOnce(t *testing.T) {
	for _, reading := range sandboxtest.Readings() {
		t.Run(reading, func(t *testing.T) {
			l := newLibrary(t, nil, nil)
			l.assets = assetsClient(t, sandboxtest.Run(t, sandbox.Options{Profile: sandboxtest.Read(t, reading)}))
			category, err := l.assets.CreateCategory(t.Context(), assets.NewCategory{Name: "Pictures", Extensions: []string{"png"}})
			must(t, err)
			outer, err := l.assets.CreateFolder(t.Context(), assets.NewFolder{CategoryID: category, Name: "people"})
			must(t, err)
			inner, err := l.assets.CreateFolder(t.Context(), assets.NewFolder{ParentID: outer, Name: "young"})
			must(t, err)
			for n, folder := range []string{"", outer, inner} {
				content := tiny(n)
				u := assets.Upload{FolderID: folder, Filename: fmt.Sprintf("%d.png", n), Size: int64(len(content))}
				if folder == "" {
					u.CategoryID = category
				}
				u.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
				_, err := l.assets.Upload(t.Context(), u)
				must(t, err)
			}
			var met counted
			e := l.engine()
			e.Observer = &met
			must(t, e.Audit(t.Context(), ""))
			var got []string
			for a, err := range l.store.Assets(t.Context(), destination) {
				must(t, err)
				got = append(got, a.Folder+"/"+a.Name)
			}
			slices.Sort(got)
			if want := []string{"/0", "people/1", "people/young/2"}; !cmp.Equal(got, want) || met.n != 3 {
				t.Errorf("met %d: %v, want %v", met.n, got, want)
			}
		})
	}
}

// counted counts finished assets.
type counted struct {
	enrich.Silent
	n int64
}

func (c *counted) Progress(n int64) { c.n += n }
