package main

import (
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWeb has a server hand out a folder to whoever sends a header, and puts its address
// into WEB: web FOLDER [NAME VALUE]
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

// cmdAddressed puts the address of the server into a file: addressed FILE
func cmdAddressed(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
