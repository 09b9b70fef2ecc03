package rclone

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// one returns the only object of a source.
func one(tb testing.TB, s *Source) sources.Object {
	tb.Helper()
	objects, err := list(tb.Context(), s, "")
	if err != nil || len(objects) != 1 {
		tb.Fatalf("listed %v, %v", objects, err)
	}
	return objects[0]
}

func read(tb testing.TB, s *Source, o sources.Object, offset int64) (string, error) {
	r, err := s.Open(tb.Context(), o, offset)
	if err != nil {
		return "", err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	return string(content), err
}

// TestOpenVersion verifies which differences from the listing are errors.
func TestOpenVersion(t *testing.T) {
	const content = "the content of the object"
	drop := func(names ...string) func(string, *http.Response) {
		return func(_ string, a *http.Response) {
			for _, name := range names {
				a.Header.Del(name)
			}
		}
	}
	for name, test := range map[string]struct {
		features string
		alters   func(string, *http.Response)
		change   func(f *fake)
		changed  bool
	}{
		"listed":                     {plainFeatures, nil, nil, false},
		"listed, old rclone":         {plainFeatures, drop("Last-Modified"), nil, false},
		"another size":               {plainFeatures, nil, func(f *fake) { f.put("a", []byte("short")) }, true},
		"another time":               {plainFeatures, nil, func(f *fake) { f.put("a", []byte(strings.ToUpper(content))) }, true},
		"another time, old rclone":   {plainFeatures, drop("Last-Modified"), func(f *fake) { f.put("a", []byte(strings.ToUpper(content))) }, true},
		"another content":            {wholeFeatures, nil, func(f *fake) { changeContent(f, strings.ToUpper(content)) }, true},
		"another range":              {plainFeatures, func(_ string, a *http.Response) { a.StatusCode = http.StatusPartialContent }, nil, true},
		"not satisfiable":            {plainFeatures, func(_ string, a *http.Response) { a.StatusCode = http.StatusRequestedRangeNotSatisfiable }, nil, true},
		"more bytes than its length": {plainFeatures, func(_ string, a *http.Response) { a.Body = io.NopCloser(strings.NewReader(content + "!")) }, nil, true},
	} {
		f := newFake(test.features)
		f.put("a", []byte(content))
		f.alters = test.alters
		s := f.source(t, Options{})
		o := one(t, s)
		if test.change != nil {
			test.change(f)
		}
		got, err := read(t, s, o, 0)
		if test.changed && !errors.Is(err, sources.ErrChanged) || !test.changed && (err != nil || got != content) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// changeContent replaces the content, as a storage that is damaged does.
func changeContent(f *fake, content string) {
	is := f.files["a"]
	is.content = []byte(content)
	f.files["a"] = is
}

// TestOpenResumes verifies that content continues after interruptions, with the listed version only.
func TestOpenResumes(t *testing.T) {
	content := strings.Repeat("0123456789", 300_000)
	cut := func(_ string, a *http.Response) {
		a.Body = io.NopCloser(io.MultiReader(io.LimitReader(a.Body, 800_000), &broken{}))
	}
	for _, features := range []string{plainFeatures, wholeFeatures} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(features)
			f.put("a", []byte(content))
			f.alters = cut
			s := f.source(t, Options{})
			o := one(t, s)
			f.asked("")
			if got, err := read(t, s, o, 0); err != nil || got != content {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if asked := f.asked("get"); len(asked) != 4 {
				t.Errorf("%d requests", len(asked))
			}
			if got, err := read(t, s, o, 2_999_999); err != nil || got != "9" {
				t.Errorf("the last byte is %q, %v", got, err)
			}
			f.alters = func(path string, a *http.Response) {
				cut(path, a)
				changeTime(f)
			}
			if _, err := read(t, s, o, 0); !errors.Is(err, sources.ErrChanged) {
				t.Errorf("after a change: %v", err)
			}
		})
	}
}

func changeTime(f *fake) {
	is := f.files["a"]
	is.time = is.time.Add(time.Hour)
	f.files["a"] = is
}

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

// TestChangeDuringRead verifies that a change in the middle of a long read is noticed at its end.
func TestChangeDuringRead(t *testing.T) {
	f := newFake(plainFeatures)
	f.put("a", bytes.Repeat([]byte("x"), 2*quickSize))
	s := f.source(t, Options{})
	r, err := s.Open(t.Context(), one(t, s), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	changeTime(f)
	for range 2 { // the error stays
		if _, err := io.Copy(io.Discard, r); !errors.Is(err, sources.ErrChanged) {
			t.Errorf("error is %v", err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for name, test := range map[string]struct {
		refusal error
		deleted bool
		is      error
		class   retry.Class
		auth    bool
	}{
		"deleted":               {nil, true, fs.ErrNotExist, retry.Permanent, false},
		"cannot be opened":      {missing("object"), false, errOpen, retry.Transient, false},
		"this object forbidden": {&remote.Failure{Err: errors.New("403"), Is: fs.ErrPermission, Kind: retry.Permanent, Auth: true}, false, fs.ErrPermission, retry.Permanent, false},
		"all forbidden":         {&remote.Failure{Err: errors.New("401"), Is: fs.ErrPermission, Kind: retry.Fatal, Auth: true}, false, fs.ErrPermission, retry.Fatal, true},
		"too many requests":     {&remote.Failure{Err: fs.ErrInvalid, Kind: retry.Throttled}, false, fs.ErrInvalid, retry.Throttled, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(plainFeatures, "a")
			s := f.source(t, Options{})
			o := one(t, s)
			f.refuses = func(command, _ string) error { return when(command == "get", test.refusal) }
			if test.deleted {
				delete(f.files, "a")
			}
			_, err := read(t, s, o, 0)
			if class, _ := retry.Classify(err); !errors.Is(err, test.is) || class != test.class || sources.IsAuth(err) != test.auth {
				t.Errorf("%s: %v, %s, about the credentials: %v", name, err, class, sources.IsAuth(err))
			}
		})
	}
}

// TestOpenInterrupted verifies that a request is repeated after rclone ended.
func TestOpenInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plainFeatures, "a")
		s := f.source(t, Options{})
		o := one(t, s)
		ends := 0
		f.refuses = func(string, string) error {
			ends++
			return when(ends < 4, &remote.Failure{Err: io.ErrUnexpectedEOF, Kind: retry.Transient})
		}
		if got, err := read(t, s, o, 0); err != nil || got != "content of a" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestDescribe(t *testing.T) {
	f := newFake(`{"Features": {"ReadMetadata": true}, "MetadataInfo": {"System": {"owner": {}}}, "Precision": 1}`)
	f.put("a", []byte("content"))
	is := f.files["a"]
	is.metadata = map[string]string{"owner": "jo@example.com", "description": "A harbour", "content-type": "image/jpeg", "mtime": "2026-01-02T03:04:05Z", "permissions": "[]", "labels": ""}
	f.files["a"] = is
	s := f.source(t, Options{})
	o := one(t, s)
	f.asked("")
	d, err := s.Describe(t.Context(), o)
	if err != nil || d.ContentType != "image/jpeg" || !maps.Equal(d.Metadata, map[string]string{"owner": "jo@example.com", "description": "A harbour"}) {
		t.Errorf("%+v, %v", d, err)
	}
	if asked := f.asked("operations/stat"); !slices.Equal(asked, []string{"a"}) {
		t.Errorf("asked for %q", asked)
	}
	changeTime(f)
	if _, err := s.Describe(t.Context(), o); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("after a change: %v", err)
	}
	f = newFake(`{"Features": {"BucketBased": true, "SlowModTime": true, "ReadMetadata": true, "UserMetadata": true}, "MetadataInfo": {"System": {}}, "Precision": 1}`)
	f.put("a", []byte("content"))
	is = f.files["a"]
	is.time = is.time.Truncate(time.Second)
	in := func(fraction time.Duration) file { return file{time: is.time.Add(fraction), content: is.content} }
	f.files["a"] = in(700 * time.Millisecond)
	s = f.source(t, Options{})
	o = one(t, s)
	for after, want := range map[time.Duration]error{0: nil, time.Second: sources.ErrChanged, 800 * time.Millisecond: sources.ErrChanged} {
		f.files["a"] = in(after)
		if _, err := s.Describe(t.Context(), o); !errors.Is(err, want) {
			t.Errorf("listed after 700 ms, and now after %v: %v", after, err)
		}
	}
	f = newFake(plainFeatures, "a")
	s = f.source(t, Options{})
	o = one(t, s)
	f.asked("")
	if d, err := s.Describe(t.Context(), o); err != nil || d.Metadata != nil || len(f.asked("operations/stat")) != 0 {
		t.Errorf("a storage without metadata: %+v, %v", d, err)
	}
}
