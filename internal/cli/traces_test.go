package cli

import (
	"bytes"
	"encoding/csv"
	"image"
	"image/png"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/tokens"
)

// The tests compare the lists of hosts and files in help security with the behaviour of commands.
// The commands run in their own processes, their requests go through a proxy that serves every host
// by name, and one folder is the home folder, the temporary folder and the working directory. It is
// listed before and after each command. With the tag strace, the system calls are compared as well:
// all connections go to the proxy, and no other file exists even for a moment.
//
// A new host or file needs a row here, a sentence in the help, and a command in TestTraces that
// uses it.

// A trace is a contacted host, or a kind of written files.
type trace struct {
	says  string // sentence in help security
	match string // names of the host, or a pattern of paths
}

// hosts returns the hosts in help security, by their name in the proxy.
func hosts() map[string]trace {
	return map[string]trace{
		"service":   {"the service, at the URL in --to, ASSETFERRY_URL or assetferry.yaml.", "assets.test"},
		"delivery":  {"the host that delivers the files of the service, if that is a different host", "files.test"},
		"source":    {"for an environment or a workspace as a source: the service at ASSETFERRY_SOURCE_URL, or at the URL in assetferry.yaml, and the host that delivers its files", "from.test"},
		"bucket":    {"for a source or an export in S3: the endpoint of the bucket", "bucket.test"},
		"connector": {"for a source behind a CKFinder connector: the host in its URL", "connector.test"},
		"wordpress": {"for a WordPress site: the host in its URL, and the hosts of the files in its media library", "wordpress.test"},
		"table":     {"for a table: the hosts of the URLs in it", "table.test"},
		"redirect":  {"the hosts that a redirect of content leads to", "moved.test"},
		"hook":      {"for notifications: the hosts of the URLs in --notify or --notify-file", "hook.test"},
		"ai":        {"for enrich and ai: the AI content service", "ai.test"},
		"tokens":    {"the token endpoint if ASSETFERRY_AI_TOKEN_URL names one", "tokens.test"},
	}
}

// notTraced returns the hosts in the help that tests cannot use, because they depend on the
// machine, or because another program contacts them.
func notTraced() []string {
	return []string{"hosts for AWS credentials", "for a remote of rclone: rclone contacts the hosts of the storage", "a proxy, if HTTPS_PROXY", "the name servers of this machine"}
}

// readsBeside matches files that commands read without a flag or setting; see systemFiles.
func readsBeside() string {
	return "- assetferry.yaml in the working directory - ~/.aws for S3 - the unit that schedule would replace - files of the system: certificates, host names, accounts, time zones, mounted file systems, the terminal, random numbers, and kernel data about memory, processors and the network"
}

// written returns the kinds of files in help security. Files that only strace sees are in fleeting.
func written() map[string]trace {
	return map[string]trace{
		"state":   {"state database", `^(state(/assetferry(/[^/]*\.db[^/]*(/.*)?)?)?|st(/.*)?)$`},
		"sandbox": {"$XDG_DATA_HOME/assetferry/sandbox, or --data DIR", `^data(/.*)?$`},
		"log":     {"only with --log-file", `^run\.log$`},
		"output":  {"files of --output, -o, --approval-request and --summaries", `^out/[^/]+$`},
		"pages":   {"the pages that enrich documents writes next to yours, with a .json for each", `^pages/[^/]+\.enriched\.html(\.json)?$`},
		"export":  {"the folder of export", `^exported(/.*)?$`},
		"metrics": {"--metrics", `^m\.prom$`},
		"rewrite": {"the files that rewrite --write changes", `^site/.*$`},
		"backups": {"$XDG_STATE_HOME/assetferry/backups, or --backup-dir DIR: the originals of files that rewrite --write replaced", `^state/assetferry/backups(/.*)?$`},
		"made":    {"files of init, demo, man and doctor --probe", `^made/.*$`},
	}
}

// fleeting returns the files that are deleted before the end of a command.
func fleeting() map[string]trace {
	return map[string]trace{
		"temporary": {"the index of the objects of a source (assetferry-keys-), a redirect map that is read (assetferry-map-), and sort files of SQLite (etilqs_)", `^tmp/(assetferry-(keys|map)-|etilqs_)[^/]+$`},
		"socket":    {"a Unix socket in a new folder with mode 0700, below XDG_RUNTIME_DIR or the folder for temporary files (assetferry-rclone-)", `^tmp/assetferry-rclone-.*$`},
		"draft":     {"a file being written has a draft beside it, whose name begins with a dot", `(^|/)\.[^/]+(-[A-Z2-7]{26}|\.assetferry-draft|\.part)$`},
		"doctor":    {"an empty file with which doctor tests whether a state database can be created (.assetferry-doctor-)", `(^|/)\.assetferry-doctor-[^/]+$`},
	}
}

// A traced command has the names of hosts and files that it must use, and with a question mark
// those that it may use: a reader of a state database may leave the shared files of SQLite.
type traced struct {
	args  string
	code  int
	hosts string
	files string
	local bool // it may connect to its own server
}

// tracedSource is the ID of the environment that is a source.
const tracedSource = "another0000000000000"

func commands() []traced {
	const state = " --state st/x.db"
	return []traced{
		{args: "plan photos --output out/plan.txt" + state, hosts: "service", files: "state output"},
		{args: "migrate photos --unsupported skip --metrics m.prom --notify http://hook.test/x --log-file run.log" + state, hosts: "service hook", files: "state log metrics"},
		{args: "sync photos --delete trash --max-delete 1" + state, hosts: "service", files: "state"},
		{args: "verify --content" + state, hosts: "service delivery", files: "state"},
		{args: "status" + state, files: "state?"},
		{args: "explain a.png" + state, files: "state?"},
		{args: "report --format html --output out/r.html" + state, files: "output state?"},
		{args: "urls --old-prefix https://old.example/ --output out/urls.tsv" + state, files: "output state?"},
		{args: "sync photos --approval-request out/request.json" + state, files: "output state?"},
		{args: "urls --check" + state, hosts: "service delivery", files: "state"},
		{args: "enrich audit" + state, hosts: "service", files: "state"},
		{args: "enrich describe --yes" + state, hosts: "service delivery ai tokens", files: "state"},
		{args: "enrich proposals --output out/p.csv" + state, files: "output state?"},
		{args: "enrich documents pages --yes" + state, hosts: "ai tokens", files: "pages state?"},
		{args: "ai models", hosts: "ai tokens"},
		{args: "export exported" + state, hosts: "service delivery", files: "export state?"},
		{args: "export s3://bucket/out" + state, hosts: "service delivery bucket", files: "state?"},
		{args: "rewrite --map out/urls.tsv site --write" + state, files: "rewrite backups state?"},
		{args: "schedule photos --delete trash --max-delete 1" + state, files: "state?"},
		{args: "doctor photos" + state, hosts: "service ai tokens", files: "state?"},
		{args: "doctor photos --state st/new.db", hosts: "service ai tokens"},
		{args: "assets ls Images", hosts: "service"},
		{args: "assets image -o out/i.webp --width 80 --format webp -- ID", hosts: "service delivery", files: "output"},
		{args: "assets get -o out/got -- ID", hosts: "service delivery", files: "output"},
		{args: "plan s3://bucket --unsupported skip" + state, hosts: "service bucket", files: "state"},
		{args: "plan ckfinder+http://connector.test/ckfinder/connector --unsupported skip" + state, hosts: "service connector", files: "state"},
		{args: "plan wordpress+http://wordpress.test --unsupported skip" + state, hosts: "service wordpress", files: "state"},
		{args: "migrate ckbox://" + tracedSource + state, hosts: "service delivery source", files: "state"},
		{args: "plan rclone::local:photos --unsupported skip" + state, hosts: "service delivery", files: "state"},
		{args: "migrate table:table.csv" + state, hosts: "service table redirect", files: "state"},
		{args: "undo --yes" + state, code: exit.CodeUsage},
		{args: "init --output made/assetferry.yaml", files: "made"},
		{args: "state backup" + state, files: "state"},
		{args: "plan photos --to sandbox", files: "state sandbox", local: true},
		{args: "demo --dir made/demo", files: "made", local: true},
	}
}

// A recorder is a proxy that serves hosts by name and records the requested ones.
type recorder struct {
	server *httptest.Server
	known  map[string]*url.URL
	mu     sync.Mutex
	asked  map[string]bool
}

func startRecorder(t *testing.T, known map[string]string) *recorder {
	r := &recorder{known: map[string]*url.URL{}, asked: map[string]bool{}}
	for host, rawURL := range known {
		u, err := url.Parse(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		r.known[host] = u
	}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.asked[req.Host] = true
	r.mu.Unlock()
	to, known := r.known[req.Host]
	if req.Method == http.MethodConnect || !known {
		http.Error(w, "unknown host", http.StatusBadGateway)
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(to); p.Out.Host = asServed(p.In.Host) },
		ModifyResponse: deliverElsewhere,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, req)
}

// asServed returns the host name that a server sees.
func asServed(host string) string {
	if host == "files.test" {
		return "assets.test"
	}
	return host
}

// deliverElsewhere replaces the host of file URLs in answers of the service.
func deliverElsewhere(r *http.Response) error {
	if !strings.Contains(r.Header.Get("Content-Type"), "json") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	body = bytes.ReplaceAll(body, []byte("http://assets.test/"), []byte("http://files.test/"))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Length")
	return nil
}

// drain returns the requested hosts since the last call.
func (r *recorder) drain() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for host := range r.asked {
		all = append(all, host)
	}
	clear(r.asked)
	return all
}

// TestTraces runs commands and verifies that they contact and write exactly the hosts and files in
// help security.
func TestTraces(t *testing.T) {
	dir := t.TempDir()
	var photo bytes.Buffer
	if err := png.Encode(&photo, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{
		"photos/a.png": photo.Bytes(), "photos/b.txt": []byte("b"), "connector/Files/c.txt": []byte("c"),
		"site/index.html": []byte(`<img src="https://old.example/a.png">`), "pages/p.html": []byte(`<img src="a.png">`), "out/.keep": nil, "made/.keep": nil, "tmp/.keep": nil,
	}
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	writeTable(t, filepath.Join(dir, "table.csv"))
	proxy, env := tracedServices(t, dir)
	env = append(env, "TMPDIR="+filepath.Join(dir, "tmp"), "HTTP_PROXY="+proxy.server.URL, "HTTPS_PROXY="+proxy.server.URL, "NO_PROXY=")
	used := map[string]bool{}
	var photoID string
	for _, c := range commands() {
		before := filesBelow(t, dir)
		args := append([]string{"--allow-http"}, strings.Fields(c.args)...)
		if i := slices.Index(args, "ID"); i >= 0 {
			args[i] = photoID
		}
		p := assetferry(t, dir, env, args...)
		calls := watchCalls(t, p, dir)
		said := p.must(t, c.code)
		if found := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(said); found != nil && c.args == "assets ls Images" {
			photoID = found[1]
		}
		seen := calls()
		c.compareHosts(t, proxy.drain(), used)
		c.compareFiles(t, changes(before, filesBelow(t, dir)), used)
		seen.compare(t, c, strings.TrimPrefix(proxy.server.URL, "http://"), used)
	}
	for _, rows := range []map[string]trace{hosts(), written(), fleeting()} {
		for name := range rows {
			if _, temporary := fleeting()[name]; !used[name] && (seesCalls || !temporary) {
				t.Errorf("no command of the test uses %s", name)
			}
		}
	}
}

// tracedServices starts all services that commands contact.
func tracedServices(t *testing.T, dir string) (*recorder, []string) {
	s := startService(t, sandbox.Options{})
	words := startWords(t, s, aiservice.Options{})
	from := startService(t, sandbox.Options{Environments: []tokens.Environment{{ID: tracedSource, AccessKey: "another-key-for-tests-of-no-use"}}})
	assetferry(t, dir, from.variables(), "migrate", "photos", "--unsupported", "skip", "--state", "from/x.db").must(t, exit.CodeDone)
	bucket := startBucket(t, "bucket")
	if err := bucket.put("d.txt", "d"); err != nil {
		t.Fatal(err)
	}
	connector := startConnector(t, filepath.Join(dir, "connector"), "")
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved.txt" {
			http.Redirect(w, r, "http://moved.test/f.txt", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "e")
	}))
	t.Cleanup(plain.Close)
	at := func(rawURL string) string {
		u, err := url.Parse(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		return "http://" + net.JoinHostPort(u.Hostname(), u.Port())
	}
	proxy := startRecorder(t, map[string]string{
		"assets.test": at(s.url), "files.test": at(s.url), "ai.test": at(words.url), "tokens.test": at(words.url), "bucket.test": at(bucket.server.URL),
		"connector.test": at(connector.URL), "wordpress.test": startWordPress(t, filepath.Join(dir, "connector", "Files")), "table.test": plain.URL, "hook.test": plain.URL, "moved.test": plain.URL, "from.test": at(from.url),
	})
	env := append(withoutAWS(), "ASSETFERRY_URL=http://assets.test", "ASSETFERRY_ENVIRONMENT_ID="+s.env.ID, "ASSETFERRY_ACCESS_KEY="+string(s.env.AccessKey),
		"ASSETFERRY_SOURCE_URL=http://from.test", "ASSETFERRY_SOURCE_ACCESS_KEY="+string(from.env.AccessKey),
		"ASSETFERRY_S3_ENDPOINT=http://bucket.test", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_REGION=eu-central-1",
		"ASSETFERRY_AI_URL=http://ai.test", "ASSETFERRY_AI_TOKEN_URL=http://tokens.test"+words.TokenPath()+"?user=u&permission=ai:admin&life=600")
	return proxy, env
}

func writeTable(t *testing.T, path string) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	if err := w.WriteAll([][]string{{"url"}, {"http://table.test/e.png"}, {"http://table.test/moved.txt"}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// compareHosts verifies that a command contacted all required hosts, and only permitted ones.
func (c traced) compareHosts(t *testing.T, asked []string, used map[string]bool) {
	t.Helper()
	var names []string
	for _, host := range asked {
		name := host
		for row, h := range hosts() {
			if h.match == host {
				name = row
			}
		}
		names = append(names, name)
		used[name] = true
	}
	want := strings.Fields(c.hosts)
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("%s contacts %v, want %v", c.args, names, want)
	}
}

// compareFiles verifies that a command wrote all required kinds of files, and only permitted ones.
func (c traced) compareFiles(t *testing.T, paths []string, used map[string]bool) {
	t.Helper()
	wrote := map[string]bool{}
	for _, path := range paths {
		kind := kindOfFile(path, written())
		if !c.mayWrite(kind) {
			t.Errorf("%s writes %s, of the kind %q", c.args, path, kind)
		}
		wrote[kind], used[kind] = true, true
	}
	for _, kind := range strings.Fields(c.files) {
		if !strings.HasSuffix(kind, "?") && !wrote[kind] {
			t.Errorf("%s writes no file of the kind %s", c.args, kind)
		}
	}
}

func (c traced) mayWrite(kind string) bool {
	return kind != "" && (slices.Contains(strings.Fields(c.files), kind) || slices.Contains(strings.Fields(c.files), kind+"?"))
}

func kindOfFile(path string, kinds map[string]trace) string {
	for kind, k := range kinds {
		if regexp.MustCompile(k.match).MatchString(path) {
			return kind
		}
	}
	return ""
}

// filesBelow returns the files and folders below a folder, with values that show changes.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if !d.IsDir() { // changes in a folder change its time
			tree[filepath.ToSlash(name)] = info.Mode().String() + info.ModTime().String()
		} else {
			tree[filepath.ToSlash(name)] = info.Mode().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// changes returns the paths that were created, changed or deleted.
func changes(before, after map[string]string) (paths []string) {
	for path, is := range after {
		if before[path] != is {
			paths = append(paths, path)
		}
	}
	for path := range before {
		if _, there := after[path]; !there {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// TestHelpNamesHostsAndFiles verifies that every entry of the list of hosts has a row, and that the
// help contains the words of every row.
func TestHelpNamesHostsAndFiles(t *testing.T) {
	text := topicWords(t, "security")
	says := append(notTraced(), readsBeside())
	for _, rows := range []map[string]trace{hosts(), written(), fleeting()} {
		for _, r := range rows {
			says = append(says, r.says)
		}
	}
	for _, words := range says {
		if !strings.Contains(text, words) {
			t.Errorf("help security does not say %q", words)
		}
	}
	_, list, _ := strings.Cut(text, "This program contacts only these hosts:")
	list, _, found := strings.Cut(list, "Commands that you configure")
	if !found {
		t.Fatal("the list of hosts was not found")
	}
	for _, entry := range strings.Split(list, " - ")[1:] {
		if !slices.ContainsFunc(says, func(words string) bool { return strings.Contains(entry, words) }) {
			t.Errorf("no row is for the entry %q", entry)
		}
	}
}

// TestKindsOfSources verifies that the help mentions each kind of source, and that a command in
// TestTraces reads one, because users need to know the contacted hosts.
func TestKindsOfSources(t *testing.T) {
	text := topicWords(t, "sources")
	prefixes := regexp.MustCompile(`[a-z0-9+]+:(//)?`).FindAllString(command.KindsOfSources, -1)
	if len(prefixes) < 4 {
		t.Errorf("kinds are %q", prefixes)
	}
	for _, prefix := range prefixes {
		if !strings.Contains(text, prefix) {
			t.Errorf("help sources does not say %s", prefix)
		}
		plain := " " + strings.Replace(prefix, "https:", "http:", 1)
		if !slices.ContainsFunc(commands(), func(c traced) bool { return strings.Contains(c.args, plain) }) {
			t.Errorf("no command of TestTraces reads%s", plain)
		}
	}
}
