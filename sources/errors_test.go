package sources

import (
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
