package sandbox

import (
	"fmt"
	"testing"
	"time"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sandbox/tokens"
)

const many = 100_000

// manyAssets creates 100,000 assets in one category of a sandbox on disk.
func manyAssets(b *testing.B) (s *Server, category string) {
	b.Helper()
	s, err := New(Options{Dir: b.TempDir(), Environments: []tokens.Environment{{ID: "env", AccessKey: "key"}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	err = s.store.Write(func(ses *store.Session) error {
		if category, err = records.CategoryFor(ses, "env", "txt"); err != nil {
			return err
		}
		for i := range many {
			a := records.Asset{
				ID: naming.NewAssetID(), Workspace: "env", Category: category, Name: fmt.Sprintf("Übersicht der Straßen %06d", i*7919%many), Extension: "txt",
				Uploaded: time.Unix(int64(i), 0), Description: "A description of the usual length, which says what can be seen and where it was taken",
				Tags: []byte(`["street","overview","Süd"]`), Attributes: []byte(`{"source":"archive","shelf":"north wing"}`),
			}
			a.Content, a.Revision, a.Picture.State = naming.NewContentID(), standin.NewUUID(), "no"
			if err := records.InsertAsset(ses, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return s, category
}

// BenchmarkSearch searches these assets for a text of most of them, of one of them, and of none.
func BenchmarkSearch(b *testing.B) {
	s, category := manyAssets(b)
	began := time.Now()
	if err := records.FoldAssets(s.store); err != nil {
		b.Fatal(err)
	}
	b.Logf("folded %d assets in %v", many, time.Since(began))
	for phrase, want := range map[string]int{"strassen SÜD": many, "054321": 1, "nowhere": 0} {
		b.Run(phrase, func(b *testing.B) {
			in := records.SearchBody{SearchPhrase: phrase}
			order, err := in.Order()
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := records.FoldAssets(s.store); err != nil {
					b.Fatal(err)
				}
				err := s.store.Read(func(ses *store.Session) error {
					_, total, err := records.SelectMatches(ses, in.Conditions([]string{category}, in.Words()), order, 50, 0)
					if total != want {
						b.Errorf("found %d, want %d", total, want)
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList reads the last page in each order.
func BenchmarkList(b *testing.B) {
	s, category := manyAssets(b)
	for _, f := range records.AssetFields() {
		b.Run(f.Name, func(b *testing.B) {
			order, err := records.OrderBy(f.Name, "", records.AssetFields())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				err := s.store.Read(func(ses *store.Session) error {
					found, total, err := records.Listing{At: records.Place{Workspace: "env", Category: category, Folder: ""}, Order: order, Limit: 500, Offset: many - 500}.SelectAssets(ses)
					if len(found) != 500 || total != many {
						b.Errorf("%d of %d assets", len(found), total)
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDropExtension removes an unused extension from a category.
func BenchmarkDropExtension(b *testing.B) {
	s, id := manyAssets(b)
	for b.Loop() {
		err := s.store.Write(func(ses *store.Session) error {
			if err := records.SetExtensions(ses, records.Category{ID: id, Extensions: []string{"unused"}}); err != nil {
				return err
			}
			return ses.Change("DELETE FROM extensions WHERE category_id = ? AND folded = 'unused'", id)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
