package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWeb serves a folder to requests with a header, and sets WEB to its URL: web FOLDER [NAME
// VALUE]
func cmdWeb(ts *testscript.TestScript, _ bool, args []string) {
	files := http.FileServer(http.Dir(ts.MkAbs(args[0])))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(args) == 3 && r.Header.Get(args[1]) != args[2] {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	ts.Defer(s.Close)
	ts.Setenv("WEB", s.URL)
}

// cmdAddressed expands variables, such as the URL of the server, in a file: addressed FILE
func cmdAddressed(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// table makes the source a table whose URLs contain secrets, at a server that also requires a
// header, and returns the variables to reach it.
func (l *leakTest) table(t *testing.T, answer http.HandlerFunc) []string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	l.source = "table:" + l.input(t, "export.csv", "key,url\na.jpg,"+s.URL+"/a.jpg?token="+mark+"-signature\nb.jpg,http://"+mark+"-user:"+mark+"-password@127.0.0.1/b.jpg\n")
	l.conf = []string{"--config", l.input(t, "c.yaml", "allow_private_networks: true\n")}
	return []string{"ASSETFERRY_SOURCE_HEADERS=Authorization: Bearer " + mark + "-header"}
}

// toInsiders answers requests with the right header and URL.
func toInsiders(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+mark+"-header" || r.URL.Query().Get("token") != mark+"-signature" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Length", "4")
	_, _ = io.WriteString(w, "okay")
}
