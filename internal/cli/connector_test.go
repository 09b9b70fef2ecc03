package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assetferry/sources/ckfinder/ckfindertest"
)

// cmdConnector serves a directory as a CKFinder connector. The folders at the top are the resource
// types. It sets the variables CONNECTOR and SOURCE to the URL. More arguments change the
// connector:
//
//	connector dir [session=NAME] [login-page]
//	connector break 'GetFiles Images/a/' 103
//	connector end
//	connector wrong
func cmdConnector(ts *testscript.TestScript, _ bool, args []string) {
	b := benchOf(ts)
	switch args[0] {
	case "break":
		b.connector.Break(args[1], 103)
		return
	case "end":
		b.connector.Change(func(k *ckfindertest.Knobs) { k.Session = "another" })
		return
	case "wrong":
		if wrong := b.connector.Wrong(); len(wrong) > 0 {
			ts.Fatalf("%s", strings.Join(wrong, "\n"))
		}
		return
	}
	c, stop, err := serveConnector(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(stop)
	b.connector = c
	for _, word := range args[1:] {
		c.Change(func(k *ckfindertest.Knobs) {
			if session, ok := strings.CutPrefix(word, "session="); ok {
				k.Session = session
			}
			k.LoginPage = k.LoginPage || word == "login-page"
		})
	}
	ts.Setenv("CONNECTOR", c.URL)
	ts.Setenv("SOURCE", "ckfinder+"+c.URL)
}

// serveConnector serves a directory as a connector.
func serveConnector(dir string) (*ckfindertest.Connector, func(), error) {
	top, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var kinds []string
	for _, e := range top {
		if e.IsDir() {
			kinds = append(kinds, e.Name())
		}
	}
	c, stop := ckfindertest.Start(kinds...)
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		c.Put(path, content)
		return err
	})
	return c, stop, err
}

// startConnector serves a directory for a test, to clients with a session.
func startConnector(t *testing.T, dir, session string) *ckfindertest.Connector {
	t.Helper()
	c, stop, err := serveConnector(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Set(ckfindertest.Knobs{Session: session})
	t.Cleanup(func() {
		stop()
		for _, w := range c.Wrong() {
			t.Error(w)
		}
	})
	return c
}
