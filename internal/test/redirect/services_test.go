//go:build webserver

package redirect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// redirectedIn are the requests whose redirects a script prints. Files of hostile names come first,
// then paths that no map has.
func (s *site) redirectedIn(t *testing.T, names []string, run func(requests string) []byte) {
	t.Helper()
	var paths []string
	for _, name := range append(names, unverified) {
		paths = append(paths, escaped("/files/"+name))
	}
	unknown := []string{"/files/", "/files/nothing.jpg", "/Photo.jpg", "/files/pHOTO.jpg", "/files/%", "/files/%zz.jpg", "/files/%FF.jpg"}
	requests, err := json.Marshal(append(paths, unknown...))
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct {
		Status int
		URL    string
	}
	out := run(string(requests))
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(paths)+len(unknown) {
		t.Fatalf("%v in %s", err, out)
	}
	for n, name := range append(names, unverified) {
		want := http.StatusMovedPermanently
		if name == unverified {
			want = http.StatusFound
		}
		if answers[n].Status != want {
			t.Errorf("%q: answered with %+v, want %d", name, answers[n], want)
			continue
		}
		s.leadsTo(t, name, answers[n].URL)
	}
	for n, path := range unknown {
		if got := answers[len(paths)+n]; got.Status != 0 {
			t.Errorf("%s: answered with %+v", path, got)
		}
	}
}

// escaped encodes a path like a template of old URLs, with nothing encoded that browsers do not
// encode.
func escaped(path string) string {
	var b strings.Builder
	const hex, plain = "0123456789ABCDEF", "-._~!$&'()*+,;=:@/"
	for _, c := range []byte(path) {
		if 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

// node runs a script of Node.js with arguments.
func node(t *testing.T, dir, script string, args ...string) []byte {
	t.Helper()
	path := filepath.Join(dir, "run.mjs")
	writeConf(t, path, script)
	c := exec.CommandContext(t.Context(), "node", append([]string{path}, args...)...)
	c.Dir = dir
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, &stderr)
	}
	return out
}

// TestCloudFront runs the function in Node.js with a store that holds the data, like a store that
// imported the file: it has no key twice, and get fails for unknown keys.
func TestCloudFront(t *testing.T) {
	s := migratedSite(t)
	data := filepath.Join(s.dir, "maps.json")
	s.run("urls", "--format", "cloudfront", "--old-prefix", "https://old.example.com/files/", "--output", data)
	function, err := os.ReadFile(filepath.Join(s.dir, "maps.js"))
	if err != nil {
		t.Fatal(err)
	}
	if len(function) > 10<<10 {
		t.Errorf("the function has %d bytes, and may have 10 KB", len(function))
	}
	dir := t.TempDir()
	store := filepath.Join(dir, "node_modules", "cloudfront")
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	writeConf(t, filepath.Join(store, "package.json"), `{"type": "module", "exports": "./index.js"}`)
	writeConf(t, filepath.Join(store, "index.js"), `
import fs from 'fs';
const pairs = new Map();
for (const { key, value } of JSON.parse(fs.readFileSync(process.argv[2])).data) {
	if (pairs.has(key) || key.length > 512 || value.length > 1024) throw new Error('not imported: ' + key);
	pairs.set(key, value);
}
export default { kvs: () => ({ get: async (key) => {
	if (!pairs.has(key)) throw new Error('KeyNotFound');
	return pairs.get(key);
} }) };
`)
	script := string(function) + `
const answers = [];
for (const uri of JSON.parse(process.argv[3])) {
	const got = await handler({ request: { method: 'GET', uri, querystring: { width: { value: '400' } }, headers: {} } });
	answers.push(got.uri ? { status: 0 } : { status: got.statusCode, url: got.headers.location.value });
}
console.log(JSON.stringify(answers));
`
	run := func(requests string) []byte { return node(t, dir, script, data, requests) }
	var short []string
	for _, name := range hostile {
		if len(escaped("/files/"+name)) <= 512 {
			short = append(short, name)
		}
	}
	if len(short) < len(hostile)-3 {
		t.Errorf("only %d paths fit", len(short))
	}
	s.redirectedIn(t, short, run)

	// Other spellings of a path have the same key.
	spellings, err := json.Marshal([]string{"/files/a.b%2Ac%28d%29%5be%5d%7Cf%5eg.jpg", "/files/a.b*c(d)[e]|f^g.jpg", "/files/%e6%97%a5%e6%9c%ac/%E5%86%99%E7%9C%9F.jpg", "/files/日本/写真.jpg", "/files/100%.jpg", "/%66iles%2FPhoto.jpg"})
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct{ Status int }
	if err := json.Unmarshal(run(string(spellings)), &answers); err != nil {
		t.Fatal(err)
	}
	for n, got := range answers {
		if got.Status != http.StatusMovedPermanently {
			t.Errorf("spelling %d: answered with %d", n, got.Status)
		}
	}
}

// TestNetlify reads the file with the matcher of Netlify, the package netlify-redirector, which
// ASSETFERRY_NETLIFY names.
func TestNetlify(t *testing.T) {
	matcher := os.Getenv("ASSETFERRY_NETLIFY")
	if matcher == "" {
		t.Fatal("ASSETFERRY_NETLIFY must be the folder of the package netlify-redirector")
	}
	s := migratedSite(t)
	path := filepath.Join(s.dir, "_redirects")
	s.run("urls", "--format", "netlify", "--old-prefix", "/files/", "--output", path)
	s.redirectedIn(t, plainNames(), func(requests string) []byte {
		return node(t, t.TempDir(), `
import fs from 'fs';
import { createRequire } from 'module';
const matcher = await createRequire(import.meta.url)(process.argv[2]).parsePlain(fs.readFileSync(process.argv[3], 'utf8'), {});
const answers = JSON.parse(process.argv[4]).map((path) => {
	const got = matcher.match({ scheme: 'https', host: 'old.example.com', path, query: 'width=400', headers: {}, cookieValues: {}, getHeader: () => '', getCookie: () => '' });
	return got ? { status: got.force ? got.status : -1, url: got.to } : { status: 0 };
});
fs.writeSync(1, JSON.stringify(answers));
process.exit(0);
`, matcher, path, requests)
	})
}

// plainNames returns the hostile names without those that a file _redirects cannot contain.
func plainNames() (names []string) {
	for _, name := range hostile {
		if !strings.Contains(name, "*") && name != "a:b@c.jpg" {
			names = append(names, name)
		}
	}
	return names
}

// migratedSite returns a site whose hostile names are migrated and verified, and one more that is not
// verified.
func migratedSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	for _, name := range hostile {
		s.put(name)
	}
	s.run("migrate", "library")
	s.run("verify")
	s.put(unverified)
	s.run("migrate", "library")
	return s
}

// TestTooLarge verifies that a map is refused before anything is written if the service would not
// import it.
func TestTooLarge(t *testing.T) {
	s := migratedSite(t)
	config := "old_urls:\n"
	for n := range 300 {
		config += fmt.Sprintf("  - /%d/%s/${path}\n", n, strings.Repeat("x", 400))
	}
	writeConf(t, filepath.Join(s.dir, "assetferry.yaml"), config)
	data := filepath.Join(s.dir, "maps.json")
	for _, output := range []string{data, "-"} {
		c := exec.CommandContext(t.Context(), s.program, "urls", "--format", "cloudfront", "--output", output)
		c.Dir, c.Env = s.dir, s.env
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		if c.ProcessState.ExitCode() != 1 || len(out) > 0 || !strings.Contains(stderr.String(), "imports at most 5,000,000") || !strings.Contains(stderr.String(), "Try: ") {
			t.Errorf("--output %s: %v, %d bytes\n%s", output, err, len(out), &stderr)
		}
	}
	for _, path := range []string{data, filepath.Join(s.dir, "maps.js")} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
