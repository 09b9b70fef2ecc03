package cli

import (
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assetferry/sources/wordpress/wordpresstest"
)

// cmdWordPress serves a directory as the media library of a WordPress site. It sets SOURCE to the URL
// of the site. More arguments change the site:
//
//	wordpress dir [/FOLDER]
//	wordpress text KEY FIELD TEXT   the alt text or another text of an entry
//	wordpress put KEY FILE          a new file, or a replacement
//	wordpress remove KEY
//	wordpress again KEY             another entry for the file, as in another language
//	wordpress scaled KEY            a smaller copy is served
//	wordpress password TEXT         revokes the application password, and creates another one
//	wordpress is BEHAVIOUR          see wordpresstest
//	wordpress post ID FILE          a post with the content of a file, in which SITE is replaced
//	wordpress content ID            prints the content of a post
//	wordpress filtered              the account may not save all HTML
func cmdWordPress(ts *testscript.TestScript, _ bool, args []string) {
	b := benchOf(ts)
	edit := map[string]func(s *wordpresstest.Site, args []string){
		"text": func(s *wordpresstest.Site, args []string) { s.Edit(args[0], setText(args[1], args[2])) },
		"put": func(s *wordpresstest.Site, args []string) {
			content, err := os.ReadFile(ts.MkAbs(args[1]))
			ts.Check(err)
			s.Put(args[0], content, nil)
		},
		"remove":   func(s *wordpresstest.Site, args []string) { s.Remove(args[0]) },
		"again":    func(s *wordpresstest.Site, args []string) { s.Add(args[0], setText("title", "Une autre langue")) },
		"scaled":   func(s *wordpresstest.Site, args []string) { s.Scale(args[0]) },
		"password": func(s *wordpresstest.Site, args []string) { s.Replace(args[0]) },
		"post": func(s *wordpresstest.Site, args []string) {
			id, err := strconv.Atoi(args[0])
			ts.Check(err)
			s.PutPost(id, strings.ReplaceAll(ts.ReadFile(args[1]), "SITE", ts.Getenv("SITE")))
		},
		"content": func(s *wordpresstest.Site, args []string) {
			id, err := strconv.Atoi(args[0])
			ts.Check(err)
			fmt.Fprint(ts.Stdout(), s.Post(id))
		},
		"filtered": func(s *wordpresstest.Site, _ []string) { s.Filtered = true },
		"is":       func(s *wordpresstest.Site, args []string) { s.Behave(wordpresstest.Behaviour(args[0])) },
	}[args[0]]
	if edit != nil {
		edit(b.site, args[1:])
		return
	}
	b.site = &wordpresstest.Site{Folder: strings.Join(args[1:], "")}
	ts.Check(putTree(b.site, ts.MkAbs(args[0])))
	server := httptest.NewServer(b.site)
	ts.Defer(server.Close)
	ts.Setenv("SITE", server.URL)
	ts.Setenv("SOURCE", "wordpress+"+server.URL+b.site.Folder)
}

// setText returns a function that sets a text of an entry, as it was written and as a page shows it.
func setText(field, text string) func(wordpresstest.Item) {
	return func(i wordpresstest.Item) {
		if field == "alt_text" {
			i[field] = text
			return
		}
		i[field] = map[string]any{"raw": text, "rendered": "<p>" + text + "</p>\n"}
	}
}

// putTree stores the files of a directory as a media library.
func putTree(s *wordpresstest.Site, dir string) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		s.Put(path, content, nil)
		return err
	})
}

// startWordPress serves a directory as the media library of a site for a test, and returns the URL of
// the site.
func startWordPress(t *testing.T, dir string) string {
	t.Helper()
	s := &wordpresstest.Site{}
	if err := putTree(s, dir); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}
