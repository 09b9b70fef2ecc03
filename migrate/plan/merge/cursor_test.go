package merge

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"assetferry/sources"
)

var errRows = errors.New("no more rows")

// rows yields keys, and then err unless it is nil.
func rows(err error, keys ...sources.Key) iter.Seq2[sources.Key, error] {
	return func(yield func(sources.Key, error) bool) {
		for _, k := range keys {
			if !yield(k, nil) {
				return
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

func key(k sources.Key) sources.Key { return k }

func TestCursor(t *testing.T) {
	var passed []sources.Key
	c := New(rows(nil, "a", "c", "d", "f", "g"), key)
	defer c.Stop()
	c.Passed = func(k sources.Key) error { passed = append(passed, k); return nil }
	for _, ask := range []struct {
		key   sources.Key
		known bool
	}{{"b", false}, {"c", true}, {"e", false}, {"f", true}} {
		if got, known, err := c.Find(ask.key); known != ask.known || known && got != ask.key || err != nil {
			t.Errorf("%s: got %q, %t and %v", ask.key, got, known, err)
		}
	}
	if err := c.Rest(); err != nil {
		t.Error(err)
	}
	if want := []sources.Key{"a", "d", "g"}; !slices.Equal(passed, want) {
		t.Errorf("passed %q, want %q", passed, want)
	}
}

// TestCursorFails verifies that an error of the rows is kept until a caller asks for a key behind
// it, and that the same holds for an error of Passed.
func TestCursorFails(t *testing.T) {
	c := New(rows(errRows), key)
	defer c.Stop()
	if !errors.Is(c.Err(), errRows) {
		t.Errorf("got %v without asking", c.Err())
	}
	c = New(rows(errRows, "a", "b"), key)
	defer c.Stop()
	if got, known, err := c.Find("a"); got != "a" || !known || err != nil {
		t.Errorf("before the error: %q, %t and %v", got, known, err)
	}
	if _, _, err := c.Find("c"); !errors.Is(err, errRows) {
		t.Errorf("behind the error: %v", err)
	}
	c = New(rows(nil, "a"), key)
	defer c.Stop()
	c.Passed = func(sources.Key) error { return errRows }
	if err := c.Rest(); !errors.Is(err, errRows) {
		t.Errorf("the error of Passed: %v", err)
	}
}
