package assets

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func readFrame(t testing.TB, u Upload) (*payload, string) {
	t.Helper()
	p := newFrame(u, "BOUNDARY").payload(u)
	body, err := p.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return p, string(got)
}

func TestFrameGolden(t *testing.T) {
	tests := []struct {
		name string
		u    Upload
		want string
	}{
		{"category", Upload{CategoryID: "cat", Filename: "grüße \U0001F600.jpg", Size: 5, Open: content("hello")},
			"--BOUNDARY\r\nContent-Disposition: form-data; name=\"categoryId\"\r\n\r\ncat\r\n" +
				"--BOUNDARY\r\nContent-Disposition: form-data; name=\"file\"; filename=\"grüße \U0001F600.jpg\"\r\n" +
				"Content-Type: application/octet-stream\r\n\r\nhello\r\n--BOUNDARY--\r\n"},
		{"folder wins, name escaped, empty", Upload{CategoryID: "cat", FolderID: "f", Filename: "a\"b\r\nc\\", Open: content("")},
			"--BOUNDARY\r\nContent-Disposition: form-data; name=\"folderId\"\r\n\r\nf\r\n" +
				"--BOUNDARY\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a%22b%0D%0Ac\\\\\"\r\n" +
				"Content-Type: application/octet-stream\r\n\r\n\r\n--BOUNDARY--\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, got := readFrame(t, tt.u)
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if p.length != int64(len(tt.want)) {
				t.Errorf("length: got %d, want %d", p.length, len(tt.want))
			}
			if want := int64(strings.Index(tt.want, "\r\n--BOUNDARY--") + 1); p.decisive != want {
				t.Errorf("decisive byte: got %d, want %d", p.decisive, want)
			}
		})
	}
}

// The test verifies that a multipart reader returns any name and any content unchanged.
func TestFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[^\x00-\x1f\x7f/%"]{1,40}`).Draw(t, "name")
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		u := Upload{CategoryID: "c", Filename: name, Size: int64(len(data)), Open: content(string(data))}
		p := newFrame(u, "assetferry-X").payload(u)
		body, err := p.open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		_, params, err := mime.ParseMediaType(p.contentType)
		if err != nil {
			t.Fatal(err)
		}
		r := multipart.NewReader(iotest.HalfReader(body), params["boundary"])
		first, err := r.NextPart()
		if err != nil || first.FormName() != "categoryId" {
			t.Fatalf("first part: %v, %v", first, err)
		}
		file, err := r.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		_, disposition, err := mime.ParseMediaType(file.Header.Get("Content-Disposition"))
		if err != nil || disposition["filename"] != name {
			t.Fatalf("name: got %q, %v, want %q", disposition["filename"], err, name)
		}
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("content: got %q, %v, want %q", got, err, data)
		}
		if _, err := r.NextPart(); err != io.EOF {
			t.Fatalf("end: got %v", err)
		}
	})
}

func TestUploadAnnouncesItsLength(t *testing.T) {
	for _, size := range []int64{0, 1, 4 << 10, 64 << 10, 1 << 20} {
		t.Run(strconv.FormatInt(size, 10), func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				n, err := io.Copy(io.Discard, r.Body)
				if err != nil || n != r.ContentLength || len(r.TransferEncoding) > 0 {
					t.Errorf("got %d bytes, %v, announced %d, %v", n, err, r.ContentLength, r.TransferEncoding)
				}
				io.WriteString(w, `{"id":"x"}`)
			})
			if _, err := c.Upload(t.Context(), upload(size)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWrongSize(t *testing.T) {
	broken := errors.New("disk on fire")
	tests := []struct {
		name string
		open func() io.Reader
		want []error
	}{
		{"fewer", func() io.Reader { return strings.NewReader("1234") }, []error{ErrSize, io.ErrUnexpectedEOF}},
		{"none", func() io.Reader { return strings.NewReader("") }, []error{ErrSize, io.ErrUnexpectedEOF}},
		{"more", func() io.Reader { return strings.NewReader("123456") }, []error{ErrSize}},
		{"error within", func() io.Reader { return io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)) }, []error{broken}},
		{"error at the end", func() io.Reader { return io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(broken)) }, []error{broken}},
		{"error with the last bytes", func() io.Reader {
			return iotest.DataErrReader(io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(broken)))
		}, []error{broken}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests, ends atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				body, _ := io.ReadAll(r.Body)
				if bytes.HasSuffix(body, []byte("--\r\n")) {
					ends.Add(1)
				}
				io.WriteString(w, `{"id":"x"}`)
			}))
			defer srv.Close()
			c := newClient(t, Options{BaseURL: srv.URL})
			u := upload(5)
			u.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(tt.open()), nil }
			_, err := c.Upload(t.Context(), u)
			if body, ok := errors.AsType[*BodyError](err); !ok || body.Op != "read" {
				t.Errorf("got %v, want a BodyError of read", err)
			}
			for _, want := range tt.want {
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			if errors.Is(err, ErrUnconfirmed) {
				t.Errorf("in doubt: %v", err)
			}
			srv.Close() // waits for its handler
			if requests.Load() > 1 || ends.Load() > 0 {
				t.Errorf("got %d requests, %d of them with an end", requests.Load(), ends.Load())
			}
		})
	}
}

func TestOpenFails(t *testing.T) {
	broken := errors.New("no such object")
	a := answers("201 {}")
	c := serve(t, a.ServeHTTP)
	u := upload(5)
	u.Open = func(context.Context) (io.ReadCloser, error) { return nil, broken }
	_, err := c.Upload(t.Context(), u)
	body, ok := errors.AsType[*BodyError](err)
	if !ok || body.Op != "open" || !errors.Is(err, broken) || a.count() != 0 {
		t.Errorf("got %v and %d requests", err, a.count())
	}
}

func TestUploadChecks(t *testing.T) {
	c := newClient(t, Options{BaseURL: "https://localhost"})
	for name, change := range map[string]func(*Upload){
		"place":   func(u *Upload) { u.CategoryID = "" },
		"name":    func(u *Upload) { u.Filename = "" },
		"size":    func(u *Upload) { u.Size = -1 },
		"content": func(u *Upload) { u.Open = nil },
	} {
		u := upload(1)
		change(&u)
		if _, err := c.Upload(t.Context(), u); err == nil {
			t.Errorf("%s missing: no error", name)
		}
	}
}
