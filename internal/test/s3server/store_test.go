package s3server

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"assetferry/sources/s3"
)

// TestStore verifies that the server stores the files of an export, in one piece and in parts, with
// verified signatures and checksums, and that an interrupted upload leaves nothing.
func TestStore(t *testing.T) {
	b := newBucket(t)
	s, err := s3.NewStore(t.Context(), s3.URL{Bucket: b.name, Prefix: "backup/"}, s3.Options{Endpoint: gateway.url, Credentials: staticCredentials(secretKey)})
	must(t, err)
	t.Cleanup(s.CloseIdleConnections)
	if empty, err := s.IsEmpty(t.Context()); !empty || err != nil {
		t.Errorf("empty at first: %t, %v", empty, err)
	}
	for name, size := range map[string]int{"a/empty.txt": 0, "a/small ü 100%2F.txt": 3, "parts.bin": 20<<20 + 1} {
		content := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
		must(t, s.Write(t.Context(), name, "text/plain", int64(size), bytes.NewReader(content)))
		stored, err := os.ReadFile(filepath.Join(b.dir(), "backup", filepath.FromSlash(name)))
		must(t, err)
		n, err := s.Size(t.Context(), name)
		must(t, err)
		got, err := s.Read(t.Context(), name)
		must(t, err)
		if !bytes.Equal(stored, content) || n != int64(size) || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes are stored, %d told, %d read; want %d", name, len(stored), n, len(got), size)
		}
	}
	cut := iotest.TimeoutReader(bytes.NewReader(make([]byte, 20<<20)))
	if err := s.Write(t.Context(), "cut.bin", "", 20<<20, cut); err == nil {
		t.Error("what broke off was written")
	}
	if _, err := s.Size(t.Context(), "cut.bin"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what broke off is there: %v", err)
	}
}
