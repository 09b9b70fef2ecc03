package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestErrorNamesTheObject(t *testing.T) {
	for want, e := range map[string]Error{
		"list s3://b/p/: file does not exist":           {Op: "list", Source: "s3://b/p/"},
		"open s3://b/p/a/x.png: file does not exist":    {Op: "open", Source: "s3://b/p/", Key: "a/x.png"},
		"read /mnt/share: a/x.png: file does not exist": {Op: "read", Source: "/mnt/share", Key: "a/x.png"},
	} {
		e.Err = fs.ErrNotExist
		if got := e.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

type refusal struct{ auth bool }

func (refusal) Error() string  { return "refused" }
func (r refusal) IsAuth() bool { return r.auth }

// TestIsAuth verifies that only errors of the source count: others are about other credentials.
func TestIsAuth(t *testing.T) {
	for _, auth := range []bool{true, false} {
		err := errors.Join(refusal{!auth}, &Error{Err: fmt.Errorf("list: %w", refusal{auth})})
		if IsAuth(err) != auth {
			t.Errorf("%v", !auth)
		}
	}
	if IsAuth(nil) || IsAuth(refusal{true}) || IsAuth(&Error{Err: fs.ErrPermission}) {
		t.Error("what says nothing of credentials is about these")
	}
}
