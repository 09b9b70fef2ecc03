package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

func TestUpload(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents := c.category("Documents")
	a := c.upload("report.v2.PDF", "some content", "categoryId", documents)
	if a["name"] != "report.v2" || a["extension"] != "PDF" || a["size"] != 12.0 || a["mimeType"] != "application/pdf" ||
		a["categoryId"] != documents || a["uploadedAt"] != a["lastModifiedAt"] || fmt.Sprint(a["tags"]) != "[]" {
		t.Errorf("asset is %v", a)
	}
	if id := a["id"].(string); len(id) != 12 {
		t.Errorf("ID %q", id)
	}
	if metadata := a["metadata"].(object); metadata["description"] != "" || metadata["metadataProcessingStatus"] != nil {
		t.Errorf("metadata %v", metadata)
	}
	url := a["url"].(string)
	if want := c.url + "/" + c.env.ID + "/assets/" + a["id"].(string) + "/file"; url != want {
		t.Errorf("url is %s, want %s", url, want)
	}
	if r := c.do(200, "GET", strings.TrimPrefix(url, c.url), nil); string(r.body) != "some content" {
		t.Errorf("delivered %q", r.body)
	}
	if got := c.get("/assets/" + a["id"].(string)); fmt.Sprint(got) != fmt.Sprint(a) {
		t.Errorf("got %v, uploaded %v", got, a)
	}
	again := c.upload("report.v2.PDF", "some content", "categoryId", documents)
	if again["id"] == a["id"] || again["name"] != a["name"] {
		t.Error("equal names must be accepted and stay")
	}
}

func TestUploadPlaces(t *testing.T) {
	c := start(t, sandbox.Options{})
	images, documents := c.category("Images"), c.category("Documents")
	folder := c.do(201, "POST", "/folders", object{"name": "f", "categoryId": documents}).object(t)["id"].(string)
	for name, test := range map[string]struct {
		file   string
		fields []string
		status int
		in     string
	}{
		"category":              {"a.txt", []string{"categoryId", documents}, 201, documents},
		"folder":                {"a.TXT", []string{"folderId", folder}, 201, documents},
		"by extension":          {"a.gif", nil, 201, images},
		"wrong extension":       {"a.txt", []string{"categoryId", images}, 400, ""},
		"unknown extension":     {"a.xyz", nil, 400, ""},
		"no extension":          {"README", []string{"categoryId", documents}, 400, ""},
		"only a dot":            {".txt", []string{"categoryId", documents}, 400, ""},
		"dot at the end":        {"a.", []string{"categoryId", documents}, 400, ""},
		"unknown category":      {"a.txt", []string{"categoryId", "none"}, 404, ""},
		"empty category":        {"a.txt", []string{"categoryId", ""}, 404, ""},
		"unknown folder":        {"a.txt", []string{"folderId", "none"}, 404, ""},
		"folder and category":   {"a.txt", []string{"folderId", folder, "categoryId", documents}, 201, documents},
		"category and folder":   {"a.txt", []string{"categoryId", documents, "folderId", folder}, 201, documents},
		"another category":      {"a.txt", []string{"folderId", folder, "categoryId", images}, 400, ""},
		"no such category":      {"a.txt", []string{"folderId", folder, "categoryId", "none"}, 400, ""},
		"long name":             {strings.Repeat("ä", 257) + ".txt", nil, 400, ""},
		"longest name":          {strings.Repeat("ä", 256) + ".txt", nil, 201, documents},
		"name is no text":       {"a\xff.txt", nil, 400, ""},
		"long field":            {"a.txt", []string{"categoryId", strings.Repeat("x", 5000)}, 400, ""},
		"field that is ignored": {"a.txt", []string{"tags", "x"}, 201, documents},
	} {
		t.Run(name, func(t *testing.T) {
			as := *c
			as.TB = t
			r := as.tryUpload("/assets", test.file, "content", test.fields...)
			if r.StatusCode != test.status {
				t.Fatalf("status %d, want %d: %s", r.StatusCode, test.status, r.body)
			}
			if test.status != 201 {
				checkProblem(t, r)
				return
			}
			a := r.object(t)
			if a["categoryId"] != test.in {
				t.Errorf("in category %v", a["categoryId"])
			}
			if slices.Contains(test.fields, "folderId") && a["folderId"] != folder {
				t.Errorf("in folder %v", a["folderId"])
			}
		})
	}
}

func TestUploadNames(t *testing.T) {
	c := start(t, sandbox.Options{})
	for header, want := range map[string]string{
		`name="file"; filename="a.b.txt"`:                   "a.b",
		`name="file"; filename="räksmörgås 東京 🚢.txt"`:       "räksmörgås 東京 🚢",
		"name=\"file\"; filename=\"cafe\u0301.txt\"":        "cafe\u0301",
		`name="file"; filename="a\"b\"c.txt"`:               `a"b"c`,
		`name="file"; filename="a%22b%22c.txt"`:             `a"b"c`,
		`name="file"; filename="a\"b%22c.txt"`:              `a"b%22c`,
		`name="file"; filename="100% %20+&;=.txt"`:          `100% %20+&;=`,
		`name="file"; filename="../../etc/passwd.txt"`:      "passwd",
		`name="file"; filename="C:\folder\a.txt"`:           "a",
		`name="file"; filename="a\b.txt"`:                   `a\b`,
		`name="file"; filename="a\\b.txt"`:                  `a\b`,
		`filename="first.txt"; name="file"`:                 "first",
		`name=file; filename=bare.txt`:                      "bare",
		`name="file"; filename*=UTF-8''%e2%82%ac%20x.txt`:   "€ x",
		`name="file"; filename="; name=\"categoryId\".txt"`: `; name="categoryId"`,
		`name="file"; filename=" spaces .txt"`:              " spaces ",
		`name="file"; filename="-rf.txt"`:                   "-rf",
		`name="file"; filename="...txt"`:                    "..",
	} {
		body := "--b\r\nContent-Disposition: form-data; " + header + "\r\n\r\nx\r\n--b--\r\n"
		r, err := c.send("POST", "/assets", "multipart/form-data; boundary=b", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != 201 {
			t.Errorf("%s: %d %s", header, r.StatusCode, r.body)
		} else if got := r.object(t)["name"]; got != want {
			t.Errorf("%s: name %q, want %q", header, got, want)
		}
	}
}

func TestUploadForms(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents := c.category("Documents")
	part := func(disposition, content string) string {
		return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
	}
	file := part(`name="file"; filename="a.txt"`, "x")
	for name, test := range map[string]struct {
		body, contentType string
		status            int
	}{
		"file before its place":  {body: file + part(`name="categoryId"`, documents) + "--b--\r\n", status: 201},
		"no line after the end":  {body: file + "--b--", status: 201},
		"two files":              {body: file + file + "--b--\r\n", status: 400},
		"no file":                {body: part(`name="categoryId"`, documents) + "--b--\r\n", status: 400},
		"file without a name":    {body: part(`name="file"`, "x") + "--b--\r\n", status: 400},
		"file of another field":  {body: part(`name="other"; filename="a.txt"`, "x") + "--b--\r\n", status: 400},
		"form without an end":    {body: file, status: 400},
		"empty":                  {body: "", status: 400},
		"no form":                {body: "{}", contentType: "application/json", status: 400},
		"much after the end":     {body: file + "--b--\r\n" + strings.Repeat("x", 100_000), status: 400},
		"place wrong after file": {body: file + part(`name="categoryId"`, "none") + "--b--\r\n", status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.get("/categories/" + documents)["assetsCount"].(float64)
			contentType := test.contentType
			if contentType == "" {
				contentType = "multipart/form-data; boundary=b"
			}
			r, err := c.send("POST", "/assets", contentType, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != test.status {
				t.Errorf("status %d, want %d: %s", r.StatusCode, test.status, r.body)
			}
			added := c.get("/categories/" + documents)["assetsCount"].(float64) - before
			if (added == 1) != (test.status == 201) {
				t.Errorf("%v assets added", added)
			}
		})
	}
}

// A deaf client has disconnected: writes to it fail.
type deaf struct{ header http.Header }

func (d deaf) Header() http.Header       { return d.header }
func (d deaf) Write([]byte) (int, error) { return 0, net.ErrClosed }
func (d deaf) WriteHeader(int)           {}

func newServer(t *testing.T, o sandbox.Options) *sandbox.Server {
	t.Helper()
	o.Environments = []tokens.Environment{sandboxtest.Environment()}
	s, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func request(t *testing.T, method, path string, body io.Reader, contentType string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, body)
	e := sandboxtest.Environment()
	r.Header.Set("Authorization", sandboxtest.Sign(e.AccessKey, sandboxtest.Claims(e, "superadmin")))
	r.Header.Set("Content-Type", contentType)
	return r
}

// assetCount counts the assets of all categories through the handler.
func assetCount(t *testing.T, s *sandbox.Server) (n int) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, request(t, "GET", "/categories", nil, ""))
	for _, cat := range items(reply{w.Result(), w.Body.Bytes()}.object(t)) {
		n += int(cat["assetsCount"].(float64))
	}
	return n
}

func TestUploadIsCommittedAfterTheClientDisconnects(t *testing.T) {
	s := newServer(t, sandbox.Options{})
	body, contentType := form(t, "a.txt", []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	r := request(t, "POST", "/assets", &lastly{bytes.NewReader(body), cancel}, contentType).WithContext(ctx)
	s.ServeHTTP(deaf{http.Header{}}, r)
	if ctx.Err() == nil {
		t.Fatal("the body was not read to its end")
	}
	if n := assetCount(t, s); n != 1 {
		t.Errorf("%d assets, want 1", n)
	}
}

// A lastly is a body that calls a function at its end.
type lastly struct {
	io.Reader
	then func()
}

func (l *lastly) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err != nil {
		l.then()
	}
	return n, err
}

func TestUploadCutShortIsNotCommitted(t *testing.T) {
	body, contentType := form(t, "a.txt", bytes.Repeat([]byte("x"), 10_000))
	for _, at := range []int{0, 1, 60, 150, 5000, len(body) - 30, len(body) - 3, len(body) - 1} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			dir := t.TempDir()
			s := newServer(t, sandbox.Options{Dir: dir})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx, l) }()
			defer func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			r := request(t, "POST", "/assets", nil, contentType)
			_, _ = fmt.Fprintf(conn, "POST /assets HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
				r.Header.Get("Authorization"), contentType, len(body))
			_, _ = conn.Write(body[:at])
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if answer, _ := io.ReadAll(conn); len(answer) > 0 { // returns when the server has closed the connection
				t.Errorf("there was an answer: %s", answer)
			}
			if n := assetCount(t, s); n != 0 {
				t.Errorf("%d assets, want none", n)
			}
			checkNoLeftovers(t, dir, 0)
		})
	}
}

func TestRefusedUploadCanBeRead(t *testing.T) {
	c := start(t, sandbox.Options{})
	c.token = "nonsense"
	size := int64(20 << 20) // more than the buffers between client and server
	r, err := http.NewRequest("POST", c.url+"/assets", io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = size
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatalf("the refusal did not arrive: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != 401 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestJSONBodyCutShortChangesNothing(t *testing.T) {
	s := newServer(t, sandbox.Options{})
	body := io.MultiReader(strings.NewReader(`{"name":"x"}`), failing{})
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler {
				t.Errorf("ended with %v", v)
			}
		}()
		s.ServeHTTP(httptest.NewRecorder(), request(t, "POST", "/superadmin/workspaces", body, "text/plain"))
	}()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, request(t, "GET", "/workspaces", nil, ""))
	if n := len(items(reply{w.Result(), w.Body.Bytes()}.object(t))); n != 1 {
		t.Errorf("%d workspaces, want 1", n)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }
