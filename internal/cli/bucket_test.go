package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"

	"assetferry/sources/s3/s3test"
)

// A bucket is an S3 bucket on a server in the process of the test.
type bucket struct {
	name    string
	backend *s3mem.Backend
	server  *httptest.Server

	mu     sync.Mutex
	tags   map[string]string               // answers to requests for tags, by key; requests for others are denied
	answer func(http.Handler) http.Handler // wraps the server; may be nil
}

func newBucket(name string, options ...s3mem.Option) (*bucket, error) {
	b := &bucket{name: name, backend: s3mem.New(options...)}
	if err := b.backend.CreateBucket(name); err != nil {
		return nil, err
	}
	inner := s3test.WithVersions(b.backend, name, 1000, gofakes3.New(b.backend).Server())
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		answer, tags := b.answer, b.tags[strings.TrimPrefix(r.URL.Path, "/"+name+"/")]
		b.mu.Unlock()
		h := inner
		if r.URL.Query().Has("tagging") { // the server does not support tags
			h = tagging(tags)
		}
		if answer != nil {
			h = answer(inner)
		}
		h.ServeHTTP(w, r)
	}))
	return b, nil
}

// tagging answers with tags, or with an access error if there are none.
func tagging(tags string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tags == "" {
			w.WriteHeader(http.StatusForbidden)
			tags = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
		}
		io.WriteString(w, tags)
	})
}

func startBucket(t testing.TB, name string, options ...s3mem.Option) *bucket {
	t.Helper()
	b, err := newBucket(name, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.server.Close)
	return b
}

func (b *bucket) put(key, content string) error {
	_, err := b.backend.PutObject(b.name, key, map[string]string{}, strings.NewReader(content), int64(len(content)), nil)
	return err
}

// putTree stores the files below a directory as objects.
func (b *bucket) putTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		_, err = b.backend.PutObject(b.name, filepath.ToSlash(key), map[string]string{}, bytes.NewReader(content), int64(len(content)), nil)
		return err
	})
}

// wrap replaces the handler that wraps the server.
func (b *bucket) wrap(f func(http.Handler) http.Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

// withoutAWS returns variables that hide the AWS credentials of the machine.
func withoutAWS() []string {
	return []string{"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull}
}

// variables returns the environment variables of a client, without credentials.
func (b *bucket) variables() []string {
	return append(withoutAWS(), "ASSETFERRY_S3_ENDPOINT="+b.server.URL)
}

// cmdStored stores a new version of an object in the bucket, with headers and optional tags:
//
//	stored KEY FILE NAME=VALUE... [tag:NAME=VALUE]
func cmdStored(ts *testscript.TestScript, _ bool, args []string) {
	b := benchOf(ts).bucket
	headers := map[string]string{}
	for _, a := range args[2:] {
		name, value, _ := strings.Cut(a, "=")
		if tag, ok := strings.CutPrefix(name, "tag:"); ok {
			b.tag(args[0], tag, value)
		} else {
			headers[name] = value
		}
	}
	content := ts.ReadFile(args[1])
	_, err := b.backend.PutObject(b.name, args[0], headers, strings.NewReader(content), int64(len(content)), nil)
	ts.Check(err)
}

// keepVersions makes the bucket keep the versions of objects from now on.
func (b *bucket) keepVersions() error {
	return b.backend.SetVersioningConfiguration(b.name, gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled})
}

// cmdVersioned makes the bucket keep the versions of objects from now on.
func cmdVersioned(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(benchOf(ts).bucket.keepVersions())
}

// tag sets the tags of an object, given as pairs of names and values.
func (b *bucket) tag(key string, pairs ...string) {
	var set strings.Builder
	for pair := range slices.Chunk(pairs, 2) {
		fmt.Fprintf(&set, "<Tag><Key>%s</Key><Value>%s</Value></Tag>", pair[0], pair[1])
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tags == nil {
		b.tags = map[string]string{}
	}
	b.tags[key] = "<Tagging><TagSet>" + set.String() + "</TagSet></Tagging>"
}

// cmdBucket starts an S3 server with one bucket that contains the files of a directory, and points
// the script at it. It also stores an empty object for each KEY, such as "folder/":
//
//	bucket NAME DIR [KEY...]
func cmdBucket(ts *testscript.TestScript, _ bool, args []string) {
	b, err := newBucket(args[0])
	ts.Check(err)
	ts.Defer(b.server.Close)
	benchOf(ts).bucket = b
	ts.Check(b.putTree(ts.MkAbs(args[1])))
	for _, key := range args[2:] {
		ts.Check(b.put(key, ""))
	}
	for _, v := range append(b.variables(), "AWS_ACCESS_KEY_ID=anybody", "AWS_SECRET_ACCESS_KEY=anything") {
		name, value, _ := strings.Cut(v, "=")
		ts.Setenv(name, value)
	}
}
