package rclone

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// TestUpstreamFails verifies that a listing of a union is incomplete if a part of it fails before or after.
func TestUpstreamFails(t *testing.T) {
	broken := &remote.Failure{Err: errors.New("connection refused"), Kind: retry.Transient}
	for name, test := range map[string]struct{ from, listed int }{"before": {1, 0}, "after": {3, 2}, "never": {9, 2}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(plainFeatures, "a", "b")
			s := f.source(t, Options{Upstreams: []string{"disk:a", ":sftp,pass=hush:b"}})
			asked := 0
			f.refuses = func(command, _ string) error {
				if command == "operations/stat" {
					asked++
				}
				return when(command == "operations/stat" && asked > test.from, broken)
			}
			objects, err := list(t.Context(), s, "")
			if len(objects) != test.listed || (err == nil) != (name == "never") {
				t.Errorf("%s: %d objects, %v", name, len(objects), err)
			}
			if err != nil && err.Error() != "list rclone:fake:folder: :sftp:, which is a part of the union: connection refused" {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestUndecryptable verifies that an encrypted remote without objects is an error if its storage has some.
func TestUndecryptable(t *testing.T) {
	for name, test := range map[string]struct {
		behind string
		fails  bool
	}{
		"empty":          {`{"list": []}`, false},
		"wrong password": {`{"list": [{"Path": "6vchqq9l3jho497tt8j4kt2928", "Size": 51, "IsDir": false}]}`, true},
	} {
		f := newFake(plainFeatures)
		s := f.source(t, Options{Encrypted: []string{"disk:"}})
		first := true
		f.listing = func(_ string, answer []byte) io.Reader {
			if first {
				first = false
				return strings.NewReader(string(answer))
			}
			return strings.NewReader(test.behind)
		}
		if objects, err := list(t.Context(), s, ""); errors.Is(err, errUndecryptable) != test.fails || len(objects) > 0 {
			t.Errorf("%s: %v, %v", name, objects, err)
		}
	}
}

// TestOmitted verifies that objects which only the listing of names has are reported.
func TestOmitted(t *testing.T) {
	f := newFake(plainFeatures, "a", "c/d")
	s := f.source(t, Options{Names: "fake,no_head=true:folder"})
	lists := 0
	f.listing = func(path string, answer []byte) io.Reader {
		if lists++; lists%2 == 0 {
			return strings.NewReader(`{"list": [{"Path": "` + strings.TrimPrefix(path+"/b", "/") + `", "Size": -1, "IsDir": false}]}`)
		}
		return strings.NewReader(string(answer))
	}
	objects, err := list(t.Context(), s, "")
	const broken = ": cannot be read: the server returns an error for it"
	if got, want := obstacles(objects), []string{"a", "b" + broken, "c/b" + broken, "c/d"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
