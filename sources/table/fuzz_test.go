package table

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/tabular"
)

// FuzzRow verifies that each row of any table is an error or an object with a key. Its content is
// in a file below the root, or at an HTTP URL without a password.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		"key,url,size\na,https://x.example/a.jpg,1\n", "path,folder,name\n../../a,b/,c\n", "url,sha1\n//x/a%2f..?X-Amz-Signature=1#f,md5:zz\n",
		"url\nhttps://me:secret@x/a\n", `{"url":["https://x/a",1],"a":{"b":[{"c":null},{"c":true}]},"path":"/..\\a"}`, `{"size":-1,"url":"http://[::1]:0/%zz"}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, isCSV bool) {
		name := "t.jsonl"
		if isCSV {
			name = "t.csv"
		}
		file, err := tabular.New(name, tabular.Use{}, strings.NewReader(string(content)), int64(len(content)))
		if err != nil {
			return
		}
		n := &snapshot{file: file}
		if names := file.Columns(); names != nil {
			if n.columns, err = columnsOf(names, nil, true); err != nil {
				return
			}
		}
		if err := file.Each(file.Mistakes(), func(_ int64, r tabular.Row) error {
			e, err := n.entry(r)
			if _, mistake := errors.AsType[*tabular.Mistake](err); err != nil {
				if !mistake {
					t.Fatal(err)
				}
				return nil
			}
			check(t, e)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

func check(t *testing.T, e entry) {
	t.Helper()
	switch {
	case e.key == "":
		t.Fatal("an object without a key")
	case e.wrong != "":
		return
	case e.url == nil && !filepath.IsLocal(filepath.FromSlash(e.path)):
		t.Fatalf("the path %q leads out", e.path)
	case e.url == nil:
		return
	}
	u, err := url.Parse(e.url.String())
	if err != nil || u.User != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		t.Fatalf("the URL %q: %v", e.url, err)
	}
}
