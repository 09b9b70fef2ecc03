package migrate

import (
	"errors"
	"slices"
	"testing"
)

// TestBackground verifies that tasks run one after the other, and that a failed one prevents the next.
func TestBackground(t *testing.T) {
	var b Background
	var ran []int
	failure := errors.New("failed")
	start := func(n int, err error) error {
		return b.Start(func() error {
			ran = append(ran, n)
			return err
		})
	}
	if err := errors.Join(b.Wait(), start(1, nil), start(2, failure)); err != nil {
		t.Error(err)
	}
	if err := start(3, nil); err != failure {
		t.Errorf("after a failure: %v", err)
	}
	if err := errors.Join(b.Wait(), start(4, nil), b.Wait(), b.Wait()); err != nil {
		t.Errorf("the error came twice: %v", err)
	}
	if !slices.Equal(ran, []int{1, 2, 4}) {
		t.Errorf("%v ran", ran)
	}
}
