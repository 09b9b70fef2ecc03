// Package layers tests the layers of assetferry: which package may import which. Imports go
// downward only, and packages of the lowest layer do not import each other.
package layers

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed lists, for each package, which of our packages and which restricted libraries it may
// import. A package that is not listed may import none of ours.
var allowed = map[string][]string{
	"cmd/assetferry":               {"internal/cli", "internal/counts"},
	"internal/sandbox/library":     {"internal/sorting"},
	"internal/sandbox/docs":        {"internal/sorting"},
	"state/erasure":                {"internal/metadata"},
	"internal/certificate":         {"state/actionlog"},
	"internal/cli/evidencecmd":     {"migrate", "migrate/verify", "sources", "state", "state/actionlog", "internal/approvers", "internal/certificate", "internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/cli/outcome", "internal/clock", "internal/event", "internal/report", "internal/shell", "internal/ui"},
	"internal/rights":              {"state", "internal/mapping", "internal/metadata"},
	"internal/permissions":         {"internal/assets", "internal/retry", "internal/tabular"},
	"internal/cli/permissionscmd":  {"sources/ckbox", "internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/approval", "internal/assets", "internal/event", "internal/permissions", "internal/tabular", "internal/ui"},
	"internal/scan":                {"internal/retry", "internal/shell"},
	"internal/cli":                 {"state", "internal/cli/aicmd", "internal/cli/assetcmd", "internal/cli/cmdline", "internal/cli/command", "internal/cli/enrichcmd", "internal/cli/exit", "internal/cli/migratecmd", "internal/cli/sandboxcmd", "internal/cli/setupcmd", "internal/cli/statecmd", "internal/cli/urlcmd", "internal/config", "internal/flagname", "internal/manual", "internal/pattern", "internal/rclone", "internal/strictyaml", "internal/ui", "internal/wizard", "internal/cli/permissionscmd", "internal/cli/evidencecmd"},
	"internal/cli/aicmd":           {"internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/ai", "internal/anchor", "internal/clock", "internal/event", "internal/ui"},
	"internal/cli/assetcmd":        {"internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/assets", "internal/event", "internal/export", "internal/ui", "internal/sorting"},
	"internal/cli/cmdline":         {"internal/cli/exit", "internal/config", "internal/pattern", "internal/shell", "internal/ui"},
	"internal/cli/command":         {"migrate", "state", "state/disk", "state/ownership", "sources", "sources/ckbox", "sources/ckfinder", "sources/local", "sources/rclone", "sources/remote", "sources/s3", "sources/table", "sources/wordpress", "internal/cli/cmdline", "internal/cli/exit", "internal/ai", "internal/ai/aiprobe", "internal/approval", "internal/approvers", "internal/assets", "internal/clock", "internal/config", "internal/diskspace", "internal/enrich", "internal/event", "internal/export", "internal/metadata", "internal/oldurl", "internal/ratelimit", "internal/private", "internal/rclone", "internal/redact", "internal/retry", "internal/tabular", "internal/runstatus", "internal/sandbox", "internal/sandbox/aiservice", "internal/sandbox/datadir", "internal/sandbox/profile", "internal/sandbox/tokens", "internal/token", "internal/watchloop", "internal/shell", "internal/ui", "internal/outbound", "internal/wordpress", "internal/scan", "state/actionlog"},
	"internal/cli/enrichcmd":       {"migrate", "state", "state/enrichment", "internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/ai", "internal/approval", "internal/assets", "internal/clock", "internal/enrich", "internal/enrich/altpages", "internal/enrich/proposals", "internal/event", "internal/pattern", "internal/retry", "internal/tabular", "internal/ui"},
	"internal/cli/exit":            {"migrate", "state", "state/ownership", "sources", "internal/ai", "internal/assets", "internal/config", "internal/enrich", "internal/flagname", "internal/hint", "internal/ratelimit", "internal/sandbox/datadir", "internal/wordpress"},
	"internal/cli/migratecmd":      {"migrate/verify", "migrate/undo", "migrate/plan", "migrate/plan/safety", "migrate/collect", "migrate/apply", "migrate", "state", "state/enrichment", "state/ownership", "sources", "sources/ckbox", "sources/s3", "sources/table", "internal/cli/cmdline", "internal/cli/command", "internal/cli/enrichcmd", "internal/cli/exit", "internal/cli/outcome", "internal/approval", "internal/clock", "internal/config", "internal/event", "internal/export", "internal/estimate", "internal/metadata", "internal/metrics", "internal/notify", "internal/oldurl", "internal/pattern", "internal/ratelimit", "internal/rehearsal", "internal/preflight", "internal/report", "internal/retry", "internal/runstatus", "internal/sandbox/datadir", "internal/sandbox/profile", "internal/watchloop", "internal/ui", "internal/scan"},
	"internal/cli/outcome":         {"migrate", "state", "state/ownership", "sources", "internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/config", "internal/event", "internal/flagname", "internal/report", "internal/schedule", "internal/ui"},
	"internal/cli/sandboxcmd":      {"internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/clock", "internal/detach", "internal/sandbox", "internal/sandbox/aiservice", "internal/sandbox/datadir", "internal/sandbox/fault", "internal/sandbox/profile", "internal/sandbox/tokens", "internal/shell", "internal/ui"},
	"internal/cli/setupcmd":        {"migrate", "state", "sources", "sources/ckbox", "internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/cli/migratecmd", "internal/cli/outcome", "internal/ai", "internal/ai/aiprobe", "internal/assets", "internal/clock", "internal/config", "internal/demo", "internal/doctor", "internal/event", "internal/flagname", "internal/probe", "internal/profile", "internal/rclone", "internal/sandbox", "internal/schedule", "internal/token", "internal/shell", "internal/ui", "internal/wordpress"},
	"internal/cli/statecmd":        {"migrate", "sources", "state", "state/disk", "state/enrichment", "internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/cli/outcome", "internal/clock", "internal/config", "internal/event", "internal/explain", "internal/report", "internal/runstatus", "internal/ui", "internal/rights", "internal/tabular", "state/actionlog", "state/erasure"},
	"internal/cli/urlcmd":          {"migrate", "state", "internal/cli/cmdline", "internal/cli/command", "internal/cli/exit", "internal/clock", "internal/config", "internal/event", "internal/oldurl", "internal/redirect", "internal/rewrite", "internal/ui", "internal/wordpress", "internal/wordpress/blocks", "internal/wordpress/posts", "state/actionlog"},
	"migrate":                      {"sources", "state", "internal/assets", "internal/clock", "internal/flagname", "internal/mapping", "internal/metadata", "internal/retry"},
	"migrate/apply":                {"migrate", "migrate/collect", "migrate/inventory", "sources", "state", "internal/assets", "internal/clock", "internal/faultpoint", "internal/flagname", "internal/metadata", "internal/retry", "internal/scan"},
	"migrate/collect":              {"migrate", "migrate/inventory", "sources", "state", "internal/assets", "internal/mapping", "internal/metadata", "internal/retry", "internal/tabular", "internal/sorting"},
	"migrate/inventory":            {"migrate", "sources", "state", "internal/assets", "internal/metadata", "internal/retry", "internal/sorting"},
	"migrate/plan":                 {"migrate", "migrate/collect", "migrate/inventory", "migrate/plan/identical", "migrate/plan/merge", "migrate/plan/placement", "migrate/plan/safety", "sources", "state", "internal/assets", "internal/clock", "internal/faultpoint", "internal/metadata", "internal/repeat", "internal/retry", "internal/sorting"},
	"migrate/plan/merge":           {"sources"},
	"migrate/plan/identical":       {"migrate", "migrate/inventory", "sources", "state"},
	"migrate/plan/placement":       {"migrate", "migrate/collect", "sources", "internal/assets", "internal/mapping", "internal/metadata"},
	"migrate/plan/safety":          {"migrate", "sources", "state", "internal/flagname", "internal/header"},
	"migrate/undo":                 {"migrate", "migrate/apply", "migrate/collect", "migrate/inventory", "sources", "state", "internal/assets", "internal/clock", "internal/faultpoint", "internal/metadata", "internal/repeat", "internal/retry"},
	"migrate/verify":               {"migrate", "migrate/inventory", "sources", "state", "internal/assets", "internal/retry"},
	"state":                        {"sources", "internal/clock", "internal/counts", "internal/faultpoint", "internal/filelock", "internal/mount", "internal/oldurl", "state/disk", "state/ownership", "state/pagesums", "state/actionlog", "state/erasure"},
	"sources/local":                {"sources"},
	"sources/ckbox":                {"sources", "internal/assets", "internal/sorting"},
	"sources/keyindex":             {"sources"},
	"sources/memory":               {"sources"},
	"sources/s3":                   {"sources", "internal/redact", "internal/retry", "sources/remote", "internal/pattern"},
	"sources/ckfinder":             {"sources", "internal/outbound", "internal/retry", "sources/remote", "internal/sorting"},
	"internal/wordpress/posts":     {"internal/event", "internal/hint", "internal/pattern", "internal/rewrite", "internal/ui", "internal/wordpress", "internal/wordpress/blocks"},
	"internal/wordpress":           {"internal/outbound", "internal/pattern", "internal/redact", "internal/retry", "sources/remote"},
	"sources/wordpress":            {"sources", "sources/keyindex", "sources/remote", "internal/outbound", "internal/pattern", "internal/retry", "internal/wordpress"},
	"sources/sourcetest":           {"sources", "sources/memory"},
	"sources/rclone":               {"sources", "internal/hint", "internal/jsonscan", "internal/retry", "sources/keyindex", "sources/remote"},
	"sources/table":                {"sources", "internal/outbound", "internal/retry", "internal/tabular", "sources/keyindex", "sources/remote"},
	"internal/assets":              {"internal/assets/paging", "internal/jsonscan", "internal/outbound", "internal/ratelimit", "internal/redact", "internal/retry", "internal/token"},
	"internal/assets/paging":       {"internal/jsonscan", "internal/outbound"},
	"internal/ai/aiprobe":          {"internal/ai", "internal/profile"},
	"internal/enrich/altpages":     {"internal/picture", "internal/retry"},
	"internal/approval":            {"migrate", "sources", "state"},
	"internal/enrich":              {"migrate", "sources", "state", "internal/ai", "internal/assets", "internal/clock", "internal/pattern", "internal/picture", "internal/retry", "state/enrichment"},
	"internal/ui":                  {"internal/event", "internal/pattern"},
	"internal/export":              {"sources", "internal/assets", "internal/retry", "internal/sorting"},
	"internal/metadata":            {"internal/tabular", "internal/strictyaml"},
	"internal/mapping":             {"internal/metadata", "internal/strictyaml", "internal/sorting"},
	"internal/notify":              {"internal/outbound", "internal/retry"},
	"internal/ratelimit":           {"internal/retry", "internal/sorting"},
	"internal/rehearsal":           {"internal/ratelimit", "internal/retry"},
	"internal/picture":             {"internal/header", "internal/metadata", "internal/pixels"},
	"internal/ai/aitest":           {"internal/ai", "internal/retry"},
	"internal/ai":                  {"internal/outbound", "internal/ratelimit", "internal/redact", "internal/retry", "internal/ai/sse", "internal/pattern", "internal/token", "internal/sorting"},
	"internal/assets/assettest":    {"internal/assets"},
	"internal/estimate":            {"state", "internal/ratelimit", "internal/sorting"},
	"internal/preflight":           {"migrate", "state", "sources", "internal/header", "internal/repeat", "internal/ui", "internal/sorting"},
	"internal/probe":               {"internal/assets", "internal/profile", "internal/sorting"},
	"internal/enrich/proposals":    {"internal/metadata", "internal/pattern", "internal/tabular", "internal/ui"},
	"internal/oldurl/oldurltest":   {}, // for tests
	"internal/redirect":            {"migrate/verify", "internal/oldurl", "internal/tabular", "migrate", "sources", "state", "internal/assets", "internal/pattern"},
	"internal/rewrite":             {"internal/event", "internal/hint", "internal/oldurl", "internal/redirect", "internal/tabular", "internal/ui", "internal/sorting"},
	"internal/demo":                {"internal/hint", "internal/ui", "internal/sandbox", "internal/sandbox/tokens"},
	"internal/wizard":              {"internal/config", "internal/ui"},
	"internal/doctor":              {"state/disk", "state/ownership", "state", "sources", "internal/ai", "internal/assets", "internal/clock", "internal/config", "internal/diskspace", "internal/event", "internal/probe", "internal/rclone", "internal/token", "internal/ui", "internal/shell", "internal/wordpress", "internal/scan"},
	"internal/runstatus":           {"migrate", "state", "internal/clock", "internal/event", "internal/metrics", "internal/notify", "internal/report", "internal/ui"},
	"internal/explain":             {"migrate", "state", "sources", "internal/clock", "internal/config", "internal/event", "internal/flagname", "internal/mapping", "internal/metadata", "internal/oldurl", "internal/redirect", "internal/runstatus", "internal/ui"},
	"internal/schedule":            {"migrate", "state", "internal/config", "internal/hint", "internal/shell", "internal/ui"},
	"internal/wordpress/blocks":    {"internal/pattern", "internal/sorting"},
	"internal/oldurl":              {"internal/pattern"},
	"internal/anchor":              {"internal/pattern"},
	"internal/flagname":            {"internal/pattern"},
	"internal/shell":               {"internal/pattern"},
	"internal/private":             {"internal/shell"},
	"internal/rclone":              {"internal/filelock", "internal/pattern", "internal/redact", "internal/retry", "internal/sorting"},
	"state/ownership":              {"state/disk", "internal/mount", "internal/private", "internal/shell", "state/actionlog"},
	"state/enrichment":             {"state", "state/actionlog"},
	"state/pagesums":               {"state/disk"},
	"internal/report":              {"migrate", "state", "sources", "internal/assets", "internal/clock", "internal/event", "internal/flagname", "internal/pattern", "internal/retry", "internal/shell", "internal/tabular", "internal/ui", "internal/sorting"},
	"internal/token":               {"internal/outbound", "internal/retry", "internal/shell"},
	"internal/test/bench":          {"migrate", "state", "sources", "sources/local", "internal/counts"}, // for measurements, so no package imports it
	"internal/config":              {"internal/flagname", "internal/mapping", "internal/metadata", "internal/notify", "internal/ratelimit", "internal/strictyaml", "internal/token", "internal/oldurl"},
	"internal/test/faults":         {"migrate", "sources", "state"}, // for tests, so no package imports it
	"sources/remote":               {"internal/header", "internal/outbound", "internal/redact", "internal/retry"},
	"internal/sandbox":             {"internal/pixels", "internal/sandbox/contents", "internal/sandbox/datadir", "internal/sandbox/docs", "internal/sandbox/fault", "internal/sandbox/library", "internal/sandbox/naming", "internal/sandbox/problem", "internal/sandbox/profile", "internal/sandbox/records", "internal/sandbox/rendition", "internal/sandbox/shelves", "internal/sandbox/standin", "internal/sandbox/store", "internal/sandbox/tokens", "internal/sorting"},
	"internal/sandbox/profile":     {"internal/sandbox/naming", "internal/sandbox/problem", "internal/sandbox/records", "internal/sandbox/standin", "internal/sandbox/store", "internal/strictyaml"},
	"internal/sandbox/shelves":     {"internal/sandbox/contents", "internal/sandbox/library", "internal/sandbox/naming", "internal/sandbox/problem", "internal/sandbox/records", "internal/sandbox/standin", "internal/sandbox/store", "internal/sorting"},
	"internal/sandbox/contents":    {"internal/sandbox/datadir"},
	"internal/sandbox/datadir":     {"internal/filelock", "internal/mount", "internal/private"},
	"internal/sandbox/naming":      {"internal/sandbox/problem"},
	"internal/sandbox/problem":     {"internal/sandbox/standin"},
	"internal/sandbox/records":     {"internal/sandbox/naming", "internal/sandbox/problem", "internal/sandbox/rendition", "internal/sandbox/standin", "internal/sandbox/store"},
	"internal/sandbox/tokens":      {"internal/sandbox/datadir", "internal/sandbox/naming", "internal/sandbox/problem", "internal/sandbox/standin"},
	"internal/sandbox/standin":     {"internal/sandbox/fault", "internal/sorting"},
	"internal/sandbox/rendition":   {"internal/pixels"},
	"internal/sandbox/answer":      {"internal/sandbox/rendition", "internal/pattern"},
	"internal/sandbox/openapitest": {"internal/sandbox", "internal/sandbox/aiservice"},
	"internal/sandbox/sandboxtest": {"internal/sandbox", "internal/sandbox/openapitest", "internal/sandbox/profile", "internal/sandbox/tokens"},

	"internal/sandbox/aiservice":               {"internal/filelock", "internal/pattern", "internal/sandbox/answer", "internal/sandbox/docs", "internal/sandbox/fault", "internal/sandbox/standin", "internal/sandbox/datadir", "internal/sandbox/profile", "internal/sandbox/tokens"},
	"internal/sandbox/aiservice/aiservicetest": {"internal/sandbox/aiservice", "internal/sandbox/openapitest", "internal/sandbox/sandboxtest", "internal/sandbox/tokens"},

	"internal/outbound/hostiletest":  {"internal/outbound", "internal/test/longtest"}, // for tests
	"internal/schedule/scheduletest": {},                                              // for tests
}

// only lists the libraries that few packages may import, and why.
var only = []struct{ library, owner, why string }{
	{"database/sql", "state, internal/counts, internal/sandbox, internal/sandbox/records, internal/sandbox/shelves, internal/sandbox/store, internal/sandbox/aiservice, state/actionlog, state/erasure, state/ownership, state/enrichment", "SQL stays in the state database and in the sandbox's own storage"},
	{"net/http", "internal/ai, internal/ai/aiprobe, internal/assets, internal/assets/assettest, internal/test/bench, internal/test/faults, internal/notify, internal/outbound, internal/outbound/hostiletest, internal/probe, internal/sandbox, internal/sandbox/aiservice, internal/sandbox/fault, internal/sandbox/library, internal/sandbox/naming, internal/sandbox/profile, internal/sandbox/records, internal/sandbox/standin, internal/sandbox/tokens, internal/sandbox/openapitest, internal/sandbox/sandboxtest, internal/retry, sources/remote, internal/token, internal/cli/assetcmd, internal/cli/command, internal/cli/setupcmd, sources/ckfinder, sources/ckfinder/ckfindertest, internal/wordpress, sources/wordpress, sources/wordpress/wordpresstest, sources/rclone, sources/s3, sources/s3/s3test, sources/table, internal/redirect, internal/rclone, internal/rclone/rclonetest, internal/demo, internal/doctor", "the engine knows no HTTP"},
	{"github.com/golang-jwt/jwt/v5", "internal/token", "the sandbox verifies with code of its own"},
	{"github.com/schollz/progressbar/v3", "internal/ui", "one owner of the terminal"},
	{"github.com/santhosh-tekuri/jsonschema/v6", "internal/sandbox/openapitest", "what holds answers against the description stays in tests"},
	{"github.com/prometheus/client_golang/prometheus/testutil/promlint", "nothing", "a file of text needs no library, and only tests hold it against one"},
	{"github.com/fsnotify/fsnotify", "internal/watchloop", "what the system tells of changes is a hint, and only that package takes it for one"},
	{"github.com/expr-lang/expr", "internal/mapping", "one place says what expressions may do"},
	{"golang.org/x/net/html", "internal/enrich/altpages, internal/anchor, internal/sandbox/answer", "elsewhere HTML is searched for URLs, not understood"},
	{"github.com/hiddeco/sshsig", "internal/approvers, internal/cli", "signatures of approvers are verified in one place; tests make some"},
	{"github.com/secure-systems-lab/go-securesystemslib/dsse", "internal/certificate", "one place signs certificates and verifies them"},
	{"golang.org/x/mod/sumdb/tlog", "internal/certificate", "one place calculates the tree of a certificate"},
	{"github.com/spf13/cobra", "internal/cli, internal/cli/aicmd, internal/cli/assetcmd, internal/cli/cmdline, internal/cli/command, internal/cli/enrichcmd, internal/cli/migratecmd, internal/cli/outcome, internal/cli/permissionscmd, internal/cli/evidencecmd, internal/cli/sandboxcmd, internal/cli/setupcmd, internal/cli/statecmd, internal/cli/urlcmd, internal/manual", "flags stay in the command"},
}

type listed struct {
	ImportPath   string
	Name         string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

const module = "assetferry/"

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		seen[name] = true
		for _, path := range p.Imports {
			if ours, ok := strings.CutPrefix(path, module); ok && !slices.Contains(allowed[name], ours) {
				t.Errorf("%s imports %s: that arrow is not allowed", name, ours)
			} else if ok && isAdapter(ours) && !mayChoose(name) {
				t.Errorf("%s imports %s: only the command line chooses a source", name, ours)
			}
			for _, o := range only {
				if path == o.library && !slices.Contains(strings.Split(o.owner, ", "), name) {
					t.Errorf("%s imports %s, which belongs to %s: %s", name, path, o.owner, o.why)
				}
			}
		}
	}
	for name := range allowed {
		if !seen[name] {
			t.Errorf("%s is listed here and does not exist any more", name)
		}
	}
}

// isAdapter reports whether a package is a kind of source.
func isAdapter(name string) bool {
	kind, ok := strings.CutPrefix(name, "sources/")
	return ok && !slices.Contains([]string{"remote", "memory", "sourcetest"}, kind)
}

// mayChoose reports whether a package may know kinds of sources by their names.
func mayChoose(name string) bool {
	return name == "internal/cli" || strings.HasPrefix(name, "internal/cli/") || name == "internal/test/bench" || strings.HasPrefix(name, "sources/")
}

// TestOnlyTestsHookTheStore verifies that only tests use the hook that makes a store fail.
func TestOnlyTestsHookTheStore(t *testing.T) {
	root := os.DirFS("../../..")
	err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/test/") {
			return err
		}
		code, err := fs.ReadFile(root, path)
		if strings.Contains(string(code), ".SetHook(") {
			t.Errorf("%s calls SetHook of a store, which only tests may", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoCatchAllPackages(t *testing.T) {
	for _, p := range packages(t) {
		for _, bad := range []string{"util", "utils", "common", "helpers", "types", "models"} {
			if p.Name == bad {
				t.Errorf("%s: a package is named for what it does, not %q", p.ImportPath, bad)
			}
		}
	}
}

// TestAllTestsLookForLeaks verifies that the TestMain of every package checks for goroutine leaks
// at the end, which no other check finds.
func TestAllTestsLookForLeaks(t *testing.T) {
	checked := 0
	for _, p := range packages(t) {
		imports := slices.Concat(p.TestImports, p.XTestImports)
		if len(imports) == 0 {
			continue // it has no tests
		}
		if checked++; !slices.Contains(imports, "go.uber.org/goleak") {
			t.Errorf("%s: its TestMain does not call goleak", p.ImportPath)
		}
	}
	t.Logf("the tests of %d packages look for leaked goroutines", checked)
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Imports,TestImports,XTestImports", "assetferry/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
