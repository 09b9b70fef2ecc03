package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/sources"
)

// readLine reads a line as the documentation of sha256sum describes it.
func readLine(line string) (name, checksum string) {
	line, escapes := strings.CutPrefix(line, `\`)
	checksum, name, _ = strings.Cut(line, " *")
	if escapes {
		name = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r").Replace(name)
	}
	return name, checksum
}

// hostileNames are keys with characters that have a meaning in a manifest.
func hostileNames() []string {
	return []string{
		"a.jpg", "a b.jpg", " a", "a ", "*a", "#a", `\a`, `a\nb`, "a\nb", "a\r", "a\r\nb", "a\n# b", "\u2028", "ü/ß.jpg", "a\xffb", "\x1b[31m", "-a", `a\\nb`,
		"a\n" + strings.Repeat("0", 64) + " *b", strings.Repeat("0", 64) + " *c",
	}
}

// FuzzChecksumLine verifies that any key that can be the name of a file is one line, and is read as it
// was.
func FuzzChecksumLine(f *testing.F) {
	for _, key := range hostileNames() {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		sum := sha256.Sum256([]byte(key))
		line := checksumLine(sources.Key(key), sum[:])
		if strings.ContainsAny(line, "\n\r\x00") {
			t.Fatalf("%q has line breaks", line)
		}
		if strings.Contains(key, "\x00") {
			if !strings.HasPrefix(line, "# ") {
				t.Errorf("%q: no file has such a name", line)
			}
			return
		}
		if name, checksum := readLine(line); name != key || checksum != hex.EncodeToString(sum[:]) {
			t.Errorf("%q is read as %q, %s", line, name, checksum)
		}
	})
}

// TestSha256sum verifies that the real sha256sum finds each file, and each changed file.
func TestSha256sum(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("needs sha256sum")
	}
	dir := t.TempDir()
	lines := []string{"# a comment"}
	n := 0
	for _, key := range hostileNames() {
		path := filepath.Join(dir, key)
		if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte(key), 0o644) != nil {
			continue // this file system does not take such names
		}
		n++
		sum := sha256.Sum256([]byte(key))
		lines = append(lines, `# {"key":"x"}`, checksumLine(sources.Key(key), sum[:]))
	}
	check := func() (string, error) {
		c := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "--warn")
		c.Dir, c.Stdin = dir, strings.NewReader(strings.Join(lines, "\n")+"\n")
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err := c.Run()
		return out.String(), err
	}
	if out, err := check(); err != nil || strings.Count(out, ": OK\n") != n || strings.Contains(out, "WARNING") {
		t.Errorf("%v: %d files\n%s", err, n, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.jpg"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := check(); err == nil || strings.Count(out, "FAILED") != 1 {
		t.Errorf("a changed file: %v\n%s", err, out)
	}
}
