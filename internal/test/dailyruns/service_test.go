//go:build unix

package dailyruns_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

// A service is a sandbox in a process of its own, which is started for each run, behind a constant
// URL. Its methods act as a user, and share no code with our client.
type service struct {
	t       *testing.T
	binary  binary
	env     tokens.Environment
	front   *httptest.Server
	profile string        // a file
	moved   time.Duration // of the clock
	process *exec.Cmd
	stderr  bytes.Buffer

	mu       sync.Mutex
	back     *url.URL // the URL of the present sandbox
	requests []string // of the tool, method and path
}

func newService(t *testing.T, b binary, profile string) *service {
	s := &service{t: t, binary: b, env: sandboxtest.Environment(), profile: profile}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(s.note(r.In))
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		Transport:    &http.Transport{DisableKeepAlives: true}, // each run has another sandbox process
	}
	s.front = httptest.NewServer(proxy)
	t.Cleanup(s.front.Close)
	return s
}

// note records a request, and returns the URL to send it to.
func (s *service) note(r *http.Request) *url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("X-Person") == "" {
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	}
	return s.back
}

// drain returns the requests of the tool since the previous call.
func (s *service) drain() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

// variables returns the environment of a client.
func (s *service) variables() []string {
	return []string{"ASSETFERRY_URL=" + s.front.URL, "ASSETFERRY_ENVIRONMENT_ID=" + s.env.ID, "ASSETFERRY_ACCESS_KEY=" + string(s.env.AccessKey)}
}

// start runs the sandbox with a moved clock and with faults, until stop.
func (s *service) start(moved time.Duration, faults ...string) {
	s.t.Helper()
	args := []string{"sandbox", "--data", "sandbox", "--credentials-from-env", "--profile", s.profile}
	for _, f := range faults {
		args = append(args, "--fault", f)
	}
	s.moved = moved
	s.process = s.binary.command(s.t.Context(), moved, s.variables(), args...)
	s.process.Cancel = func() error { return s.process.Process.Signal(os.Interrupt) }
	s.stderr.Reset()
	s.process.Stderr = &s.stderr
	out, err := s.process.StdoutPipe()
	must(s.t, err)
	must(s.t, s.process.Start())
	lines := bufio.NewScanner(out)
	var rawURL string
	for lines.Scan() {
		if quoted, ok := strings.CutPrefix(lines.Text(), "export ASSETFERRY_URL="); ok {
			rawURL = strings.Trim(quoted, "'")
		}
	}
	back, err := url.Parse(rawURL)
	if err != nil || rawURL == "" {
		s.t.Fatalf("the sandbox does not say where it listens: %v\n%s", err, s.stop())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back = back
}

// stop ends the sandbox with an interrupt, and returns its output.
func (s *service) stop() string {
	if s.process == nil {
		return ""
	}
	_ = s.process.Process.Signal(os.Interrupt) // unless it has ended by itself, which Wait reports
	if err := s.process.Wait(); err != nil {
		s.t.Errorf("the sandbox: %v\n%s", err, &s.stderr)
	}
	s.process = nil
	return s.stderr.String()
}

// now returns the time at the service.
func (s *service) now() time.Time { return time.Now().Add(s.moved) }

func (s *service) call(method, path string, body io.Reader, contentType string, into any) {
	s.t.Helper()
	rawURL := path
	if strings.HasPrefix(path, "/") {
		rawURL = s.front.URL + path
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, rawURL, body)
	must(s.t, err)
	claims := sandboxtest.Claims(s.env, "admin")
	claims["iat"] = s.now().Unix()
	r.Header.Set("Authorization", sandboxtest.Sign(s.env.AccessKey, claims))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Person", "1")
	resp, err := s.front.Client().Do(r)
	must(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(s.t, err)
	if resp.StatusCode >= 300 || resp.StatusCode == http.StatusMultiStatus {
		s.t.Fatalf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	switch into := into.(type) {
	case nil:
	case *string:
		*into = string(text)
	default:
		must(s.t, json.Unmarshal(text, into))
	}
}

func (s *service) get(path string, into any) { s.t.Helper(); s.call("GET", path, nil, "", into) }

func (s *service) send(method, path string, body any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	must(s.t, err)
	s.call(method, path, bytes.NewReader(text), "application/json", nil)
}

// describe changes the description and the tags of an asset.
func (s *service) describe(id string, m metadata) {
	s.t.Helper()
	s.send("PATCH", "/assets/"+id, map[string]any{"metadata": map[string]any{"description": m.text}, "tags": m.tags})
}

func (s *service) rename(id, name string) {
	s.t.Helper()
	s.send("PATCH", "/assets/"+id, map[string]any{"name": name})
}

// move moves an asset into a folder or a category.
func (s *service) move(id, container string) {
	s.t.Helper()
	target := map[string]any{"folderId": s.containers()[container].id}
	if !strings.Contains(container, "/") {
		target = map[string]any{"categoryId": s.containers()[container].id}
	}
	s.send("POST", "/assets/move", map[string]any{"target": target, "assetsActions": []any{map[string]any{"assetId": id}}})
}

func (s *service) trash(ids ...string) { s.t.Helper(); s.send("POST", "/assets/trash", ids) }

// remove deletes assets permanently.
func (s *service) remove(ids ...string) { s.t.Helper(); s.send("POST", "/assets/delete", ids) }

// replace gives an asset other content.
func (s *service) replace(id, name, content string) {
	s.t.Helper()
	body, contentType := form(s.t, nil, name, content)
	s.call("POST", "/assets/"+id, body, contentType, nil)
}

// upload creates an asset in a category.
func (s *service) upload(category, name, content string) {
	s.t.Helper()
	body, contentType := form(s.t, map[string]string{"categoryId": s.containers()[category].id}, name, content)
	s.call("POST", "/assets", body, contentType, nil)
}

func form(t *testing.T, fields map[string]string, name, content string) (body *bytes.Buffer, contentType string) {
	t.Helper()
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for field, value := range fields {
		must(t, w.WriteField(field, value))
	}
	f, err := w.CreateFormFile("file", name)
	must(t, err)
	_, err = io.WriteString(f, content)
	must(t, errors.Join(err, w.Close()))
	return body, w.FormDataContentType()
}

// where is the query that lists it
type container struct{ id, where string } // where is the query that lists it

type folder struct {
	ID, Name, CategoryID, ParentID string
	Folders                        []folder
}

// containers returns the categories and folders by path, and fails the test if a path exists twice.
func (s *service) containers() map[string]container {
	s.t.Helper()
	all, name := map[string]container{}, map[string]string{}
	add := func(path string, c container) {
		if _, twice := all[path]; twice {
			s.t.Errorf("%s is there twice", path)
		}
		all[path] = c
	}
	var categories, top struct{ Items []folder }
	s.get("/categories?limit=500", &categories)
	for _, c := range categories.Items {
		name[c.ID] = c.Name
		add(c.Name, container{c.ID, "categoryId=" + c.ID})
	}
	var walk func(string, []folder)
	walk = func(path string, folders []folder) {
		for _, f := range folders {
			add(path+"/"+f.Name, container{f.ID, "folderId=" + f.ID})
			walk(path+"/"+f.Name, f.Folders)
		}
	}
	s.get("/folders", &top)
	for _, f := range top.Items {
		if f.ParentID != "" { // with some profiles the list has all folders
			continue
		}
		var deep folder
		s.get("/folders/"+f.ID+"?depth=1000", &deep)
		walk(name[f.CategoryID], []folder{deep})
	}
	return all
}

// A wireAsset is the part of an asset in the service's answers that the test compares.
type wireAsset struct {
	ID, Name, Extension, URL, CategoryID, FolderID string

	Tags     []string
	Metadata struct{ Description string }
}

// assets returns all assets at the service, including the trash.
func (s *service) assets() (all []asset) {
	s.t.Helper()
	paths := map[string]string{}
	for path, c := range s.containers() {
		paths[c.id] = path
		for _, a := range s.list("/assets?" + c.where + "&") {
			if cmp.Or(a.FolderID, a.CategoryID) != c.id { // with some profiles a category lists the assets of its folders
				continue
			}
			found := a.asset(path)
			s.get(a.URL, &found.content)
			all = append(all, found)
		}
	}
	for _, a := range s.list("/assets/trash?") {
		found := a.asset(paths[cmp.Or(a.FolderID, a.CategoryID)])
		found.trashed = true
		all = append(all, found)
	}
	return all
}

func (a wireAsset) asset(path string) asset {
	name := a.Name
	if a.Extension != "" {
		name += "." + a.Extension
	}
	slices.Sort(a.Tags)
	return asset{id: a.ID, place: path + "/" + name, metadata: metadata{a.Metadata.Description, a.Tags}}
}

func (s *service) list(path string) (all []wireAsset) {
	s.t.Helper()
	for {
		var page struct {
			Items      []wireAsset
			TotalCount int
		}
		s.get(fmt.Sprintf("%slimit=500&offset=%d", path, len(all)), &page)
		all = append(all, page.Items...)
		if len(page.Items) == 0 || len(all) >= page.TotalCount {
			return all
		}
	}
}

// revisions returns the number of contents of an asset, including the present one.
func (s *service) revisions(id string) int {
	s.t.Helper()
	var list struct{ Items []struct{ ID string } }
	s.get("/assets/"+id+"/revisions", &list)
	return len(list.Items)
}
