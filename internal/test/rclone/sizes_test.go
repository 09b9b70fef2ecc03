//go:build rclone

package rclone

import (
	"crypto/md5" // of WebDAV
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetferry/internal/rclone"
	"assetferry/sources"
	remotes "assetferry/sources/rclone"
)

// A wrongSize is a WebDAV server with one file, of which it lists another size.
type wrongSize struct {
	content string
	listed  int
	day     int // on which it was modified
}

func (s wrongSize) modified() time.Time { return time.Date(2025, 1, s.day, 3, 4, 5, 0, time.UTC) }

func (s wrongSize) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case "PROPFIND":
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusMultiStatus)
		folder := `<d:response><d:href>/</d:href><d:propstat><d:prop><d:resourcetype><d:collection/></d:resourcetype></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`
		if r.URL.Path != "/" {
			folder = ""
		}
		fmt.Fprintf(w, `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns">%s<d:response><d:href>/photo.heic</d:href><d:propstat><d:prop>
			<d:resourcetype/><d:getcontentlength>%d</d:getcontentlength><d:getlastmodified>%s</d:getlastmodified>
			<oc:checksums><oc:checksum>SHA1:%x MD5:%x</oc:checksum></oc:checksums></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>`,
			folder, s.listed, s.modified().Format(http.TimeFormat), sha1.Sum([]byte(s.content)), md5.Sum([]byte(s.content)))
	case http.MethodGet:
		http.ServeContent(w, r, "photo.heic", s.modified(), strings.NewReader(s.content))
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// TestWrongSizes reads content that is shorter than its storage lists, as OneDrive does for photos with a
// film, or longer: with checksums, and without.
func TestWrongSizes(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, _ []string) {
		for _, vendor := range []string{"owncloud", "other"} {
			for _, has := range []int{3, 100_000, 2_000_000, 3_000_001, 3_000_000 + 1<<16, 7_000_000} {
				readWrongSize(t, p, vendor, wrongSize{strings.Repeat("x", has), 3_000_000, 2})
			}
		}
	})
}

func readWrongSize(t *testing.T, p rclone.Program, vendor string, storage wrongSize) {
	t.Helper()
	server := httptest.NewServer(storage)
	defer server.Close()
	began := time.Now()
	s, err := remotes.New(t.Context(), startServer(t, p, "[dav]\ntype = webdav\nvendor = "+vendor+"\nurl = "+server.URL+"\n"), "dav:", remotes.Options{})
	must(t, err)
	for o, err := range s.Objects(t.Context(), "") {
		must(t, err)
		_, err := readAll(t, s, o)
		e, is := errors.AsType[*sources.SizeError](err)
		if !is || e.Listed != int64(storage.listed) || e.Object.Size != int64(len(storage.content)) {
			t.Errorf("%s, %d of %d bytes: %v", vendor, len(storage.content), storage.listed, err)
			continue
		}
		if got, err := readAll(t, s, e.Object); err != nil || got != storage.content {
			t.Errorf("%s: read %d of %d bytes: %v", vendor, len(got), len(storage.content), err)
		}
	}
	t.Logf("%s, %d of %d bytes: %s", vendor, len(storage.content), storage.listed, time.Since(began).Round(time.Millisecond))
}

func readAll(t *testing.T, s sources.Source, o sources.Object) (string, error) {
	t.Helper()
	r, err := s.Open(t.Context(), o, 0)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(r)
	must(t, r.Close())
	return string(content), err
}

// TestWrongSizesAreMigrated migrates such files with the built program: their assets have the size of the
// content, and the next runs change nothing.
func TestWrongSizesAreMigrated(t *testing.T) {
	dir := newFolder(t)
	program := filepath.Join(dir, "assetferry")
	provide(t, "go", "build", "-o", program, "assetferry/cmd/assetferry")
	for _, p := range programs(t) {
		installed := filepath.Join(newFolder(t), "rclone")
		provide(t, "cp", p.Path, installed)
		for _, vendor := range []string{"owncloud", "other"} {
			for _, has := range []int{100_000, 500_000} {
				server := httptest.NewServer(wrongSize{strings.Repeat("x", has), 300_000, 2})
				a := newAccount(t, program, installed)
				must(t, os.WriteFile(a.path("config/rclone.conf"), []byte("[dav]\ntype = webdav\nvendor = "+vendor+"\nurl = "+server.URL+"\n"), 0o600))
				migrateWrongSize(a, has)
				server.Close()
				if left, err := os.ReadDir(a.path("tmp")); err != nil || len(left) > 0 {
					t.Errorf("left: %v, %v", left, err)
				}
			}
		}
	}
}

// TestWrongSizeIsCorrected syncs a file whose content has the listed size at last, or another wrong one: it
// is replaced, and the next run changes nothing.
func TestWrongSizeIsCorrected(t *testing.T) {
	dir := newFolder(t)
	program := filepath.Join(dir, "assetferry")
	provide(t, "go", "build", "-o", program, "assetferry/cmd/assetferry")
	for _, p := range programs(t) {
		installed := filepath.Join(newFolder(t), "rclone")
		provide(t, "cp", p.Path, installed)
		for _, vendor := range []string{"owncloud", "other"} {
			for _, sizes := range [][2]int{{100_000, 300_000}, {100_000, 90_000}, {100_000, 110_000}, {100_000, 400_000}, {400_000, 300_000}, {400_000, 500_000}} {
				before, has := sizes[0], sizes[1]
				var now wrongSize
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.ServeHTTP(w, r) }))
				a := newAccount(t, program, installed)
				must(t, os.WriteFile(a.path("config/rclone.conf"), []byte("[dav]\ntype = webdav\nvendor = "+vendor+"\nurl = "+server.URL+"\n"), 0o600))
				for _, step := range []struct {
					wrongSize
					want string
				}{{wrongSize{strings.Repeat("x", before), 300_000, 2}, `"create":1`}, {wrongSize{strings.Repeat("y", has), 300_000, 3}, `"replace":1`}, {wrongSize{strings.Repeat("y", has), 300_000, 3}, `"unchanged":1`}} {
					now = step.wrongSize
					if out, code := a.run(program, "sync", "rclone:dav:", "--unsupported", "create", "--fallback-category", "Files", "--to", "sandbox", "--json"); code != 0 || !strings.Contains(out, step.want) {
						t.Errorf("%s, %s, %d bytes: exit code %d, want %s:\n%s", p.Version, vendor, sizes, code, step.want, out)
					}
				}
				server.Close()
			}
		}
	}
}

func migrateWrongSize(a account, has int) {
	a.Helper()
	for _, step := range []struct{ args, want string }{
		{"migrate rclone:dav: --unsupported create --fallback-category Files", "1 uploaded"},
		{"verify --content", "no differences"},
		{"report", "The storage lists another size than that of the content"},
		{"report --format json", fmt.Sprintf("300000 bytes instead of %d", has)},
		{"migrate rclone:dav: --unsupported create --fallback-category Files --json", `"unchanged":1`},
		{"sync rclone:dav: --unsupported create --fallback-category Files --json", `"unchanged":1`},
	} {
		out, code := a.run(a.assetferry, append(strings.Fields(step.args), "--to", "sandbox")...)
		if text := strings.Join(strings.Fields(out), " "); code != 0 || !strings.Contains(text, step.want) {
			a.Errorf("%s: exit code %d, want %q:\n%s", step.args, code, step.want, out)
		}
	}
}
