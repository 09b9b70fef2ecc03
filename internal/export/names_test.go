package export

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

func TestEscape(t *testing.T) {
	for segment, want := range map[string]string{
		"photo.jpg": "photo.jpg", "100%.jpg": "100%.jpg", "100%2F.jpg": "100%252F.jpg", "a:b?.jpg": "a%3Ab%3F.jpg", "end.": "end%2E", "end ": "end%20",
		"tab\t": "tab%09", "con": "%63on", "Con.txt": "%43on.txt", "com1.jpg": "%63om1.jpg", "com10": "com10", "console": "console", "ü": "ü", `a\b`: "a%5Cb", ".hidden": ".hidden",
	} {
		if got := escape(segment); got != want {
			t.Errorf("%q becomes %q, want %q", segment, got, want)
		}
	}
}

// TestNamesOfOtherSystems verifies that names which Windows or macOS reject or change are escaped,
// and that similar names stay unchanged.
func TestNamesOfOtherSystems(t *testing.T) {
	devices := []string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
	for _, port := range []string{"COM", "LPT"} {
		for _, digit := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"} {
			devices = append(devices, port+digit)
		}
	}
	for _, device := range devices {
		for _, end := range []string{"", ".txt", ".tar.gz", " .txt", "  .x"} {
			for _, name := range []string{device + end, strings.ToLower(device) + end} {
				if got := escape(name); !strings.HasPrefix(got, fmt.Sprintf("%%%02X%s", name[0], name[1:len(device)])) {
					t.Errorf("%q becomes %q", name, got)
				}
			}
		}
	}
	refused := `<>:"|?*\` + "\x7f"
	for c := range byte(' ') {
		refused += string(rune(c))
	}
	for _, c := range []byte(refused) {
		if got, want := escape("a"+string(rune(c))+"b"), fmt.Sprintf("a%%%02Xb", c); got != want {
			t.Errorf("%q becomes %q, want %q", c, got, want)
		}
	}
	for c := rune(0x80); c < 0xa0; c++ { // they begin escape sequences, too
		if got, want := escape("a"+string(c)+"é"), fmt.Sprintf("a%%C2%%%02Xé", c); got != want {
			t.Errorf("%q becomes %q, want %q", c, got, want)
		}
	}
	for name, want := range map[string]string{"a.": "a%2E", "a ": "a%20", "a. .": "a. %2E", ".": "%2E", "..": ".%2E", "a.b ": "a.b%20"} {
		if got := escape(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"COM10", "COM", "COM⁴", "COM١", "CONIN", "CONOUT", "CON$", "CON1", "nul-1.txt", " CON", "a.con", "LPTa", "..a", " a", "\u00a0"} {
		if got := escape(name); got != name {
			t.Errorf("%q becomes %q", name, got)
		}
	}
}

// TestFileName verifies that an asset of any name becomes a file in the intended folder.
func TestFileName(t *testing.T) {
	long := strings.Repeat("é", 300) + ".jpg"
	for name, want := range map[string]string{
		"photo.v2.jpg": "photo.v2.jpg", "é.png": "é.png", "": "asset", ".": "%2E", "..": "%2E%2E",
		"../../etc/passwd": "%2E.%2F..%2Fetc%2Fpasswd", "/etc/passwd": "%2Fetc%2Fpasswd", `a\b:c`: "a%5Cb%3Ac", `\\host\share`: "%5C%5Chost%5Cshare",
		".bashrc": "%2Ebashrc", "-rf": "%2Drf", ".-": "%2E-", ".con": "%2E%63on", "CON": "%43ON", "nul.txt": "%6Eul.txt", "end. ": "end.%20", "end.": "end%2E",
		"\x1b]0;title\a.jpg": "%1B]0;title%07.jpg", "red\u009b31m": "red%C2%9B31m", "line\nbreak": "line%0Abreak", "nul\x00": "nul%00",
		"100%2F": "100%252F", "*?<>|\"": "%2A%3F%3C%3E%7C%22",
		long: strings.Repeat("é", 118) + mark(long) + ".jpg",
	} {
		got := FileName(name)
		if got != want || !filepath.IsLocal(got) || filepath.Base(got) != got || len(got)+len(sidecarEnding) > 255 {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

// FuzzFileName verifies that different names are escaped to different file names.
func FuzzFileName(f *testing.F) {
	f.Add("a:b", "a%3Ab")
	f.Add("..", "%2E%2E")
	f.Add("", "asset")
	f.Fuzz(func(t *testing.T, a, b string) {
		one, other := FileName(a), FileName(b)
		if a != b && one == other && a != "" && b != "" {
			t.Errorf("%q and %q become %q", a, b, one)
		}
		if !filepath.IsLocal(one) || filepath.Base(one) != one || len(one) > 255 || strings.ContainsFunc(one, unicode.IsControl) || strings.HasPrefix(one, ".") || strings.HasPrefix(one, "-") {
			t.Errorf("%q becomes %q", a, one)
		}
	})
}

// placed returns the paths of keys, with the containers around them.
func placed(keys ...string) (paths []string) {
	n := newNames()
	entered := map[string]bool{}
	for _, k := range keys {
		for i := range k {
			if prefix := k[:i+1]; strings.HasSuffix(prefix, "/") && !entered[prefix] {
				entered[prefix] = true
				n.enter(sources.Key(prefix))
			}
		}
		if !strings.HasSuffix(k, "/") {
			paths = append(paths, n.place(sources.Key(k)))
		}
	}
	return paths
}

// TestPlaces verifies that paths are unique without case and Unicode form, if a file and a folder
// have the same name, and if a file has the name of a sidecar.
func TestPlaces(t *testing.T) {
	got := placed("A/Photo.jpg", "A/a/x.jpg", "A/b", "A/b/c.jpg", "A/caf\u0065\u0301", "A/caf\u00e9", "A/photo.jpg", "A/photo.jpg.json", "A/photo.xmp", "a/x.jpg", "assetferry-export.json/x.jpg")
	want := []string{
		"A/Photo.jpg", "A/a/x.jpg", "A/b", "A/b" + mark("A/b/") + "/c.jpg", "A/caf\u0065\u0301", "A/caf\u00e9" + mark("A/caf\u00e9"),
		"A/photo" + mark("A/photo.jpg") + ".jpg", "A/photo.jpg" + mark("A/photo.jpg.json") + ".json", "A/photo" + mark("A/photo.xmp") + ".xmp",
		"a" + mark("a/") + "/x.jpg", "assetferry-export" + mark("assetferry-export.json/") + ".json/x.jpg",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNoAssetIsADraft verifies that no asset gets the name of an incomplete file.
func TestNoAssetIsADraft(t *testing.T) {
	name := newDraft()
	if got := placed("A/" + name)[0]; isDraft(strings.TrimPrefix(got, "A/")) {
		t.Errorf("%s becomes %s", name, got)
	}
}

func TestLongNames(t *testing.T) {
	long := "A/" + strings.Repeat("ü", 256)
	got := placed(long+".jpg", long+"a.jpg", long+".jpg2/x")
	for _, path := range got {
		for segment := range strings.SplitSeq(path, "/") {
			if len(segment)+len(sidecarEnding) > 255 || !utf8.ValidString(segment) {
				t.Errorf("%d bytes: %q", len(segment), segment)
			}
		}
	}
	if got[0] == got[1] || !strings.HasSuffix(got[0], mark(long+".jpg")+".jpg") {
		t.Errorf("%q", got)
	}
}

// FuzzNames verifies that two files or folders never get the same path, whatever their names.
func FuzzNames(f *testing.F) {
	f.Add("Photo.jpg", "photo.jpg", "photo.JPG.json", "x")
	f.Add("a", "a/", "con", "%63on")
	f.Add("..", ".", "a ", "a%20")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		var keys []string
		for _, name := range []string{a, b, c, d} {
			inner := strings.HasSuffix(name, "/")
			name = strings.Trim(strings.ReplaceAll(name, "/", "_"), ".")
			if name == "" || !utf8.ValidString(name) || len(name) > 1000 {
				return
			}
			if inner {
				name += "/x"
			}
			keys = append(keys, "category/"+name)
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		seen := map[uint64]string{}
		for i, path := range placed(keys...) {
			for _, file := range []string{path, path + sidecarEnding} {
				if other, taken := seen[folded(file)]; taken {
					t.Errorf("%q has the path %q, and %q is there", keys[i], file, other)
				}
				seen[folded(file)] = file
			}
			if len(path) > 600 || strings.ContainsAny(path, `<>:"|?*\`) {
				t.Errorf("%q has the path %q", keys[i], path)
			}
		}
	})
}
