// Package library shows the content of a sandbox in a browser: workspaces, categories, folders
// and assets with their images. It is for the person at this machine, and read-only: it reads
// from [Places] and [Assets].
//
// The server renders the pages; they contain no scripts. The pages show private files without a
// token, so only local connections with a key may see them, see [Pages.ServeHTTP] and [Access].
// Uploaded files have the same origin as the pages, so scripts are refused in general.
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

// base is the path prefix of everything except the start page.
const base = "/_sandbox/library"

// Pages handle the requests of the library.
type Pages struct {
	places    Places
	assets    Assets
	access    *Access
	log       *slog.Logger
	mux       *http.ServeMux
	templates map[string]*template.Template
}

// New returns the pages of places and assets, for browsers that access admits.
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

// Takes reports whether a request is for the pages. At / the request must name HTML, as
// browsers do.
func (p *Pages) Takes(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	return r.URL.Path == "/" && asksForHTML(r) || r.URL.Path == base || strings.HasPrefix(r.URL.Path, base+"/")
}

// ServeHTTP answers requests that may see the pages. Others get the reason, see refusal.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store") // pages contain private files, and scripts can query caches
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

// page handles a pattern with a template for the result of find.
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

// part handles a pattern with a resource of a page.
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

// fail answers with a page for a missing object or an error.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	v, status := view{Title: "Not found", Body: problem{}}, http.StatusNotFound
	if !errors.Is(err, ErrNotThere) {
		p.log.Error("library page failed", "path", r.URL.Path, "error", err)
		v, status = view{Title: "Error", Body: problem{Error: err.Error()}}, http.StatusInternalServerError
	}
	p.render(w, r, status, "problem", v)
}

// A problem explains why a page cannot be shown. Without an error, the object does not exist.
type problem struct{ Error string }

// A view is the input of the layout.
type view struct {
	Template  string // "" for the template of the pattern
	Title     string
	Workspace Ref  // for the search and the trash; zero: none
	Searching bool // the page has its own search form
	Trail     []Link
	Origin    string // of the request, for URLs as text
	Body      any
}

// A Link is a link to a page. Without a URL it is the current page.
type Link struct{ Name, URL string }

func (p *Pages) parse(name string) {
	if p.templates[name] == nil {
		p.templates[name] = template.Must(template.New(name).Funcs(functions()).ParseFS(files,
			"templates/layout.html", "templates/assets.html", "templates/"+name+".html"))
	}
}

// render completes a page before it sends anything.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	var b bytes.Buffer
	v.Origin = "http://" + r.Host
	if err := p.templates[name].ExecuteTemplate(&b, "layout", v); err != nil {
		p.log.Error("library page failed", "path", r.URL.Path, "error", err)
		http.Error(w, fmt.Sprintf("The page cannot be rendered: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser may have disconnected
}
