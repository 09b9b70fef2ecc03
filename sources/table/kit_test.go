package table_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/sources"
	"assetferry/sources/table"
)

// A manager is an asset manager with an export: a server with contents, and a table.
type manager struct {
	tb     testing.TB
	server *httptest.Server
	table  string // its path

	mu       sync.Mutex
	contents map[string]content // by path
	requests []*http.Request
	wrap     func(http.Handler) http.Handler
}

type content struct {
	bytes   []byte
	version int
}

func newManager(tb testing.TB, name string) *manager {
	tb.Helper()
	m := &manager{tb: tb, table: filepath.Join(tb.TempDir(), name), contents: map[string]content{}}
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.requests = append(m.requests, r)
		wrap := m.wrap
		m.mu.Unlock()
		var h http.Handler = http.HandlerFunc(m.serve)
		if wrap != nil {
			h = wrap(h)
		}
		h.ServeHTTP(w, r)
	}))
	tb.Cleanup(m.server.Close)
	return m
}

func (m *manager) serve(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	c, ok := m.contents[r.URL.Path]
	m.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Etag", fmt.Sprintf(`"v%d"`, c.version))
	w.Header().Set("Content-Type", "image/jpeg")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(c.bytes))
}

// put stores a content and returns its URL.
func (m *manager) put(name string, b []byte) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := "/" + name
	m.contents[path] = content{b, m.contents[path].version + 1}
	return m.server.URL + (&url.URL{Path: path}).EscapedPath()
}

// answer wraps the server from now on.
func (m *manager) answer(wrap func(http.Handler) http.Handler) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrap = wrap
}

// asked returns the requests since the last call.
func (m *manager) asked() []*http.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.requests
	m.requests = nil
	return asked
}

// write puts a table into the place of another one.
func (m *manager) write(text string) {
	m.tb.Helper()
	must(m.tb, os.WriteFile(m.table+".new", []byte(text), 0o600))
	must(m.tb, os.Rename(m.table+".new", m.table))
}

// export writes a table of columns and rows, in the format of its extension.
func (m *manager) export(columns []string, rows ...[]string) {
	m.tb.Helper()
	var b bytes.Buffer
	if strings.HasSuffix(m.table, ".csv") {
		w := csv.NewWriter(&b)
		must(m.tb, w.Write(columns))
		must(m.tb, w.WriteAll(rows))
	} else {
		for _, row := range rows {
			object := map[string]string{}
			for n, c := range columns {
				object[c] = row[n]
			}
			must(m.tb, json.NewEncoder(&b).Encode(object))
		}
	}
	m.write(b.String())
}

func (m *manager) source(change ...func(*table.Options)) *table.Source {
	m.tb.Helper()
	s, err := m.open(change...)
	must(m.tb, err)
	m.tb.Cleanup(func() { must(m.tb, s.Close()) })
	return s
}

func (m *manager) open(change ...func(*table.Options)) (*table.Source, error) {
	o := table.Options{AllowPrivate: true, Connections: 4}
	for _, c := range change {
		c(&o)
	}
	return table.New(m.tb.Context(), m.table, o)
}

func list(tb testing.TB, src sources.Source) (objects []sources.Object, err error) {
	for o, e := range src.Objects(tb.Context(), "") {
		if e != nil {
			return objects, e
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// one lists the only object.
func one(tb testing.TB, src sources.Source) sources.Object {
	tb.Helper()
	objects, err := list(tb, src)
	must(tb, err)
	if len(objects) != 1 {
		tb.Fatalf("%d objects are listed: %+v", len(objects), objects)
	}
	return objects[0]
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
