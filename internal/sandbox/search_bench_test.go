package sandbox

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkSearch looks through 100,000 assets for what most of them have, for
// what one of them has, and for what none has.
func BenchmarkSearch(b *testing.B) {
	const many = 100_000
	dir := b.TempDir()
	s, err := New(Options{Dir: dir, Environments: []Environment{{ID: "env", AccessKey: "key"}}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var category string
	err = s.store.write(func(ses *session) error {
		if err := ses.row("SELECT category_id FROM extensions WHERE folded = 'txt'", nil, &category); err != nil {
			return err
		}
		for i := range many {
			a := asset{
				ID: newAssetID(), Workspace: "env", Category: category, Name: fmt.Sprintf("Übersicht der Straßen %06d", i), Extension: "txt",
				Uploaded: time.Unix(int64(i), 0), Description: "A description of the usual length, which says what can be seen and where it was taken",
				Tags: []byte(`["street","overview","Süd"]`), Attributes: []byte(`{"source":"archive","shelf":"north wing"}`),
			}
			a.content, a.revision, a.picture.state = newContentID(), newUUID(), "no"
			if err := insertAsset(ses, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := s.store.foldAssets(); err != nil {
		b.Fatal(err)
	}
	b.Logf("folded %d assets in %v", many, time.Since(began))
	for phrase, want := range map[string]int{"strassen SÜD": many, "054321": 1, "nowhere": 0} {
		b.Run(phrase, func(b *testing.B) {
			in := searchBody{SearchPhrase: phrase}
			order, err := in.order()
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := s.store.foldAssets(); err != nil {
					b.Fatal(err)
				}
				err := s.store.read(func(ses *session) error {
					_, total, err := selectMatches(ses, in.conditions([]string{category}, in.words()), order, 50, 0)
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
