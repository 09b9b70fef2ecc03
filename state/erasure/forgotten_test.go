package erasure

import (
	"strings"
	"testing"
)

func TestForgotten(t *testing.T) {
	var f Forgotten
	if f.Has("a") || f.Len() != 0 || f.Without("a") != "" {
		t.Error("the empty set has a key")
	}
	f = f.With("people/ada.jpg", "b\xff").With("c", "c")
	for key, want := range map[string]bool{"people/ada.jpg": true, "b\xff": true, "c": true, "": false, "people/ada.jp": false} {
		if f.Has(key) != want {
			t.Errorf("%q: want %v", key, want)
		}
	}
	if f.Len() != 3 || strings.Contains(string(f), "ada") {
		t.Errorf("%d keys: %q", f.Len(), f)
	}
	if f = f.Without("c", "d"); f.Len() != 2 || f.Has("c") || !f.Has("b\xff") {
		t.Errorf("%d keys", f.Len())
	}
	if f.Without("b\xff", "people/ada.jpg") != "" {
		t.Error("a set without keys has a salt")
	}
	if other := Forgotten("").With("b\xff"); strings.Contains(string(f), string(other[saltSize:])) {
		t.Error("two sets have the same salt")
	}
}
