package faults_test

import (
	"errors"
	"io"
	"testing"

	"assetferry/internal/test/faults"
	"assetferry/sources"
	"assetferry/sources/memory"
)

// TestSource verifies that each step of listing and reading a source can fail, and that with a
// larger number none does.
func TestSource(t *testing.T) {
	for _, k := range faults.SourceKinds() {
		t.Run(k.Name, func(t *testing.T) {
			failed := 0
			for n := 0; ; n++ {
				s := &faults.Source{Source: &memory.Source{}, Moment: faults.At(n), Kind: k}
				s.Source.(*memory.Source).Put("a", []byte("content"))
				s.Source.(*memory.Source).Put("b", nil)
				err := readAll(t, s)
				if !s.Came() {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				if failed++; !errors.Is(err, faults.Err) {
					t.Errorf("call %d: got %v, want the fault", n, err)
				}
				if e, ok := errors.AsType[*sources.Error](err); !ok {
					t.Errorf("call %d: got %T, want what a source says", n, e)
				}
			}
			if failed == 0 {
				t.Error("nothing failed")
			}
		})
	}
}

func readAll(t *testing.T, s sources.Source) error {
	for o, err := range s.Objects(t.Context(), "") {
		if err != nil {
			return err
		}
		r, err := s.Open(t.Context(), o, 0)
		if err != nil {
			return err
		}
		_, err = io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}
