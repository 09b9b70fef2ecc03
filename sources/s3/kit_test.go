package s3_test

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"assetferry/sources"
	"assetferry/sources/s3"
)

// A bucket is a bucket of a server in this process; its fields control the answers.
type bucket struct {
	tb      testing.TB
	name    string
	prefix  string
	backend *s3mem.Backend
	server  *httptest.Server

	mu       sync.Mutex
	requests []*http.Request
	wrap     func(http.Handler) http.Handler // wraps the server
}

func newBucket(tb testing.TB, prefix string) *bucket {
	tb.Helper()
	b := &bucket{tb: tb, name: "photos", prefix: prefix, backend: s3mem.New()}
	must(tb, b.backend.CreateBucket(b.name))
	fake := gofakes3.New(b.backend, gofakes3.WithTimeSkewLimit(0)).Server()
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.requests = append(b.requests, r)
		wrap := b.wrap
		b.mu.Unlock()
		h := fake
		if wrap != nil {
			h = wrap(fake)
		}
		h.ServeHTTP(w, r)
	}))
	tb.Cleanup(b.server.Close)
	return b
}

// answer wraps the server from now on.
func (b *bucket) answer(wrap func(http.Handler) http.Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrap = wrap
}

// answerWith has a function answer in the place of the server.
func (b *bucket) answerWith(f http.HandlerFunc) {
	b.answer(func(http.Handler) http.Handler { return f })
}

// asked returns the requests since the last call.
func (b *bucket) asked() []*http.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.requests
	b.requests = nil
	return asked
}

func (b *bucket) put(key sources.Key, content []byte) error {
	_, err := b.backend.PutObject(b.name, b.prefix+string(key), map[string]string{}, bytes.NewReader(content), int64(len(content)), nil)
	return err
}

func (b *bucket) remove(key sources.Key) error {
	_, err := b.backend.DeleteObject(b.name, b.prefix+string(key))
	return err
}

// These are the credentials of the tests; the server does not check them.
const accessKey, secretKey, sessionToken = "AKIATESTTESTTESTTEST", "secret+of/the=tests", "session+of/the=tests"

func staticCredentials() credentials.StaticCredentialsProvider {
	return credentials.NewStaticCredentialsProvider(accessKey, secretKey, sessionToken)
}

func (b *bucket) source(change ...func(*s3.Options)) *s3.Source {
	b.tb.Helper()
	rawURL, err := s3.ParseURL("s3://" + b.name + "/" + b.prefix)
	must(b.tb, err)
	o := s3.Options{Endpoint: b.server.URL, Credentials: staticCredentials()}
	for _, c := range change {
		c(&o)
	}
	src, err := s3.New(b.tb.Context(), rawURL, o)
	must(b.tb, err)
	b.tb.Cleanup(src.CloseIdleConnections)
	return src
}

// one lists the only object.
func (b *bucket) one(src sources.Source) sources.Object {
	b.tb.Helper()
	objects, err := list(b.tb, src)
	must(b.tb, err)
	if len(objects) != 1 {
		b.tb.Fatalf("%d objects are listed", len(objects))
	}
	return objects[0]
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

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// A page is an answer to ListObjectsV2, as tests write it.
type page struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name                  string
	Prefix                string
	EncodingType          string `xml:",omitempty"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []entry
}

type entry struct {
	Key, LastModified, ETag string
	Size                    *int64
	StorageClass            string   `xml:",omitempty"`
	RestoreStatus           *restore `xml:",omitempty"`
}

type restore struct {
	IsRestoreInProgress bool
	RestoreExpiryDate   string `xml:",omitempty"`
}

// entries returns an entry of ten bytes for each key.
func entries(keys ...string) (made []entry) {
	size := int64(10)
	for _, k := range keys {
		made = append(made, entry{Key: k, Size: &size, LastModified: "2026-01-02T03:04:05.000Z", ETag: `"tag"`})
	}
	return made
}

// pages answers a listing with the first page, and a continuation with the page of
// its token, which is the number of the page.
func pages(made ...page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("continuation-token"))
		text, _ := xml.Marshal(made[n])
		w.Header().Set("Content-Type", "application/xml")
		w.Write(text)
	}
}

// encoding makes a server encode keys like AWS if the request has EncodingType=url.
func encoding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("encoding-type") != "url" {
			next.ServeHTTP(w, r)
			return
		}
		got := httptest.NewRecorder()
		next.ServeHTTP(got, r)
		var p page
		if got.Code != http.StatusOK || xml.Unmarshal(got.Body.Bytes(), &p) != nil {
			w.WriteHeader(got.Code)
			w.Write(got.Body.Bytes())
			return
		}
		p.EncodingType = "url"
		for i, e := range p.Contents {
			p.Contents[i].Key = strings.ReplaceAll(url.QueryEscape(e.Key), "%2F", "/")
		}
		p.XMLName = xml.Name{Local: "ListBucketResult"}
		text, _ := xml.Marshal(p)
		w.Write(text)
	})
}

// refuse answers each request with an error.
func refuse(status int, code, message string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		if code != "" && r.Method != http.MethodHead {
			var text bytes.Buffer
			_ = xml.EscapeText(&text, []byte(message))
			w.Write([]byte("<Error><Code>" + code + "</Code><Message>" + text.String() + "</Message></Error>"))
		}
	}
}

// keepVersions enables versioning of the bucket.
func (b *bucket) keepVersions() {
	b.tb.Helper()
	must(b.tb, b.enableVersions())
}

func (b *bucket) enableVersions() error {
	return b.backend.SetVersioningConfiguration(b.name, gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled})
}
