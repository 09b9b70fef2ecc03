// Package ckfindertest is a CKFinder 3 connector in memory for tests. It implements the documented
// commands that only read. Knobs simulate the behaviour of other connectors and of proxies. It
// shares no code with the adapter, so that a mistake is not repeated. It records requests that no
// client may send.
package ckfindertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Permissions of a folder for reading.
const (
	ViewFolders = 1
	ViewFiles   = 16
	Everything  = 1023
)

// Knobs are differences between connectors. The zero Knobs are the vendor's PHP connector with a
// public folder.
type Knobs struct {
	NoRanges            bool   // Proxy ignores ranges
	NoLengths           bool   // Proxy returns no content length
	NoValidators        bool   // Proxy returns neither ETag nor Last-Modified
	NoETags             bool   // Proxy returns Last-Modified only
	NowModified         bool   // Proxy returns the time of the answer as Last-Modified, and no ETag
	NoProxy             bool   // an old connector with DownloadFile only
	StatusOK            bool   // errors come with status 200
	NoURLs              bool   // no folder has a URL, as on private storage
	RawURLs             bool   // URLs of folders are not escaped
	Tenths              bool   // sizes come in tenths of kilobytes, and as text
	ByteOrderMark       bool   // in front of JSON
	Session             string // of the cookie PHPSESSID, which is required
	Renew               string // the session that Init starts; the old one ends
	LoginPage           bool   // without a session, return a page and no error
	LoginRedirect       bool   // without a session, redirect to a page
	Token               string // of the header Authorization: Bearer
	OwnParameter        string // the application finds its connector by route=this
	EmptyWithoutSession bool   // without a session, return an empty library
}

type file struct {
	content []byte
	changed time.Time
}

// A Connector is a server of resource types. Its methods may be called from several
// goroutines.
type Connector struct {
	URL string // of the connector

	mu     sync.Mutex
	knobs  Knobs
	kinds  []string
	files  map[string]file // by resource type and path, such as Images/a/b.jpg
	made   map[string]bool // empty folders, such as Images/a/
	acl    map[string]int  // of folders with restrictions
	broken map[string]int  // error numbers by "COMMAND Images/a/" or "Proxy Images/a/b.jpg"
	now    time.Time       // each file is a minute younger than the last
	wrap   func(http.Handler) http.Handler
	asked  []url.Values
	wrong  []string // requests that no client may send
}

// New starts a connector for a test, with resource types and without files. The test fails after a
// request that no client may send.
func New(tb testing.TB, kinds ...string) *Connector {
	tb.Helper()
	c, stop := Start(kinds...)
	tb.Cleanup(func() {
		stop()
		for _, w := range c.Wrong() {
			tb.Error(w)
		}
	})
	return c
}

// Start starts a connector with resource types and without any files.
func Start(kinds ...string) (_ *Connector, stop func()) {
	c := &Connector{
		kinds: kinds, files: map[string]file{}, made: map[string]bool{}, acl: map[string]int{}, broken: map[string]int{},
		now: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	c.URL = server.URL + "/ckfinder/connector"
	return c, server.Close
}

// Put stores a file, such as Images/a/b.jpg.
func (c *Connector) Put(key string, content []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Minute)
	c.files[key] = file{slices.Clone(content), c.now}
}

// Remove removes a file.
func (c *Connector) Remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.files, key)
}

// RemoveAll removes all keys with a prefix, and the resource type of that name.
func (c *Connector) RemoveAll(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.files {
		if strings.HasPrefix(key, prefix) {
			delete(c.files, key)
		}
	}
	for folder := range c.made {
		if strings.HasPrefix(folder, prefix) {
			delete(c.made, folder)
		}
	}
	c.kinds = slices.DeleteFunc(c.kinds, func(k string) bool { return k+"/" == prefix })
}

// Make creates a folder, such as Images/a/.
func (c *Connector) Make(folder string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made[folder] = true
}

// Allow sets the permissions of a folder.
func (c *Connector) Allow(folder string, acl int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acl[folder] = acl
}

// Break makes a command fail with an error number: "GetFiles Images/a/", or "Proxy Images/a/b.jpg".
// 0 ends the failure.
func (c *Connector) Break(what string, number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken[what] = number
}

// Wrap wraps the connector in a handler; nil removes it.
func (c *Connector) Wrap(wrap func(http.Handler) http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrap = wrap
}

// Knobs returns the current knobs.
func (c *Connector) Knobs() Knobs {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.knobs
}

// Set sets the knobs.
func (c *Connector) Set(knobs Knobs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.knobs = knobs
}

// Change changes some of the knobs.
func (c *Connector) Change(change func(*Knobs)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.knobs)
}

// Asked returns the parameters of the requests since the last call.
func (c *Connector) Asked() []url.Values {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// Wrong returns the requests that no client may send.
func (c *Connector) Wrong() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.wrong)
}

func (c *Connector) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked = append(c.asked, r.URL.Query())
	wrap := c.wrap
	c.mu.Unlock()
	var h http.Handler = http.HandlerFunc(c.connector)
	if wrap != nil {
		h = wrap(h)
	}
	h.ServeHTTP(w, r)
}

// connector is the handler inside Wrap.
func (c *Connector) connector(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.Method != http.MethodGet:
		c.wrong = append(c.wrong, "the connector got a "+r.Method)
		http.Error(w, "", http.StatusMethodNotAllowed)
	case r.URL.Path != "/ckfinder/connector" || c.knobs.OwnParameter != q.Get("route"):
		http.NotFound(w, r)
	case c.isAnonymous(r):
		c.refuseAnonymous(w, r)
	default:
		c.command(w, r, q)
	}
}

func (c *Connector) isAnonymous(r *http.Request) bool {
	if t := c.knobs.Token; t != "" && r.Header.Get("Authorization") != "Bearer "+t {
		return true
	}
	cookies := r.CookiesNamed("PHPSESSID")
	return c.knobs.Session != "" && (len(cookies) != 1 || cookies[0].Value != c.knobs.Session)
}

func (c *Connector) refuseAnonymous(w http.ResponseWriter, r *http.Request) {
	switch {
	case c.knobs.LoginPage:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "\n<!DOCTYPE html><title>Log in</title>"+strings.Repeat("<p>Please log in", 60))
	case c.knobs.LoginRedirect:
		http.Redirect(w, r, "/login?back=secret", http.StatusFound)
	case c.knobs.EmptyWithoutSession && r.URL.Query().Has("fileName"):
		c.fail(w, 103)
	case c.knobs.EmptyWithoutSession:
		c.reply(w, http.StatusOK, map[string]any{"enabled": true, "resourceTypes": []any{}})
	default:
		c.fail(w, 500)
	}
}

func (c *Connector) command(w http.ResponseWriter, r *http.Request, q url.Values) {
	kind, path := q.Get("type"), q.Get("currentFolder")
	folder := kind + path
	command := q.Get("command")
	isFile := command == "Proxy" || command == "DownloadFile"
	what := command + " " + folder
	if isFile {
		what += q.Get("fileName")
	}
	switch {
	case c.broken[what] != 0:
		c.fail(w, c.broken[what])
	case command == "Init":
		c.init(w)
	case command != "GetFolders" && command != "GetFiles" && command != "DownloadFile" && (command != "Proxy" || c.knobs.NoProxy):
		c.fail(w, 10)
	case !slices.Contains(c.kinds, kind):
		c.fail(w, 12)
	case !strings.HasPrefix(path, "/") || !strings.HasSuffix(path, "/"):
		c.wrong = append(c.wrong, fmt.Sprintf("the connector was asked for the folder %q", path))
		c.fail(w, 109)
	case isFile:
		c.deliver(w, r, folder+q.Get("fileName"))
	case !c.exists(folder):
		c.fail(w, 116)
	case command == "GetFolders":
		c.folders(w, kind, path)
	default:
		c.list(w, kind, path)
	}
}

func (c *Connector) exists(folder string) bool {
	if strings.Count(folder, "/") == 1 || c.made[folder] {
		return true
	}
	for key := range c.files {
		if strings.HasPrefix(key, folder) {
			return true
		}
	}
	for made := range c.made {
		if strings.HasPrefix(made, folder) {
			return true
		}
	}
	return false
}

func (c *Connector) init(w http.ResponseWriter) {
	if c.knobs.Renew != "" {
		c.knobs.Session = c.knobs.Renew
		http.SetCookie(w, &http.Cookie{Name: "PHPSESSID", Value: c.knobs.Renew, Path: "/", HttpOnly: true})
	}
	types := []any{}
	for _, kind := range c.kinds {
		t := map[string]any{
			"name": kind, "allowedExtensions": "bmp,gif,jpeg,jpg,png", "deniedExtensions": "", "hash": "8b787e3ea25b5079",
			"hasChildren": false, "acl": c.permissions(kind + "/"), "maxSize": 32768,
		}
		if !c.knobs.NoURLs {
			t["url"] = "/userfiles/" + strings.ToLower(kind)
		}
		types = append(types, t)
	}
	c.reply(w, http.StatusOK, map[string]any{
		"enabled": true, "s": "", "c": "", "thumbs": []string{"150x150"}, "uploadMaxSize": "425167", "uploadCheckImages": true,
		"images": map[string]any{"max": "500x400", "sizes": map[string]string{"small": "480x320"}}, "resourceTypes": types,
	})
}

func (c *Connector) permissions(folder string) int {
	if acl, ok := c.acl[folder]; ok {
		return acl
	}
	return Everything
}

// about returns the common fields of responses for a folder.
func (c *Connector) about(kind, path string) map[string]any {
	current := map[string]any{"path": path, "acl": c.permissions(kind + path)}
	if !c.knobs.NoURLs {
		rawURL := "/userfiles/" + strings.ToLower(kind) + path
		if !c.knobs.RawURLs {
			rawURL = (&url.URL{Path: rawURL}).EscapedPath()
		}
		current["url"] = rawURL
	}
	return map[string]any{"resourceType": kind, "currentFolder": current}
}

func (c *Connector) folders(w http.ResponseWriter, kind, path string) {
	folder, names := kind+path, map[string]bool{}
	for key := range c.files {
		if rest, ok := strings.CutPrefix(key, folder); ok && strings.Contains(rest, "/") {
			name, _, _ := strings.Cut(rest, "/")
			names[name] = true
		}
	}
	for made := range c.made {
		if rest, ok := strings.CutPrefix(made, folder); ok && rest != "" {
			name, _, _ := strings.Cut(rest, "/")
			names[name] = true
		}
	}
	list := []any{}
	for name := range names { // in random order
		acl := c.permissions(folder + name + "/")
		if acl&ViewFolders == 0 {
			continue
		}
		list = append(list, map[string]any{"name": name, "hasChildren": false, "acl": acl})
	}
	answer := c.about(kind, path)
	answer["folders"] = list
	c.reply(w, http.StatusOK, answer)
}

func (c *Connector) list(w http.ResponseWriter, kind, path string) {
	folder, list := kind+path, []any{}
	if c.permissions(folder)&ViewFiles == 0 {
		c.fail(w, 103)
		return
	}
	for key, f := range c.files { // in random order
		name, ok := strings.CutPrefix(key, folder)
		if !ok || strings.Contains(name, "/") {
			continue
		}
		var size any = kilobytes(len(f.content))
		if c.knobs.Tenths {
			size = fmt.Sprintf("%.1f", float64(len(f.content)*10/1024)/10)
		}
		list = append(list, map[string]any{"name": name, "date": f.changed.Format("200601021504"), "size": size})
	}
	answer := c.about(kind, path)
	answer["files"] = list
	c.reply(w, http.StatusOK, answer)
}

// kilobytes rounds as documented.
func kilobytes(size int) int {
	if size > 0 && size < 1024 {
		return 1
	}
	return (size + 512) / 1024
}

// deliver returns a file. It unlocks while it writes.
func (c *Connector) deliver(w http.ResponseWriter, r *http.Request, key string) {
	f, ok := c.files[key]
	if !ok {
		c.fail(w, 117)
		return
	}
	k := c.knobs
	c.mu.Unlock()
	defer c.mu.Lock()
	header := w.Header()
	header.Set("Content-Type", "image/jpeg")
	changed := f.changed
	switch {
	case k.NoValidators:
		changed = time.Time{}
	case k.NowModified:
		changed = time.Now()
	case !k.NoETags:
		header.Set("ETag", fmt.Sprintf(`"%x-%x"`, changed.Unix(), len(f.content)))
	}
	if !k.NoRanges && !k.NoLengths {
		http.ServeContent(w, r, "", changed, strings.NewReader(string(f.content)))
		return
	}
	if !changed.IsZero() {
		header.Set("Last-Modified", changed.UTC().Format(http.TimeFormat))
	}
	if !k.NoLengths {
		header.Set("Content-Length", fmt.Sprint(len(f.content)))
	}
	w.WriteHeader(http.StatusOK)
	if k.NoLengths {
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = w.Write(f.content)
}

// statuses are the HTTP statuses of errors.
var statuses = map[int]int{10: 400, 12: 400, 103: 403, 104: 403, 109: 400, 116: 404, 117: 404, 500: 403}

func (c *Connector) fail(w http.ResponseWriter, number int) {
	status, ok := statuses[number]
	if !ok {
		status = http.StatusInternalServerError
	}
	if c.knobs.StatusOK {
		status = http.StatusOK
	}
	c.reply(w, status, map[string]any{"error": map[string]any{"number": number, "message": fmt.Sprintf("message of %d", number)}})
}

func (c *Connector) reply(w http.ResponseWriter, status int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		c.wrong = append(c.wrong, err.Error())
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if c.knobs.ByteOrderMark {
		text = append([]byte("\xef\xbb\xbf"), text...)
	}
	_, _ = w.Write(text)
}
