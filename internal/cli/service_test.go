package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/openapitest"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

// A service is a sandbox on a loopback address in the process of the test. Its methods read the
// service without code of the client.
type service struct {
	url string
	env tokens.Environment

	skew    time.Duration
	handler http.Handler
	server  *httptest.Server
	conns   *sandboxtest.Connections
	close   func() error

	processed func(context.Context) error // waits until all images are processed

	mu       sync.Mutex
	requests []string                        // method and path, in order of arrival
	arrived  func(r *http.Request)           // called with each request before it is answered
	answer   func(http.Handler) http.Handler // wraps the sandbox; may be nil
}

// newService starts a sandbox, which the caller must close.
func newService(o sandbox.Options) (*service, error) {
	return serveWith(o, (*httptest.Server).Start)
}

func serveWith(o sandbox.Options, start func(*httptest.Server)) (*service, error) {
	if len(o.Environments) == 0 {
		o.Environments = []tokens.Environment{sandboxtest.Environment()}
	}
	if reflect.ValueOf(o.Profile).IsZero() {
		var err error
		if o.Profile, err = sandboxtest.Flagged(); err != nil {
			return nil, err
		}
	}
	h, err := sandbox.New(o)
	if err != nil {
		return nil, err
	}
	checked, err := openapitest.Check(h)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	s := &service{env: o.Environments[0], skew: o.ClockSkew, handler: checked, processed: h.Processed}
	s.server = httptest.NewUnstartedServer(s)
	s.conns = sandboxtest.KeepConnections(s.server)
	start(s.server)
	s.url = s.server.URL
	s.close = sync.OnceValue(func() error {
		s.server.CloseClientConnections()
		s.server.Close()
		if o.Profile.Version != 0 { // its answers may differ from the specification
			return h.Close()
		}
		return errors.Join(checked.Err(), h.Close())
	})
	return s, nil
}

func startService(t testing.TB, o sandbox.Options) *service {
	t.Helper()
	s, err := newService(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("close sandbox: %v", err)
		}
	})
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Test") != "" { // a request of the test itself
		s.handler.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	arrived, answer := s.arrived, s.answer
	s.mu.Unlock()
	if arrived != nil {
		arrived(r)
	}
	h := s.handler
	if answer != nil {
		h = answer(h)
	}
	h.ServeHTTP(w, r)
}

// onRequest sets a function that is called with every request from now on.
func (s *service) onRequest(f func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived = f
}

// wrap replaces the handler that wraps the sandbox.
func (s *service) wrap(f func(http.Handler) http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// rest waits until the service has finished all requests of ended processes.
func (s *service) rest(t testing.TB) {
	t.Helper()
	s.conns.Rest(t)
}

// drain returns the requests since the last call.
func (s *service) drain() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// makePrivate makes a category private.
func (s *service) makePrivate(category string) error { return s.setPrivate(category, true) }

func (s *service) setPrivate(category string, private bool) error {
	var list struct{ Items []map[string]any }
	if err := s.get("/categories?limit=500", &list); err != nil {
		return err
	}
	for _, c := range list.Items {
		if c["name"] != category {
			continue
		}
		body, err := json.Marshal(map[string]any{"name": c["name"], "extensions": c["extensions"], "isPrivate": private})
		if err != nil {
			return err
		}
		return s.call("PUT", fmt.Sprint("/admin/categories/", c["id"]), bytes.NewReader(body), "application/json", nil)
	}
	return fmt.Errorf("there is no category %s", category)
}

// variables returns the environment variables of a client.
func (s *service) variables() []string {
	return []string{"ASSETFERRY_URL=" + s.url, "ASSETFERRY_ENVIRONMENT_ID=" + s.env.ID, "ASSETFERRY_ACCESS_KEY=" + string(s.env.AccessKey)}
}

func (s *service) call(method, path string, body io.Reader, contentType string, into any) error {
	url := path
	if strings.HasPrefix(path, "/") {
		url = s.url + path
	}
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		return err
	}
	claims := sandboxtest.Claims(s.env, "superadmin")
	claims["iat"] = time.Now().Add(s.skew).Unix()
	r.Header.Set("Authorization", sandboxtest.Sign(s.env.AccessKey, claims))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Test", "1")
	resp, err := s.server.Client().Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	switch into := into.(type) {
	case nil:
		return nil
	case *[]byte:
		*into = text
		return nil
	}
	return json.Unmarshal(text, into)
}

func (s *service) get(path string, into any) error { return s.call("GET", path, nil, "", into) }

// A stored is an asset at the service.
type stored struct {
	id, category, folder, name string
	description                string
	content                    []byte
}

func (a stored) place() string {
	return strings.Join(slices.DeleteFunc([]string{a.category, a.folder, a.name}, func(p string) bool { return p == "" }), "/")
}

func (a stored) String() string {
	return fmt.Sprintf("%s %d %x", a.place(), len(a.content), sha256.Sum256(a.content))
}

type folderTree struct {
	ID, Name, CategoryID, ParentID string
	Folders                        []folderTree
}

// structure returns the categories with their folders.
func (s *service) structure() ([]folderTree, error) {
	var categories, top struct{ Items []folderTree }
	if err := errors.Join(s.get("/categories?limit=500", &categories), s.get("/folders", &top)); err != nil {
		return nil, err
	}
	for _, f := range top.Items {
		if f.ParentID != "" { // some profiles list subfolders, too
			continue
		}
		i := slices.IndexFunc(categories.Items, func(c folderTree) bool { return c.ID == f.CategoryID })
		if i < 0 {
			return nil, fmt.Errorf("folder %s is in no category", f.ID)
		}
		var deep folderTree
		if err := s.get("/folders/"+f.ID+"?depth=1000", &deep); err != nil {
			return nil, err
		}
		categories.Items[i].Folders = append(categories.Items[i].Folders, deep)
	}
	return categories.Items, nil
}

// places returns the sorted paths of all categories and folders. Duplicates occur twice.
func (s *service) places() ([]string, error) {
	categories, err := s.structure()
	var all []string
	var walk func(string, []folderTree)
	walk = func(path string, folders []folderTree) {
		for _, f := range folders {
			all = append(all, path+f.Name)
			walk(path+f.Name+"/", f.Folders)
		}
	}
	walk("", categories)
	slices.Sort(all)
	return all, err
}

// assets returns all assets with their content, sorted by path.
func (s *service) assets() ([]stored, error) {
	categories, err := s.structure()
	if err != nil {
		return nil, err
	}
	var all []stored
	for _, c := range categories {
		err := s.list("categoryId="+c.ID, stored{category: c.Name}, &all)
		for _, f := range c.Folders {
			err = errors.Join(err, s.walk(f, stored{category: c.Name}, &all))
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(a.id, b.id)) })
	return all, nil
}

func (s *service) walk(f folderTree, at stored, all *[]stored) error {
	at.folder = strings.TrimPrefix(at.folder+"/"+f.Name, "/")
	err := s.list("folderId="+f.ID, at, all)
	for _, sub := range f.Folders {
		err = errors.Join(err, s.walk(sub, at, all))
	}
	return err
}

func (s *service) list(where string, at stored, all *[]stored) error {
	var page struct {
		Items []struct {
			ID, FolderID, Name, Extension, URL string
			Metadata                           struct{ Description string }
		}
		TotalCount int
	}
	for offset := 0; ; offset += len(page.Items) {
		if err := s.get(fmt.Sprintf("/assets?%s&limit=500&offset=%d&sortBy=uploadedAt", where, offset), &page); err != nil {
			return err
		}
		for _, i := range page.Items {
			if at.folder == "" && i.FolderID != "" { // some profiles list assets of folders in the category
				continue
			}
			a := at
			a.id, a.name, a.description = i.ID, i.Name, i.Metadata.Description
			if i.Extension != "" {
				a.name += "." + i.Extension
			}
			if err := s.get(i.URL, &a.content); err != nil {
				return err
			}
			*all = append(*all, a)
		}
		if len(page.Items) == 0 || offset+len(page.Items) >= page.TotalCount {
			return nil
		}
	}
}

// find returns the only asset at a path.
func (s *service) find(place string) (stored, error) {
	all, err := s.assets()
	if err != nil {
		return stored{}, err
	}
	i := slices.IndexFunc(all, func(a stored) bool { return a.place() == place })
	if i < 0 {
		return stored{}, fmt.Errorf("there is no asset at %s", place)
	}
	return all[i], nil
}

// trash trashes the asset at a path.
func (s *service) trash(place string) error {
	a, err := s.find(place)
	if err != nil {
		return err
	}
	body, err := json.Marshal([]string{a.id})
	if err != nil {
		return err
	}
	return s.call("POST", "/assets/trash", bytes.NewReader(body), "application/json", nil)
}

// upload uploads an asset directly into a category.
func (s *service) upload(category, name string, content []byte) error {
	var categories struct{ Items []struct{ ID, Name string } }
	if err := s.get("/categories?limit=500", &categories); err != nil {
		return err
	}
	for _, c := range categories.Items {
		if c.Name != category {
			continue
		}
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		err := w.WriteField("categoryId", c.ID)
		f, ferr := w.CreateFormFile("file", name)
		if err = errors.Join(err, ferr); err != nil {
			return err
		}
		if _, err := f.Write(content); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		return s.call("POST", "/assets", &b, w.FormDataContentType(), nil)
	}
	return fmt.Errorf("there is no category %s", category)
}

// answers returns the statistics of the sandbox, one line for each kind of answer.
func (s *service) answers() ([]string, error) {
	var v struct {
		Requests []struct {
			Method, Route string
			Status, Count int
		}
	}
	if err := s.get("/_sandbox/stats", &v); err != nil {
		return nil, err
	}
	var lines []string
	for _, r := range v.Requests {
		lines = append(lines, fmt.Sprintf("%s %s %d %d", r.Method, r.Route, r.Status, r.Count))
	}
	return lines, nil
}
