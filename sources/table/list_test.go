package table_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/tabular"
	"assetferry/sources"
	"assetferry/sources/table"
)

// TestKeys verifies how keys are formed from the columns of a table.
func TestKeys(t *testing.T) {
	for _, test := range []struct{ columns, row, want string }{
		{"key,url", "a/b.jpg,https://x.example/1", "a/b.jpg"},
		{"url", "https://x.example/media/caf%C3%A9%20au%20lait.jpg?v=1#top", "media/café au lait.jpg"},
		{"url", "//x.example/a.jpg", "a.jpg"},
		{"path", "in/./a.jpg", "in/a.jpg"},
		{"path", `in\a.jpg`, "in/a.jpg"},
		{"path", "/in/a.jpg", "in/a.jpg"},
		{"folder,name,url", "/Marketing/2024/,harbour.jpg,https://x.example/1", "Marketing/2024/harbour.jpg"},
		{"Folder Path,Original_Filename,Download-URL", "Marketing,harbour.jpg,https://x.example/1", "Marketing/harbour.jpg"},
		{"folder,name,url", "Marketing,Ships at 5.30 pm,https://x.example/a/1.JPG", "Marketing/Ships at 5.30 pm.JPG"},
		{"folder,name,url", "Marketing,logo.svg,https://x.example/a/1.png", "Marketing/logo.svg"},
		{"folder,url", "Marketing,https://x.example/a/1.png", "Marketing/1.png"},
		{"name,url", "top.jpg,https://x.example/a/1.png", "top.jpg"},
		{"name,filename,url", "A title,a.jpg,https://x.example/1", "a.jpg"},
	} {
		m := newManager(t, "t.csv")
		m.write(test.columns + ",size\n" + test.row + ",1\n")
		if strings.Contains(test.columns, "path") {
			must(t, os.MkdirAll(filepath.Join(filepath.Dir(m.table), "in"), 0o700))
			must(t, os.WriteFile(filepath.Join(filepath.Dir(m.table), "in", "a.jpg"), []byte("x"), 0o600))
		}
		if o := one(t, m.source()); string(o.Key) != test.want || o.Obstacle != "" || o.Size != 1 {
			t.Errorf("%s of %s: got %+v, want %s", test.row, test.columns, o, test.want)
		}
	}
}

func TestWhatATableSays(t *testing.T) {
	m := newManager(t, "t.csv")
	sum := "SHA256:" + strings.Repeat("AB", 32)
	m.write("key,URL,file size,Last modified,sha256,mime type,Title,Tags,Keywords,Rights holder,Folder,Path\n" +
		"a.jpg,https://x.example/a.jpg?X-Amz-Signature=1&x=2,12,yesterday," + sum + ",image/jpeg; q=1,A quay,\"sea;Oslo, quay\",more,Ida,Marketing,\n")
	s := m.source()
	o := one(t, s)
	want := sources.Object{Key: "a.jpg", Size: 12, VersionTag: "yesterday", ContentType: "image/jpeg"}
	if o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
	d, err := s.Describe(t.Context(), o)
	fields := map[string][]string{
		"title": {"A quay"}, "tags": {"sea", "Oslo", " quay"}, "Keywords": {"more"}, "Rights holder": {"Ida"}, "folder": {"Marketing"}, "old_url": {"https://x.example/a.jpg"},
	}
	if err != nil || !reflect.DeepEqual(d.Fields, fields) || d.ContentType != "image/jpeg" {
		t.Errorf("got %+v (%v), want %+v", d, err, fields)
	}
	if len(m.asked()) > 0 {
		t.Error("a server was asked for what the table says")
	}
}

func TestJSONIsFlattened(t *testing.T) {
	m := newManager(t, "t.jsonl")
	m.write(`{"url":"https://x.example/a.jpg","size":12,"description":null,"tags":["a, b","c"],"custom":{"Year":1999,"open":true},"albums":[{"name":"x"},{"name":"y"}]}` + "\n")
	s := m.source()
	d, err := s.Describe(t.Context(), one(t, s))
	want := map[string][]string{"tags": {"a, b", "c"}, "custom.Year": {"1999"}, "custom.open": {"true"}, "albums.name": {"x", "y"}, "old_url": {"https://x.example/a.jpg"}}
	if err != nil || !reflect.DeepEqual(d.Fields, want) {
		t.Errorf("got %+v (%v), want %+v", d.Fields, err, want)
	}
}

func TestColumnsThatAreNamed(t *testing.T) {
	columns, err := table.ParseColumns([]string{"key=Public ID", "URL = Link", "tags=Labels", "size=", "description=Notes"})
	must(t, err)
	m := newManager(t, "t.csv")
	for text, want := range map[string]string{
		"Public ID,Link,url,Labels,size,Notes,description\na.jpg,{1},{2},x;y,999,n,d\n": "description:[d] size:[999] tags:[x y] url:[{2}]",
	} {
		text = strings.ReplaceAll(text, "{1}", m.put("1.jpg", []byte("one")))
		text = strings.ReplaceAll(text, "{2}", m.put("2.jpg", []byte("two two")))
		m.write(text)
		s := m.source(func(o *table.Options) { o.Columns = columns })
		o := one(t, s)
		if o.Key != "a.jpg" || o.Size != 3 {
			t.Errorf("got %+v", o)
		}
		d, err := s.Describe(t.Context(), o)
		must(t, err)
		if d.Fields["description"][0] != "n" || !slices.Equal(d.Fields["tags"], []string{"x", "y"}) || d.Fields["size"][0] != "999" || !strings.HasSuffix(d.Fields["url"][0], "/2.jpg") {
			t.Errorf("got %v, want %s", d.Fields, want)
		}
	}
}

func TestParseColumnsRefuses(t *testing.T) {
	for _, texts := range [][]string{{"url"}, {"adress=URL"}, {"=URL"}, {"key=a", "key=b"}} {
		if c, err := table.ParseColumns(texts); err == nil {
			t.Errorf("%q gives %v", texts, c)
		}
	}
}

// TestTablesThatAreRefused verifies that an error which makes a table useless is returned before
// the listing starts, with line and column.
func TestTablesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "t.csv:1:1: the table is empty",
		"title,size\na,1\n":    `t.csv:1:1: no column contains URLs or paths; the columns are "title", "size"; add --table-columns 'url=COLUMN'`,
		"Link,x\na,1\n":        `t.csv:1:1: column "Public ID" for key not found`,
		"Public ID,url\n,\n,x": "t.csv:3:1: the URL must have the form https://host/path",
		"Public ID,url\na\n":   "t.csv:2:1: the row has 1 field, but the header has 2; write each field, even if it is empty",
	} {
		m := newManager(t, "t.csv")
		m.write(text)
		s, err := m.open(func(o *table.Options) { o.Columns = table.Columns{"key": "Public ID"} })
		if strings.Contains(want, "no column contains") {
			s, err = m.open()
		}
		if _, ok := errors.AsType[*tabular.Mistakes](err); s != nil || !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	m := newManager(t, "t.xlsx")
	m.write("x")
	if _, err := m.open(); err == nil || !strings.Contains(err.Error(), "is not a .csv") {
		t.Errorf("another form: %v", err)
	}
	if _, err := newManager(t, "t.csv").open(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no table: %v", err)
	}
}

// TestRowsThatCannotBeTaken verifies that an error in a row concerns only its object, and that the
// rest is listed.
func TestRowsThatCannotBeTaken(t *testing.T) {
	m := newManager(t, "t.csv")
	dir := filepath.Dir(m.table)
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	must(t, os.Symlink(os.TempDir(), filepath.Join(dir, "out")))
	must(t, os.WriteFile(filepath.Join(dir, "fine.jpg"), []byte("fine"), 0o600))
	m.write("key,url,path,size,md5\n" +
		"01,ftp://x.example/a.jpg,,1,\n02,https://me:secret@x.example/a.jpg,,1,\n03,,,1,\n04,https://x.example/a.jpg,,1,nonsense\n" +
		"05,,../a.jpg,,\n06,,a/../../b,,\n07,,missing.jpg,,\n08,,folder,,\n09,,out/x,,\n" +
		"10,https://x.example/1.jpg,,1,\n10,https://x.example/2.jpg,,1,\n11,https://x.example/1.jpg,,1,\n11,https://x.example/1.jpg,,1,\n" +
		"12,,fine.jpg,,\n")
	s := m.source(func(o *table.Options) { o.AllowPrivate = false })
	want := map[sources.Key]string{
		"01": "error in the table: line 2: the URL must have the form https://host/path, without a user name or a password",
		"02": "error in the table: line 3: the URL must have the form https://host/path, without a user name or a password",
		"03": "error in the table: line 4: the row has no URL and no path",
		"04": `error in the table: line 5: "nonsense" is not an MD5, SHA-1 or SHA-256 checksum in hexadecimal digits`,
		"05": "error in the table: line 6: the path is outside the folder of the table",
		"06": "error in the table: line 7: the path is outside the folder of the table",
		"07": "cannot be read: no such file or directory",
		"08": "not a regular file",
		"09": "cannot be read: path escapes from parent",
		"10": "error in the table: lines 11 and 12 have this key, but differ",
		"11": "", "12": "",
	}
	got := map[sources.Key]string{}
	objects, err := list(t, s)
	for _, o := range objects {
		got[o.Key] = string(o.Obstacle)
		miswritten := strings.HasPrefix(string(o.Obstacle), "error in the table")
		if failed := miswritten || strings.HasPrefix(string(o.Obstacle), "cannot be read"); failed != o.Obstacle.IsFailure() || miswritten != o.Obstacle.IsMiswritten() {
			t.Errorf("%s: a failure is %v, a mistake of the table %v", o.Obstacle, o.Obstacle.IsFailure(), o.Obstacle.IsMiswritten())
		}
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
}

// TestSizesAreAskedFor verifies that sizes which the table lacks are requested, in each form that a
// server may use.
func TestSizesAreAskedFor(t *testing.T) {
	get := func(w http.ResponseWriter, r *http.Request, next http.Handler, status int) {
		if r.Method == http.MethodHead {
			w.WriteHeader(status)
			return
		}
		next.ServeHTTP(w, r)
	}
	for name, test := range map[string]struct {
		wrap func(next http.Handler) http.HandlerFunc
		want string // the obstacle
	}{
		"usual": {wrap: func(next http.Handler) http.HandlerFunc { return next.ServeHTTP }},
		"no HEAD": {wrap: func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { get(w, r, next, http.StatusMethodNotAllowed) }
		}},
		"signed for GET": {wrap: func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { get(w, r, next, http.StatusForbidden) }
		}},
		"HEAD without a size": {wrap: func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { get(w, r, next, http.StatusOK) }
		}},
		"no ranges": {wrap: func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("Range")
				get(w, r, next, http.StatusNotFound)
			}
		}},
		"no size at all": {want: "cannot be read: 127.0.0.1: the server returned no size; add a column size to the table", wrap: func(http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush() }
		}},
		"gone": {want: "cannot be read: 127.0.0.1: 410 Gone", wrap: func(http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusGone) }
		}},
		"forbidden": {want: "cannot be read: 127.0.0.1: 403 Forbidden", wrap: func(http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }
		}},
		"compressed": {want: "cannot be read: 127.0.0.1: the server sent compressed content instead of the stored bytes", wrap: func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				next.ServeHTTP(w, r)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, "t.csv")
			m.export([]string{"url", "size"}, []string{m.put("a.jpg", []byte("twelve bytes")), "1.2 MB"}, []string{m.put("b.jpg", nil), ""})
			m.answer(func(next http.Handler) http.Handler { return test.wrap(next) })
			s := m.source()
			objects, err := list(t, s)
			if err != nil || len(objects) != 2 || string(objects[0].Obstacle) != test.want {
				t.Fatalf("got %+v, %v", objects, err)
			}
			if test.want != "" {
				return
			}
			for n, o := range objects {
				content, err := read(t, s, o, 0)
				if o.Size != []int64{12, 0}[n] || err != nil || int64(len(content)) != o.Size || n == 0 && (o.VersionTag != "v1" || o.ContentType != "image/jpeg") {
					t.Errorf("got %+v, %q, %v", o, content, err)
				}
			}
		})
	}
}

// TestUnhealthyServersEndAListing verifies that a listing ends with an error if servers do not
// answer at all, because objects cannot be checked then.
func TestUnhealthyServersEndAListing(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
		auth   bool
	}{
		"who are you": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "127.0.0.1: 401 Unauthorized", true},
		"log in first": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}, "127.0.0.1: the server returned a web page", false},
		"come back later": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "127.0.0.1: 503 Service Unavailable", false},
	} {
		for _, count := range []int{1, 50} {
			m := newManager(t, "t.csv")
			var all [][]string
			for n := range count {
				all = append(all, []string{m.put(fmt.Sprintf("%03d.jpg", n), []byte("x"))})
			}
			m.export([]string{"url"}, all...)
			m.answer(func(http.Handler) http.Handler { return test.answer })
			objects, err := list(t, m.source())
			e, ok := errors.AsType[*sources.Error](err)
			if !ok || !strings.HasSuffix(e.Error(), test.want) || sources.IsAuth(err) != test.auth || (e.Hint == "") != (name == "come back later") || len(objects) > 9 {
				t.Errorf("%s, %d: got %d objects and %v", name, count, len(objects), err)
			}
		}
	}
}

func TestOneUnhealthyServerIsNotAllOfThem(t *testing.T) {
	m := newManager(t, "t.csv")
	m.export([]string{"url"}, []string{m.put("a.jpg", []byte("x"))}, []string{"http://127.0.0.1:1/b.jpg"}, []string{"https://169.254.169.254/c.jpg"}, []string{"http://x.example/d.jpg"})
	objects, err := list(t, m.source())
	if err != nil || len(objects) != 4 || objects[0].Obstacle != "" || !strings.Contains(string(objects[1].Obstacle), "connection refused") ||
		!strings.Contains(string(objects[2].Obstacle), "leads to 169.254.169.254, which is never allowed") || !strings.Contains(string(objects[3].Obstacle), "plain HTTP") {
		t.Errorf("got %+v, %v", objects, err)
	}
}

func TestPrivateNetworksAreRefused(t *testing.T) {
	m := newManager(t, "t.csv")
	m.export([]string{"url"}, []string{m.put("a.jpg", []byte("x"))})
	_, err := list(t, m.source(func(o *table.Options) { o.AllowPrivate = false }))
	if e, ok := errors.AsType[*sources.Error](err); !ok || !strings.Contains(e.Hint, "--allow-private-networks") || len(m.asked()) > 0 {
		t.Errorf("got %v", err)
	}
}
