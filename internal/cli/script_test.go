package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/tokens"
	"assetferry/sources/ckfinder/ckfindertest"
	"assetferry/sources/wordpress/wordpresstest"
	"assetferry/state"
	"assetferry/state/ownership"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what commands print into the scripts")

// TestScripts runs the scripts, one for each feature, with real processes. Rules for all commands
// are checked at every call: see checkCall.
func TestScripts(t *testing.T) {
	if err := shipped(); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Values[benchKey{}] = &bench{}
			e.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise processes with the race detector wait a second at their end
			e.Setenv("NOON", noonZone())
			e.Setenv("HOOKED", hookedDir)
			e.Setenv("LOOPBACK", quietLoopback(2))
			e.Setenv("ACCOUNT", ownership.OSAccountName())
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "home", "state"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "home", "data"))
			return os.Mkdir(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ferry":     cmdFerry,
			"printed":   cmdPrinted,
			"capture":   cmdCapture,
			"approver":  cmdApprover,
			"sign":      cmdSign,
			"expand":    cmdExpand,
			"service":   cmdService,
			"bucket":    cmdBucket,
			"connector": cmdConnector,
			"wordpress": cmdWordPress,
			"stored":    cmdStored,
			"versioned": cmdVersioned,
			"revisions": cmdRevisions,
			"web":       cmdWeb,
			"addressed": cmdAddressed,
			"stats":     cmdStats,
			"methods":   cmdMethods,
			"processed": cmdProcessed,
			"tree":      cmdTree,
			"trash":     cmdTrash,
			"lock":      cmdLock,
			"upload":    cmdUpload,
			"spoil":     cmdSpoil,
			"make":      cmdMake,
			"many":      cmdMany,
			"aged":      cmdAged,
			"scrub":     cmdScrub,
			"mode":      cmdMode,
			"files":     cmdFiles,
			"hold":      cmdHold,
			"halve":     cmdHalve,
			"empty":     cmdEmpty,
			"touched":   cmdTouched,
			"newer":     cmdNewer,
			"token":     cmdToken,
			"named":     cmdNamed,
			"patch":     cmdPatch,
			"edit":      cmdEdit,
			"bare":      cmdBare,
			"words":     cmdWords,
			"billed":    cmdBilled,
			"found":     cmdFound,

			"diagnosis":        cmdDiagnosis,
			"id":               cmdID,
			"duplicate-folder": cmdDuplicateFolder,
			"picture":          cmdPicture,
			"size":             cmdSize,
			"shot":             cmdShot,
		},
	})
}

// cmdFerry runs assetferry and verifies its exit code:
//
//	ferry 0 plan src --json
func cmdFerry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: ferry code args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code, err := exitCode(ts.Exec("assetferry", args[1:]...))
	ts.Check(err)
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
	ts.Check(checkListed(args[1:], code))
	if len(args) > 1 && !slices.Contains([]string{"help", "sandbox", "completion", "__complete"}, args[1]) {
		// stdout is no terminal here, so these commands write JSON.
		json := slices.Contains(args, "--json") || args[1] == "assets" && !slices.ContainsFunc(args, func(a string) bool { return a == "--table" || a == "-" || strings.HasPrefix(a, "--help") })
		c := call{args[1], json, code, ts.ReadFile("stdout"), ts.ReadFile("stderr")}
		ts.Check(c.check())
	}
}

// cmdPrinted runs a command from the output of the last one, the first group of a pattern, and
// verifies its exit code:
//
//	printed 0 'Try: (.*)$'
//
// More arguments are added to the command, such as --yes for a confirmation.
func cmdPrinted(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	if found == nil {
		ts.Fatalf("nothing like that was printed")
	}
	code, err := exitCode(ts.Exec("sh", "-c", strings.Join(append(found[1:2], args[2:]...), " ")))
	ts.Check(err)
	if code != want {
		ts.Fatalf("%s: exit code %d, want %d", found[1], code, want)
	}
}

// cmdCapture sets a variable to the first group of a pattern in stdout or stderr of the last
// command:
//
//	capture HASH 'Plan hash (.*)$'
func cmdCapture(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	if found == nil {
		ts.Fatalf("nothing like that was printed")
	}
	ts.Setenv(args[0], found[1])
}

func exitCode(err error) (int, error) {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode(), nil
	}
	return 0, err
}

// A call is the result of a command.
type call struct {
	command        string
	json           bool
	code           int
	stdout, stderr string
}

// anyToken matches the start of a token and of each part with content. Random IDs may begin alike,
// but are shorter.
var anyToken = regexp.MustCompile(`eyJ[\w-]{10}`)

// check verifies the rules for every call of a command.
func (c call) check() error {
	hasError := strings.Contains(c.stderr, "assetferry: ")
	switch {
	case anyToken.MatchString(c.stdout + c.stderr):
		return errors.New("there is a token in the output")
	case strings.Contains(c.stdout, "assetferry: "):
		return errors.New("an error on stdout")
	case slices.Contains([]int{exit.CodeError, exit.CodeUsage, exit.CodeSafetyCheck, exit.CodeNoSuch, exit.CodeInUse, exit.CodeAuth, exit.CodeInterrupted}, c.code) && !hasError:
		return fmt.Errorf("exit code %d, and stderr does not say why", c.code)
	case slices.Contains([]int{exit.CodeDone, exit.CodeDifference, exit.CodeChanges}, c.code) && hasError:
		return fmt.Errorf("exit code %d, and stderr tells an error", c.code)
	case c.code == exit.CodeUsage && !strings.Contains(c.stderr, "\nTry: "):
		return errors.New("a usage error without a way out")
	case c.json:
		return c.checkJSON()
	case c.code == exit.CodeUsage && c.stdout != "":
		return errors.New("a usage error, and something on stdout")
	}
	return nil
}

// fieldsOf returns the fields that every line of a type has.
func fieldsOf(kind string) []string {
	return map[string][]string{
		"plan":           {"key", "action", "reason", "category", "folder", "name", "size"},
		"item":           {"key", "action", "state"},
		"check":          {"key", "result"},
		"progress":       {"phase", "items", "bytes", "done"},
		"unassigned":     {"key", "size"},
		"forgotten":      {"source", "destination", "state", "objects", "keys", "assets", "upload_records", "items", "proposals"},
		"wave":           {"wave", "source", "stage", "objects", "bytes", "verified"},
		"error":          {"class", "message", "hint"},
		"conflict":       {"key", "field", "values"},
		"asset":          {"id", "name", "size", "category_id", "url"},
		"redirect":       {"old", "new", "key", "asset_id", "size", "verified"},
		"change":         {"file", "line", "old", "new"},
		"unmatched_url":  {"url", "file", "line", "times"},
		"unused":         {"name", "url"},
		"kept_reference": {"file", "name", "reason"},
		"unreached":      {"file", "reason"},
		"mapping":        {"key", "folder", "name"},

		"model":        {"id", "name", "provider", "allowed", "recommended"},
		"usage":        {"from", "to", "credits"},
		"conversation": {"id", "title", "pinned"},
		"answer":       {"text", "sources"},
		"suggestion":   {"element", "text"},
		"context":      {"name"},
		"audit":        {"assets", "images", "findings", "languages"},
		"finding":      {"asset_id", "path", "findings"},
		"estimate":     {"service", "kind", "assets", "requests", "seconds", "bytes", "excluded"},
		"selection":    {"asset_id", "path", "selected"},
		"enrichment":   {"asset_id", "kind", "state"},
		"proposal":     {"id", "asset_id", "name", "category", "folder", "kind", "state", "old_description", "old_tags", "description", "tags", "decorative", "requests"},
		"decisions":    {"accepted", "rejected", "decorative", "undecided", "obsolete"},
		"page":         {"file", "state", "images", "described"},
		"category":     {"id", "name", "extensions", "assets", "private"},
		"folder":       {"id", "name", "path", "category_id", "assets"},
		"quality":      {"format", "quality"},
		"group":        {"name", "state"},
		"permission":   {"group", "category", "permissions", "state"},
		"log_entry":    {"number", "recorded_at", "kind", "account", "host", "tool_version", "command", "previous_sha256", "sha256"},
		"log_head":     {"entries", "sha256"},
		"certificate":  {"file", "created_at", "complete", "verdict", "source", "destination", "assets", "bytes", "merkle_root_sha256", "signer", "list"},
		"inclusion":    {"key", "asset_id", "url", "size", "sha256", "number", "assets", "path_sha256", "merkle_root_sha256"},
		"summary":      {"run", "command", "source", "destination", "actions", "states", "bytes", "seconds", "exit"},
	}[kind]
}

// checkJSON verifies that stdout is JSON Lines of the documented form, and that the last line of a
// run is its summary, with the exit code of the process.
func (c call) checkJSON() error {
	var last map[string]any
	for line := range strings.Lines(c.stdout) {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			return fmt.Errorf("%w: %q", err, line)
		}
		at, _ := last["time"].(string)
		if t, err := time.Parse(time.RFC3339, at); err != nil || t.Location() != time.UTC || last["version"] != 1.0 {
			return fmt.Errorf("version or time of %s", line)
		}
		kind, _ := last["type"].(string)
		if fieldsOf(kind) == nil {
			return fmt.Errorf("unknown type: %s", line)
		}
		for _, f := range fieldsOf(kind) {
			if _, ok := last[f]; !ok {
				return fmt.Errorf("%s is missing: %s", f, line)
			}
		}
	}
	switch {
	case c.code == exit.CodeUsage && last["type"] == "error":
		return nil // there was no run
	case last["type"] == "mapping", c.command == "status", c.command == "runs", c.command == "report", c.command == "explain", c.command == "state", c.command == "certificate", c.command == "assets", c.command == "ai":
		return nil // these commands have no run
	case last["type"] != "summary" || last["exit"] != float64(c.code):
		return fmt.Errorf("the last line is no summary with exit %d: %v", c.code, last)
	}
	return nil
}

// A bench is the environment of a script besides files and processes.
type bench struct {
	service   *service
	words     *wordService
	bucket    *bucket                 // started last
	connector *ckfindertest.Connector // started last
	site      *wordpresstest.Site     // started last
	statePath *state.Store            // opened by the test
}

type benchKey struct{}

func benchOf(ts *testscript.TestScript) *bench { return ts.Value(benchKey{}).(*bench) }

// serviceOf returns the service that the script started last.
func serviceOf(ts *testscript.TestScript) *service {
	s := benchOf(ts).service
	if s == nil {
		ts.Fatalf("there is no service yet")
	}
	return s
}

// cmdService starts a service with its own environment in place of the last one, and points the
// script at it. With the same directory it is the same service at another URL:
//
//	service [-skew 2h] [-fault RULE]... [-dir DIR] [-storage BYTES] [-tls FILE] [-profile FILE]
//
// -tls makes it use TLS and writes its certificate to the file.
func cmdService(ts *testscript.TestScript, _ bool, args []string) {
	var o sandbox.Options
	f := flag.NewFlagSet("service", flag.ContinueOnError)
	f.DurationVar(&o.ClockSkew, "skew", 0, "")
	f.StringVar(&o.Dir, "dir", "", "")
	f.Int64Var(&o.Limits.MaxStorageInBytes, "storage", 0, "")
	tls := f.String("tls", "", "")
	f.Func("profile", "", func(name string) (err error) {
		o.Profile, err = command.ReadProfile("-profile", ts.MkAbs(name))
		return err
	})
	f.Func("fault", "", func(text string) error {
		rule, err := fault.Parse(text)
		o.Faults = append(o.Faults, rule)
		return err
	})
	ts.Check(f.Parse(args))
	b := benchOf(ts)
	if b.service != nil {
		ts.Check(b.service.close())
	}
	c := tokens.NewCredentials()
	if o.Dir != "" {
		o.Dir = ts.MkAbs(o.Dir)
		var err error
		c, err = tokens.LoadOrCreateCredentials(o.Dir)
		ts.Check(err)
	}
	o.Environments = []tokens.Environment{{ID: c.EnvironmentID, AccessKey: c.AccessKey}}
	start := (*httptest.Server).Start
	if *tls != "" {
		start = func(server *httptest.Server) {
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // for clients that do not trust the certificate
			server.StartTLS()
		}
	}
	s, err := serveWith(o, start)
	ts.Check(err)
	if *tls != "" {
		cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
		ts.Check(os.WriteFile(ts.MkAbs(*tls), cert, 0o600))
	}
	ts.Defer(func() { ts.Check(s.close()) })
	for _, v := range s.variables() {
		name, value, _ := strings.Cut(v, "=")
		ts.Setenv(name, value)
	}
	b.service = s
}

// cmdStats prints the request counters of the sandbox: method, route, status, number.
func cmdStats(ts *testscript.TestScript, _ bool, _ []string) {
	lines, err := serviceOf(ts).answers()
	ts.Check(err)
	for _, l := range lines {
		fmt.Fprintln(ts.Stdout(), l)
	}
}

// cmdMethods prints the methods of the requests since its last call.
func cmdMethods(ts *testscript.TestScript, _ bool, _ []string) {
	methods := map[string]bool{}
	for _, r := range serviceOf(ts).drain() {
		method, _, _ := strings.Cut(r, " ")
		methods[method] = true
	}
	fmt.Fprintln(ts.Stdout(), strings.Join(slices.Sorted(maps.Keys(methods)), " "))
}

// cmdProcessed waits until the service has processed all images, which it does after its answers.
func cmdProcessed(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(serviceOf(ts).processed(context.Background()))
}

// cmdTree prints the assets at the service: path, size, checksum.
func cmdTree(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Stdout() // output may be empty
	all, err := serviceOf(ts).assets()
	ts.Check(err)
	for _, a := range all {
		fmt.Fprintf(ts.Stdout(), "%s %d %.6x\n", a.place(), len(a.content), sha256.Sum256(a.content))
	}
}

// cmdLock makes a category private, or public with "!": lock CATEGORY. Files of private categories
// are delivered only to clients with the cookie.
func cmdLock(ts *testscript.TestScript, neg bool, args []string) {
	s := serviceOf(ts)
	ts.Check(s.setPrivate(args[0], !neg))
	if neg {
		return
	}
	s.wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/file") || strings.Contains(r.URL.Path, "/images/") {
				r.Header.Del("Authorization")
			}
			next.ServeHTTP(w, r)
		})
	})
}

// cmdTrash trashes the asset at a path.
func cmdTrash(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(serviceOf(ts).trash(args[0]))
}

// cmdUpload uploads an asset into a category: upload CATEGORY NAME FILE
func cmdUpload(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(serviceOf(ts).upload(args[0], args[1], []byte(ts.ReadFile(args[2]))))
}

// cmdSpoil changes a byte in the stored content of a service with a directory: spoil DIR TEXT
func cmdSpoil(ts *testscript.TestScript, _ bool, args []string) {
	spoiled := 0
	ts.Check(filepath.WalkDir(filepath.Join(ts.MkAbs(args[0]), "content"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(content)) != args[1] {
			return err
		}
		content[0] ^= 1
		spoiled++
		return os.WriteFile(path, content, 0o600)
	}))
	if spoiled != 1 {
		ts.Fatalf("%d files hold %q", spoiled, args[1])
	}
}

// cmdMake writes a file. Its name may contain Go escapes: make NAME TEXT
func cmdMake(ts *testscript.TestScript, _ bool, args []string) {
	name, err := strconv.Unquote(`"` + args[0] + `"`)
	ts.Check(err)
	path := ts.MkAbs(name)
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	ts.Check(os.WriteFile(path, []byte(args[1]+"\n"), 0o600))
}

// cmdMany writes N small files: many DIR N
func cmdMany(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	for i := range n {
		ts.Check(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.txt", i)), []byte(strconv.Itoa(i)), 0o600))
	}
}

// cmdAged sets the age of a file: aged FILE DURATION
func cmdAged(ts *testscript.TestScript, _ bool, args []string) {
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	at := time.Now().Add(-d)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), at, at))
}

// cmdEmpty truncates a file to 0 bytes: empty FILE
func cmdEmpty(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.Truncate(ts.MkAbs(args[0]), 0))
}

// cmdTouched makes the files of a state database look as if they were changed long after it was
// closed: touched FILE
func cmdTouched(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0]) + ".lock"
	mark, err := os.ReadFile(path)
	ts.Check(err)
	words := strings.Fields(string(mark)) // the fifth word is the time of the last heartbeat
	at, err := strconv.ParseInt(words[4], 10, 64)
	ts.Check(err)
	aged := strings.Replace(string(mark), words[4], fmt.Sprintf("%019d", at-time.Minute.Milliseconds()), 1)
	text := strings.TrimSuffix(aged, " "+words[7]+"\n") // the last word is the checksum of the others
	sealed := fmt.Sprintf("%s %08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
	ts.Check(os.WriteFile(path, []byte(sealed), 0o600))
}

// Patterns of text that differs between runs. Text that is always present is replaced by text of
// the same width.
var (
	runID    = regexp.MustCompile(`\b\d{8}-\d{4}-[a-z0-9]{5}\b`)
	dateTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b`)
	duration = regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)?(ms|s)\b`)
	rates    = regexp.MustCompile(`, [\d.,]+( [kMG]?B)?/s\b`) // printed for runs of at least one second
	underway = regexp.MustCompile(`(?m)^.*, ETA [\w.]+\n`)    // printed for runs of at least ten seconds
	exactly  = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	planHash = regexp.MustCompile(`(?i)(plan hash |"hash":")[0-9a-f]{64}\b`)
	assetID  = regexp.MustCompile(`(\(asset |/assets/|  Asset +)[\w-]{12}`)
	requests = regexp.MustCompile(`(?m)^Estimate: [\d,]+ requests`)
)

// cmdScrub prints stdout or stderr of the last command without text that differs between runs.
func cmdScrub(ts *testscript.TestScript, _ bool, args []string) {
	fmt.Fprint(ts.Stdout(), scrub(ts, ts.ReadFile(args[0])))
}

func scrub(ts *testscript.TestScript, text string) string {
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	if s := benchOf(ts).service; s != nil {
		text = strings.ReplaceAll(text, s.url, "$URL")
		text = strings.ReplaceAll(text, s.env.ID, "$ENVIRONMENT")
	}
	text = runID.ReplaceAllString(text, "YYYYMMDD-hhmm-xxxxx")
	text = dateTime.ReplaceAllString(text, "YYYY-MM-DD hh:mm:ss")
	text = underway.ReplaceAllString(text, "")
	text = rates.ReplaceAllString(text, "")
	text = duration.ReplaceAllString(text, "0.0s")
	text = exactly.ReplaceAllString(text, "YYYY-MM-DDThh:mm:ssZ")
	text = planHash.ReplaceAllString(text, "${1}HASH")
	text = requests.ReplaceAllString(text, "Estimate: N requests")
	return assetID.ReplaceAllString(text, "${1}ID")
}

// cmdMode verifies the permissions of a file: mode 0600 FILE
func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("mode of %s is %s, want %s", args[1], got, args[0])
	}
}

// cmdFiles prints the checksum of every file in the work directory, except below the given folders.
func cmdFiles(ts *testscript.TestScript, _ bool, except []string) {
	work := ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		name, rerr := filepath.Rel(work, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil || rerr != nil:
			return errors.Join(err, rerr)
		case d.IsDir() && (name == ".tmp" || slices.Contains(except, name)):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(ts.Stdout(), "%.6x %s\n", sha256.Sum256(content), name)
		return err
	}))
}

// cmdHold opens a state database like another process, or closes it:
//
//	hold FILE
//	! hold
func cmdHold(ts *testscript.TestScript, letGo bool, args []string) {
	b := benchOf(ts)
	if letGo {
		ts.Check(b.statePath.Close())
		return
	}
	var err error
	b.statePath, err = state.Open(context.Background(), ts.MkAbs(args[0]))
	ts.Check(err)
}

// cmdHalve truncates a file to its first half.
func cmdHalve(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, info.Size()/2))
}

// cmdEdit replaces the first occurrence of a text in a file: edit FILE OLD NEW
func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
}
