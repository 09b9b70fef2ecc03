package rclone

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
	"assetferry/sources/sourcetest"
)

// A fake is an rclone with one remote.
type fake struct {
	features string // the response to operations/fsinfo
	refuses  func(command, path string) error
	alters   func(path string, answer *http.Response)
	listing  func(path string, answer []byte) io.Reader // replaces a response to operations/list
	copies   func() []byte                              // replaces the content in operations/copyfile

	mu      sync.Mutex
	files   map[string]file
	missing bool
	calls   []string // command and path
	puts    int
}

type file struct {
	content  []byte
	time     time.Time
	metadata map[string]string
	raw      string // JSON instead of the entry
}

const (
	plainFeatures = `{"Features": {}, "Hashes": [], "Precision": 1000000000}`
	wholeFeatures = `{"Features": {"ListR": true}, "Hashes": ["sha1", "md5"], "Precision": 1}`
)

func newFake(features string, keys ...string) *fake {
	f := &fake{features: features, files: map[string]file{}}
	for _, key := range keys {
		f.put(key, []byte("content of "+key))
	}
	return f
}

func (f *fake) put(key string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts++
	f.files[key] = file{content: content, time: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(f.puts) * 2 * time.Second)}
}

func (f *fake) source(tb testing.TB, o Options) *Source {
	tb.Helper()
	s, err := New(tb.Context(), f, "fake:folder", o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// asked returns the calls of a command since the last time.
func (f *fake) asked(command string) (paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, call := range f.calls {
		if path, is := strings.CutPrefix(call, command+" "); is {
			paths = append(paths, path)
		}
	}
	f.calls = nil
	return paths
}

type parameters struct {
	FS     string      `json:"fs"`
	Remote string      `json:"remote"`
	Opt    listOptions `json:"opt"`

	SrcRemote string `json:"srcRemote"`
	DstFs     string `json:"dstFs"`
	DstRemote string `json:"dstRemote"`
}

func (f *fake) Call(ctx context.Context, command string, in any) (io.ReadCloser, error) {
	text, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	var p parameters
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	if err := f.enter(ctx, command, p.Remote); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch command {
	case "operations/fsinfo":
		return io.NopCloser(strings.NewReader(f.features)), nil
	case "operations/stat":
		return f.stat(p), nil
	case "operations/list":
		return f.list(p)
	case "operations/copyfile":
		content := f.files[p.SrcRemote].content
		if f.copies != nil {
			content = f.copies()
		}
		return io.NopCloser(strings.NewReader("{}")), os.WriteFile(filepath.Join(p.DstFs, p.DstRemote), content, 0o600)
	}
	return nil, fmt.Errorf("no command %s", command)
}

func (f *fake) enter(ctx context.Context, command, path string) error {
	f.mu.Lock()
	f.calls = append(f.calls, command+" "+path)
	f.mu.Unlock()
	if f.refuses != nil {
		if err := f.refuses(command, path); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func missing(what string) error {
	return &remote.Failure{Err: fmt.Errorf("%s not found", what), Is: fs.ErrNotExist, Kind: retry.Permanent}
}

func (f *fake) stat(p parameters) io.ReadCloser {
	item := "null"
	if found, ok := f.files[p.Remote]; ok {
		item = entryJSON(p.Remote, found, p.Opt)
	} else if len(f.below(p.Remote+"/")) > 0 {
		item = folderJSON(p.Remote)
	}
	return io.NopCloser(strings.NewReader(`{"item": ` + item + `}`))
}

func (f *fake) below(prefix string) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(f.files)) {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys
}

func folderJSON(path string) string {
	return fmt.Sprintf(`{"Path": %s, "Name": "", "Size": -1, "ModTime": "2026-01-02T03:04:05Z", "IsDir": true}`, quoted(path))
}

func entryJSON(path string, of file, o listOptions) string {
	if of.raw != "" {
		return of.raw
	}
	entry := map[string]any{"Path": path, "Size": len(of.content), "ModTime": "", "IsDir": false}
	if !o.NoModTime {
		entry["ModTime"] = of.time.Format(time.RFC3339Nano)
	}
	if o.ShowHash {
		sum := md5.Sum(of.content)
		entry["Hashes"] = map[string]string{"md5": hex.EncodeToString(sum[:])}
	}
	if o.Metadata {
		entry["Metadata"] = of.metadata
	}
	text, _ := json.MarshalIndent(entry, "\t\t", "\t") // of texts and numbers
	return string(text)
}

func quoted(text string) string {
	q, _ := json.Marshal(text) // of a text
	return string(q)
}

func (f *fake) list(p parameters) (io.ReadCloser, error) {
	if f.missing {
		return nil, missing("directory")
	}
	prefix := ""
	if p.Remote != "" {
		prefix = p.Remote + "/"
	}
	keys := f.below(prefix)
	if prefix != "" && len(keys) == 0 {
		return nil, missing("directory")
	}
	var items []string
	folders := map[string]bool{}
	for _, key := range keys {
		rest := key[len(prefix):]
		for n, c := range rest {
			if path := prefix + rest[:n]; c == '/' && !folders[path] && (p.Opt.Recurse || !strings.Contains(rest[:n], "/")) {
				folders[path] = true
				items = append(items, folderJSON(path))
			}
		}
		if p.Opt.Recurse || !strings.Contains(rest, "/") {
			items = append(items, entryJSON(key, f.files[key], p.Opt))
		}
	}
	slices.Reverse(items)
	answer := []byte("{\n\t\"list\": [\n\t\t" + strings.Join(items, ",\n\t\t") + "\n\t]\n}\n")
	if f.listing != nil {
		return io.NopCloser(f.listing(p.Remote, answer)), nil
	}
	return io.NopCloser(bytes.NewReader(answer)), nil
}

func (f *fake) Get(ctx context.Context, _, path string, header http.Header) (*http.Response, error) {
	if err := f.enter(ctx, "get", path); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found, ok := f.files[path]
	if !ok {
		return nil, missing("object")
	}
	size := len(found.content)
	a := &http.Response{StatusCode: http.StatusOK, ContentLength: int64(size), Header: http.Header{}}
	from := 0
	if r := header.Get("Range"); r != "" {
		if _, err := fmt.Sscanf(r, "bytes=%d-", &from); err != nil {
			return nil, err
		}
		from = min(from, size)
		a.StatusCode, a.ContentLength = http.StatusPartialContent, int64(size-from)
		a.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
	}
	a.Header.Set("Last-Modified", found.time.Format(http.TimeFormat))
	a.Body = io.NopCloser(bytes.NewReader(found.content[from:]))
	if f.alters != nil {
		f.alters(path, a)
	}
	return a, nil
}

// TestSource runs the shared source tests, with listings of folders and of whole trees.
func TestSource(t *testing.T) {
	for name, features := range map[string]string{"folders": plainFeatures, "trees": wholeFeatures} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
				f := newFake(features)
				for _, stored := range files {
					f.put(string(stored.Key), stored.Content)
				}
				return sourcetest.Fixture{
					Source: f.source(tb, Options{Ahead: 3}),
					Put:    func(stored sourcetest.File) error { f.put(string(stored.Key), stored.Content); return nil },
					Remove: func(k sources.Key) error { f.mu.Lock(); defer f.mu.Unlock(); delete(f.files, string(k)); return nil },
					Vanish: func() error { f.mu.Lock(); defer f.mu.Unlock(); f.missing = true; return nil },
				}
			}, sourcetest.Storable(func(keys ...sources.Key) bool {
				for _, k := range keys {
					if err := k.Check(); err != nil && err != sources.ErrKeyControl {
						return false
					}
				}
				return true
			}), sourcetest.Many(500))
		})
	}
}
