package rclone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

func list(ctx context.Context, s *Source, after sources.Key) (objects []sources.Object, err error) {
	for o, e := range s.Objects(ctx, after) {
		if e != nil {
			return objects, e
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// obstacles returns the keys of a listing, each with its obstacle.
func obstacles(objects []sources.Object) (texts []string) {
	for _, o := range objects {
		texts = append(texts, strings.TrimSuffix(fmt.Sprintf("%s: %s", o.Key, o.Obstacle), ": "))
	}
	return texts
}

func TestObstacles(t *testing.T) {
	raw := func(path string, more ...string) file {
		return file{raw: fmt.Sprintf(`{"Path": "%s", "Size": 1, "ModTime": "2026-01-02T03:04:05Z", "IsDir": false}%s`, path, strings.Join(more, ""))}
	}
	again := func(path string) string {
		return fmt.Sprintf(`, {"Path": "%s", "Size": 2, "ModTime": "", "IsDir": false}`, path)
	}
	folder := func(path string) string { return fmt.Sprintf(`, {"Path": "%s", "Size": -1, "IsDir": true}`, path) }
	for name, test := range map[string]struct {
		files map[string]file
		want  []string
	}{
		"two objects of one path": {map[string]file{"a.jpg": raw("a.jpg", again("a.jpg")), "b.jpg": raw("b.jpg")},
			[]string{"a.jpg: several objects have this key", "b.jpg"}},
		"two folders of one path": {map[string]file{"a/x.jpg": raw("a/x.jpg"), "b.jpg": raw("b.jpg", folder("a"))},
			[]string{"a/: directory cannot be read", "b.jpg"}},
		"no size": {map[string]file{"text": {raw: `{"Path": "text", "Size": -1, "ModTime": "", "IsDir": false}`}},
			[]string{"text: has no size"}},
		"no UTF-8": {map[string]file{"a": raw(`a\ufffd`), "b": raw("b\ufffd"), "c": raw(`c\\ufffd`), "d": raw("d", folder(`e\ufffd`))},
			[]string{"a\ufffd: cannot be read: its name is not valid UTF-8", "b\ufffd", `c\ufffd`, "d", "e\ufffd/: directory cannot be read"}},
		"no UTF-8, and a folder of that name": {map[string]file{"a": raw("a", folder(`d\ufffd`), folder("d\ufffd")), "e/1": raw("e/1"), "f/2": raw("f/2")},
			[]string{"a", "d\ufffd/: directory cannot be read", "e/1", "f/2"}},
		"a loop": {map[string]file{"a": raw("a", folder("..")), "b": raw(".")},
			[]string{".: cannot be read: rclone cannot request a name like this", "../: directory cannot be read", "a"}},
		"a file and a folder": {map[string]file{"a": raw("a"), "a/b": raw("a/b"), "a!": raw("a!")}, []string{"a", "a!", "a/b"}},
	} {
		for _, features := range []string{plainFeatures, wholeFeatures} {
			f := newFake(features)
			f.files = test.files
			objects, err := list(t.Context(), f.source(t, Options{}), "")
			if got := obstacles(objects); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
			}
		}
	}
}

// TestResumeBehindAmbiguousFolder verifies that a listing that continues behind a folder which several
// have the path of does not list what is in one of them.
func TestResumeBehindAmbiguousFolder(t *testing.T) {
	twice := file{raw: `{"Path": "x/d/1", "Size": 1, "IsDir": false}, {"Path": "x/d", "Size": -1, "IsDir": true}, {"Path": "x/d", "Size": -1, "IsDir": true}`}
	f := newFake(wholeFeatures, "x/e")
	f.files["x/d/1"] = twice
	s := f.source(t, Options{})
	for after, want := range map[sources.Key][]string{"": {"x/d/: directory cannot be read", "x/e"}, "x/d/": {"x/e"}, "x/d/0": {"x/e"}} {
		objects, err := list(t.Context(), s, after)
		if got := obstacles(objects); err != nil || !slices.Equal(got, want) {
			t.Errorf("after %q: %q, %v; want %q", after, got, err, want)
		}
	}
}

// TestLinks verifies that the links of a local folder are reported, or followed by rclone.
func TestLinks(t *testing.T) {
	const local = `{"Features": {"IsLocal": true, "SlowHash": true}, "Hashes": ["md5"], "Precision": 1}`
	f := newFake(local, "a.jpg", "b.jpg.rclonelink")
	s := f.source(t, Options{})
	objects, err := list(t.Context(), s, "")
	if got, want := obstacles(objects), []string{"a.jpg", "b.jpg: symbolic link"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	f.put("a.jpg.rclonelink", nil)
	objects, err = list(t.Context(), s, "")
	if got, want := obstacles(objects), []string{"a.jpg: several objects have this key", "b.jpg: symbolic link"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if s.root != "fake,links=true:folder" || s.Identity() != "rclone:fake:folder" {
		t.Errorf("the remote is %s, the identity %s", s.root, s.Identity())
	}
	if s := f.source(t, Options{FollowLinks: true}); s.root != "fake,copy_links=true:folder" {
		t.Errorf("the remote is %s", s.root)
	}
	for name, want := range map[string]string{":local:/a:b": ":local,links=true:/a:b", "a,b=c:d": "", "/a:b": "", "a": "", ":local,x='y:z':": ""} {
		if got, _ := withOption(name, "links"); got != want {
			t.Errorf("%s became %s, want %s", name, got, want)
		}
	}
}

// TestFolderErrors verifies which errors concern only a folder.
func TestFolderErrors(t *testing.T) {
	denied := &remote.Failure{Err: errors.New("permission denied"), Is: fs.ErrPermission, Kind: retry.Permanent, Auth: true}
	broken := &remote.Failure{Err: errors.New("connection refused"), Kind: retry.Transient}
	all := []string{"a/1", "b/2", "c/3"}
	for name, test := range map[string]struct {
		refuses func(f *fake, command, path string) error
		want    []string
		fails   error
	}{
		"denied": {func(_ *fake, command, path string) error {
			return when(command == "operations/list" && path == "b", denied)
		}, []string{"a/1", "b/: directory cannot be read", "c/3"}, nil},
		"broken for good": {func(_ *fake, command, path string) error {
			return when(command == "operations/list" && path == "b", broken)
		}, []string{"a/1", "b/: directory cannot be read", "c/3"}, nil},
		"broken at first": {func(f *fake, _, path string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if path == "b" {
				f.puts++
			}
			return when(path == "b" && f.puts < len(all)+3, broken)
		}, all, nil},
		"storage lost": {func(_ *fake, _, path string) error { return when(path == "b", broken) }, []string{"a/1"}, broken},
		"removed": {func(f *fake, command, path string) error {
			if command != "operations/list" || path != "b" {
				return nil
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.files, "b/2")
			return nil
		}, []string{"a/1", "c/3"}, nil},
		"logged out": {func(_ *fake, command, path string) error {
			return when(path == "b", &remote.Failure{Err: errors.New("token expired"), Kind: retry.Fatal, Auth: true})
		}, []string{"a/1"}, errors.New("token expired")},
		"missing": {func(*fake, string, string) error { return missing("directory") }, nil, fs.ErrNotExist},
	} {
		for _, features := range []string{plainFeatures, wholeFeatures} {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(features, all...)
				s := f.source(t, Options{})
				f.refuses = func(command, path string) error { return test.refuses(f, command, path) }
				objects, err := list(t.Context(), s, "")
				if got := obstacles(objects); !slices.Equal(got, test.want) {
					t.Errorf("%s: %q; want %q", name, got, test.want)
				}
				if (err == nil) != (test.fails == nil) || err != nil && !errors.Is(err, test.fails) && !strings.Contains(err.Error(), test.fails.Error()) {
					t.Errorf("%s: %v; want %v", name, err, test.fails)
				}
			})
		}
	}
}

func when(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

// TestListingCutOff verifies that a listing which ends early is requested again.
func TestListingCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plainFeatures, "a", "b", "c")
		cuts := 0
		f.listing = func(_ string, answer []byte) io.Reader {
			if cuts++; cuts > 5 {
				return strings.NewReader(string(answer))
			}
			return strings.NewReader(string(answer[:len(answer)*cuts/6]))
		}
		objects, err := list(t.Context(), f.source(t, Options{}), "")
		if err != nil || len(objects) != 3 || cuts != 6 {
			t.Errorf("%d objects after %d requests, %v", len(objects), cuts, err)
		}
	})
}

// TestForeignListing verifies that a response in another form is an error, not an empty folder.
func TestForeignListing(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `[]`, `{"list": null}`, `{"list": [`, `{"list": [1]}`, `{"list": [{}]}`, `{"list": [{"Path": "b/c"}]}`, `{"list": [{"Path": "b", "ModTime": "now"}]}`,
		`{"list": [{"Path": "` + strings.Repeat("}", 2<<20) + `"}]}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(plainFeatures, "a")
			f.listing = func(string, []byte) io.Reader { return strings.NewReader(text) }
			if objects, err := list(t.Context(), f.source(t, Options{}), ""); err == nil {
				t.Errorf("%.50s: listed %v", text, objects)
			}
		})
	}
}

// TestWholeTooLong verifies that a folder is listed alone if everything below it takes too long.
func TestWholeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(wholeFeatures, "a/b/1", "a/c/2", "d")
		s := f.source(t, Options{})
		first := true
		f.listing = func(path string, answer []byte) io.Reader {
			if path == "a" && first {
				first = false
				time.Sleep(wholeTime + time.Second) // in the time of the test
				return strings.NewReader("")
			}
			return strings.NewReader(string(answer))
		}
		f.asked("")
		objects, err := list(t.Context(), s, "")
		if got, want := obstacles(objects), []string{"a/b/1", "a/c/2", "d"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
		if got, want := f.asked("operations/list"), []string{"", "a", "a", "a/b", "a/c"}; !slices.Equal(got[:3], want[:3]) || len(got) != len(want) {
			t.Errorf("listed %q, want %q", got, want)
		}
	})
}

// TestAhead verifies that folders are requested before they are needed, and not again.
func TestAhead(t *testing.T) {
	var keys []string
	for n := range 300 {
		keys = append(keys, fmt.Sprintf("%d/%d/file", n%10, n))
	}
	f := newFake(plainFeatures, keys...)
	s := f.source(t, Options{Ahead: 4})
	count, early := 0, 0
	for range s.Objects(t.Context(), "") {
		if count++; count == 1 {
			if early = len(f.asked("operations/list")); early < 4 || early > mostAhead+4 {
				t.Errorf("%d folders are requested at the first object", early)
			}
		}
	}
	if all := early + len(f.asked("operations/list")); count != 300 || all != 1+10+300 {
		t.Errorf("%d objects in %d requests", count, all)
	}
	objects, err := list(t.Context(), s, "9/1")
	if asked := f.asked("operations/list"); err != nil || len(objects) != 30 || len(asked) != 32 {
		t.Errorf("%d objects in %d requests, %v", len(objects), len(asked), err)
	}
}

func TestAbilities(t *testing.T) {
	for name, test := range map[string]struct {
		features string
		want     sources.Traits
		asks     listOptions
	}{
		"everything": {wholeFeatures, sources.Traits{Precision: 1, ContentTags: true}, listOptions{NoMimeType: true, ShowHash: true, HashTypes: []string{"md5"}}},
		"slow hashes": {`{"Features": {"SlowHash": true}, "Hashes": ["md5"], "Precision": 1000000000}`,
			sources.Traits{Precision: time.Second}, listOptions{NoMimeType: true}},
		"another hash": {`{"Features": {}, "Hashes": ["quickxor"], "Precision": 1000000000}`,
			sources.Traits{Precision: time.Second}, listOptions{NoMimeType: true, ShowHash: true, HashTypes: []string{"quickxor"}}},
		"slow times": {`{"Features": {"SlowModTime": true}, "Hashes": ["md5"], "Precision": 1}`,
			sources.Traits{}, listOptions{NoMimeType: true, NoModTime: true}},
		"times of uploads": {`{"Features": {"BucketBased": true, "SlowModTime": true}, "Hashes": ["md5"], "Precision": 1}`,
			sources.Traits{Precision: 1}, listOptions{NoMimeType: true}},
		"times that cannot be set": {`{"Features": {}, "Hashes": [], "Precision": 3153600000000000000}`,
			sources.Traits{Precision: time.Second}, listOptions{NoMimeType: true}},
		"metadata": {`{"Features": {"ReadMetadata": true}, "MetadataInfo": {"System": {"owner": {}}}, "Precision": 1}`,
			sources.Traits{Precision: 1, Describes: true}, listOptions{NoMimeType: true}},
		"technical metadata": {`{"Features": {"ReadMetadata": true}, "MetadataInfo": {"System": {"mtime": {}}}, "Precision": 1}`,
			sources.Traits{Precision: 1}, listOptions{NoMimeType: true}},
	} {
		s := newFake(test.features).source(t, Options{})
		if got := s.Traits(); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if got := s.abilities.asked(); fmt.Sprint(got) != fmt.Sprint(test.asks) {
			t.Errorf("%s: asks %+v, want %+v", name, got, test.asks)
		}
	}
}

// TestCurrentTimes verifies that the time of the listing itself is not taken for that of an object.
func TestCurrentTimes(t *testing.T) {
	f := newFake(`{"Features": {}, "Hashes": [], "Precision": 3153600000000000000}`, "a", "b")
	f.files["b"] = file{time: time.Now().Add(time.Hour)}
	objects, err := list(t.Context(), f.source(t, Options{}), "")
	if err != nil || objects[0].Time.IsZero() || !objects[1].Time.IsZero() {
		t.Errorf("%+v, %v", objects, err)
	}
}

func TestNewRefused(t *testing.T) {
	f := newFake(plainFeatures)
	f.refuses = func(string, string) error {
		return &remote.Failure{Err: errors.New("no such remote"), Kind: retry.Fatal}
	}
	_, err := New(t.Context(), f, "fake:folder", Options{})
	if err == nil || err.Error() != "list rclone:fake:folder: no such remote" {
		t.Errorf("error is %v", err)
	}
}

// TestLastListing verifies that all folders of a complete listing are counted.
func TestLastListing(t *testing.T) {
	for _, features := range []string{plainFeatures, wholeFeatures} {
		s := newFake(features, "a/b/1", "a/c/2", "d/3", "e").source(t, Options{})
		if _, err := list(t.Context(), s, "a/c"); err != nil || s.LastListing().Folders != 0 {
			t.Errorf("a part counts %d folders, %v", s.LastListing().Folders, err)
		}
		if _, err := list(t.Context(), s, ""); err != nil || s.LastListing().Folders != 5 {
			t.Errorf("%d folders, %v", s.LastListing().Folders, err)
		}
		if listed, known := s.ListedFolders(); listed != 5 || known != 5 {
			t.Errorf("listed %d of %d folders", listed, known)
		}
	}
}

// TestUnreachable verifies that the first listing of a storage fails soon, and a later one waits for
// a storage that is restarted.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plainFeatures, "a/1", "b")
		s := f.source(t, Options{})
		until := f.unreachableFor(time.Minute)
		if _, err := list(t.Context(), s, ""); err == nil || time.Now().After(until.Add(-30*time.Second)) {
			t.Errorf("at first: %v", err)
		}
		f.refuses = nil
		if _, err := list(t.Context(), s, ""); err != nil {
			t.Error(err)
		}
		f.unreachableFor(30 * time.Second)
		if all, err := list(t.Context(), s, ""); err != nil || len(all) != 2 {
			t.Errorf("later: %v, %v", all, err)
		}
	})
}

// unreachableFor makes all requests fail for some time, each after 5 seconds, in which rclone repeats it.
func (f *fake) unreachableFor(d time.Duration) (until time.Time) {
	until = time.Now().Add(d)
	f.refuses = func(string, string) error {
		if time.Now().After(until) {
			return nil
		}
		time.Sleep(5 * time.Second)
		return &remote.Failure{Err: errors.New("connection refused"), Kind: retry.Transient}
	}
	return until
}
