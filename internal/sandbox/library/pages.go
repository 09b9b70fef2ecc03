// Package library shows in a browser what is in a sandbox: workspaces, categories,
// folders, and assets with their pictures, for the person at this machine. It only
// reads: what there is it knows from [Places] and [Assets].
//
// The pages are made on the server and run no script. They show private files
// without a token, so they are for connections from this machine alone, and for
// browsers that were opened with a key, see [Pages.ServeHTTP] and [Access]; and since files that somebody uploaded come from the same
// address, no script is answered, wherever it is from.
package library

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
)

//go:embed templates/*.html style.css icon.svg
var files embed.FS

// base is where everything is but the first page.
const base = "/_sandbox/library"

// Pages are an http.Handler for the requests that they take.
type Pages struct {
	places    Places
	assets    Assets
	access    *Access
	log       *slog.Logger
	mux       *http.ServeMux
	templates map[string]*template.Template
}

// New makes the pages of places and their assets, for those whom access admits.
func New(places Places, assets Assets, access *Access, log *slog.Logger) *Pages {
	p := &Pages{places: places, assets: assets, access: access, log: log, mux: http.NewServeMux(), templates: make(map[string]*template.Template)}
	p.page("GET /{$}", "workspaces", p.workspaces)
	p.page("GET "+base+"/{$}", "workspaces", p.workspaces)
	p.page("GET "+base+"/workspaces/{id}", "workspace", p.workspace)
	p.page("GET "+base+"/workspaces/{id}/search", "search", p.search)
	p.page("GET "+base+"/workspaces/{id}/trash", "trash", p.trash)
	p.page("GET "+base+"/categories/{id}", "place", p.category)
	p.page("GET "+base+"/categories/{id}/folders", "folders", p.allFolders)
	p.page("GET "+base+"/folders/{id}", "place", p.folder)
	p.page("GET "+base+"/assets/{id}", "asset", p.asset)
	p.page("GET "+base+"/", "problem", func(*http.Request) (view, error) { return view{}, ErrNotThere })
	p.part("GET "+base+"/assets/{id}/thumbnail", p.thumbnail)
	p.part("GET "+base+"/assets/{id}/preview", p.preview)
	p.part("GET "+base+"/assets/{id}/file", p.file)
	p.part("GET "+base+"/style.css", p.own("style.css", "text/css; charset=utf-8"))
	p.part("GET "+base+"/icon.svg", p.own("icon.svg", "image/svg+xml"))
	p.parse("problem")
	return p
}

// Takes reports whether a request is for the pages. At / only those are that ask
// for HTML by name, as browsers do and programs do not.
func (p *Pages) Takes(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	return r.URL.Path == "/" && asksForHTML(r) || r.URL.Path == base || strings.HasPrefix(r.URL.Path, base+"/")
}

// ServeHTTP answers who may see the pages. Everybody else is told why not: see
// refusal.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store") // private files are among it, and caches can be asked by scripts
	if why := refusal(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if p.access.open(w, r) {
		return
	}
	if !p.access.admits(r) {
		http.Error(w, noKey, http.StatusForbidden)
		return
	}
	p.mux.ServeHTTP(w, r)
}

// page shows under a pattern what a template makes of what is found.
func (p *Pages) page(pattern, name string, find func(*http.Request) (view, error)) {
	p.parse(name)
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if !byNavigation(r) {
			http.Error(w, noScripts, http.StatusForbidden)
			return
		}
		v, err := find(r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		p.render(w, r, http.StatusOK, cmp.Or(v.Template, name), v)
	})
}

// part answers under a pattern with what pages consist of.
func (p *Pages) part(pattern string, answer func(http.ResponseWriter, *http.Request) error) {
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if !byPage(r) {
			http.Error(w, noScripts, http.StatusForbidden)
			return
		}
		if err := answer(w, r); err != nil {
			p.fail(w, r, err)
		}
	})
}

// fail says that there is no such thing, or that something broke.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	v, status := view{Title: "Not found", Body: problem{}}, http.StatusNotFound
	if !errors.Is(err, ErrNotThere) {
		p.log.Error("library page failed", "path", r.URL.Path, "error", err)
		v, status = view{Title: "Something broke", Body: problem{Error: err.Error()}}, http.StatusInternalServerError
	}
	p.render(w, r, status, "problem", v)
}

// A problem is why there is no page; without an error there is no such thing.
type problem struct{ Error string }

// A view is what the layout shows around a body.
type view struct {
	Template  string // if another than that of the pattern
	Title     string
	Workspace Ref  // whose search and trash are offered; the zero value: none
	Searching bool // the body has the search
	Trail     []Link
	Origin    string // of the request, for addresses that are shown
	Body      any
}

// A Link leads to a page. Without an address it is the page itself.
type Link struct{ Name, Address string }

func (p *Pages) parse(name string) {
	if p.templates[name] == nil {
		p.templates[name] = template.Must(template.New(name).Funcs(functions()).ParseFS(files,
			"templates/layout.html", "templates/assets.html", "templates/"+name+".html"))
	}
}

// render makes the page first, so that no half of one is sent.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	var b bytes.Buffer
	v.Origin = "http://" + r.Host
	if err := p.templates[name].ExecuteTemplate(&b, "layout", v); err != nil {
		p.log.Error("library page failed", "path", r.URL.Path, "error", err)
		http.Error(w, fmt.Sprintf("The page cannot be made: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that has gone loses nothing
}
