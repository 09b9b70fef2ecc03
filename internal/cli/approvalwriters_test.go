package cli

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/approvers"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/state"
	"assetferry/state/enrichment"

	"github.com/hiddeco/sshsig"
	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
)

// writers lists all commands that can write to the destination, each with arguments that make it
// write.
var writers = map[string][]string{
	"apply":                         {"PLAN", "--hash", "HASH"},
	"assets category add-extension": {"Images", "tif"},
	"assets copy":                   {"--into", "Images", "--yes", "x"},
	"assets folder delete":          {"Images/a", "--yes"},
	"assets folder rename":          {"Images/a", "b"},
	"assets quality":                {"webp", "--set", "80"},
	"doctor":                        {"--probe", "--yes"},
	"enrich apply":                  {"--yes"},
	"migrate":                       {"SOURCE"},
	"permissions apply":             {"RIGHTS", "--yes"},
	"sync":                          {"SOURCE", "--delete", "trash"},
	"undo":                          {"--run", "RUN", "--apply", "--yes"},
}

// readers lists all other commands. They have no client of the destination, or one that only reads;
// for adopt, this holds only if an approval is required.
var readers = strings.Fields(`
	adopt ai-action ai-ask ai-contexts-add ai-contexts-change ai-contexts-create ai-contexts-delete ai-contexts-ls
	ai-contexts-show ai-conversations-rm ai-models ai-review ai-usage assets-categories assets-folders assets-get
	assets-image assets-ls assets-recent assets-search certificate-check certificate-create certificate-prove demo enrich-accept enrich-audit enrich-decorative enrich-describe
	enrich-documents enrich-import enrich-proposals enrich-reject enrich-review enrich-translate explain
	export init man permissions-plan plan rehearse report rewrite runs sandbox sandbox-status sandbox-stop schedule state-backup state-check
	state-compact state-forget state-log state-prune state-takeover status urls verify version`)

// The test verifies that writers and readers list every command, so that no new command is added
// without a decision about approvals. It verifies that each writer is refused before its first
// request.
func TestEachWriterNeedsApproval(t *testing.T) {
	known := slices.Clone(readers)
	for name := range writers {
		known = append(known, strings.ReplaceAll(name, " ", "-"))
	}
	var found []string
	for _, c := range allCommands(t) {
		name := strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), "assetferry "), " ", "-")
		if works(c) && c.HasParent() && !strings.HasPrefix(name, "completion") && name != "help" {
			found = append(found, name)
		}
	}
	slices.Sort(known)
	slices.Sort(found)
	if !slices.Equal(known, found) {
		t.Errorf("known are  %v\nthere are  %v", known, found)
	}

	b := newApprovalBench(t)
	dir, s := b.dir, b.service
	plan := filepath.Join(dir, "plan.jsonl")
	if code, _, stderr := b.call(b.open, "plan", filepath.Join(dir, "src"), "--output", plan); code != exit.CodeDone {
		t.Fatalf("plan: %d: %s", code, stderr)
	}
	_, runs, _ := b.call(b.open, "migrate", filepath.Join(dir, "src"), "--json")
	_, id, _ := strings.Cut(runs, `"run":"`)
	id, _, _ = strings.Cut(id, `"`)
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	_, hash, _ := strings.Cut(string(text), `"hash":"`)
	values := strings.NewReplacer("PLAN", plan, "HASH", hash[:64], "SOURCE", filepath.Join(dir, "src"), "RUN", id, "RIGHTS", b.write("rights.csv", "group,category,permissions\neditors,Images,all\n"))
	s.drain()
	for name, args := range writers {
		words := strings.Fields(name)
		for _, arg := range args {
			words = append(words, values.Replace(arg))
		}
		code, _, stderr := b.call(b.guarded, words...)
		if code != exit.CodeSafetyCheck || !strings.Contains(stderr, "destination prod requires an approval: ") {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
		for _, request := range s.drain() {
			if method, _, _ := strings.Cut(request, " "); method != "GET" && method != "HEAD" || name != "doctor" {
				t.Errorf("%s: %s", name, request)
			}
		}
	}
}

// An approvalBench is a destination that can be reached with and without approvals.
type approvalBench struct {
	testing.TB
	dir           string
	service       *service
	open, guarded string // configurations
}

func newApprovalBench(t *testing.T) *approvalBench {
	t.Helper()
	b := &approvalBench{TB: t, dir: t.TempDir(), service: startService(t, sandbox.Options{})}
	_, ada, err := approverKey("ada")
	if err != nil {
		t.Fatal(err)
	}
	list := b.write("approvers", "ada@example.com "+string(ssh.MarshalAuthorizedKey(ada.PublicKey())))
	destination := fmt.Sprintf("destinations:\n  prod:\n    url: %s\n    environment: %s\n    access_key_env: KEY\n", b.service.url, b.service.env.ID)
	b.open = b.write("open.yaml", destination)
	b.guarded = b.write("guarded.yaml", destination+"    require_approval: true\n    approvers_file: "+list+"\n")
	b.write("src/one.jpg", "one")
	return b
}

func (b *approvalBench) write(name, text string) string {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		b.Fatal(err)
	}
	return path
}

// call runs a command with a configuration, in this process.
func (b *approvalBench) call(config string, args ...string) (code int, stdout, stderr string) {
	b.Helper()
	var out, errs bytes.Buffer
	variables := map[string]string{"KEY": string(b.service.env.AccessKey), "HOME": b.dir, "XDG_STATE_HOME": b.dir + "/state", "XDG_DATA_HOME": b.dir + "/data"}
	e := command.Environment{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Signals: make(chan os.Signal),
		Lookup:     func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
		OutOfReach: func(string) error { return nil },
	}
	code = run(b.Context(), append(args, "--config", config, "--to", "prod"), e)
	return code, out.String(), errs.String()
}

// The test verifies that apply does not write proposals that another process accepts after the
// approval was verified.
func TestProposalsAcceptedMeanwhile(t *testing.T) {
	b := newApprovalBench(t)
	ctx, path, destination := t.Context(), filepath.Join(b.dir, "state.db"), b.service.env.ID+"/"+b.service.env.ID
	statePath, err := state.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	proposed := enrichment.In(statePath)
	enriching, err := proposed.BeginRun(ctx, enrichment.Run{Destination: destination, Command: "describe", Service: "ai.example.com", Model: "agent-1"})
	if err != nil {
		t.Fatal(err)
	}
	var nums []int64
	for _, asset := range []string{"a", "b"} {
		asked, err := proposed.Ask(ctx, enriching, []enrichment.Question{{Asset: asset, Kind: enrichment.KindDescribe, Language: "en", Conversation: asset}})
		if err != nil {
			t.Fatal(err)
		}
		answer := enrichment.Answer{Num: asked[0], State: enrichment.Proposed, Proposal: &enrichment.Proposal{Text: "new"}, Model: "agent-1"}
		if err := proposed.Answer(ctx, enriching.Num, []enrichment.Answer{answer}); err != nil {
			t.Fatal(err)
		}
		nums = append(nums, asked[0])
	}
	accept := func(s *state.Store, num int64) {
		if _, err := enrichment.In(s).Judge(ctx, destination, []enrichment.Verdict{{Num: num, Accepted: true}}); err != nil {
			t.Error(err)
		}
	}
	accept(statePath, nums[0])
	if err := statePath.Close(); err != nil {
		t.Fatal(err)
	}

	request := filepath.Join(b.dir, "request.json")
	if code, _, stderr := b.call(b.guarded, "enrich", "apply", "--state", path, "--approval-request", request); code != exit.CodeDone {
		t.Fatalf("request: %d: %s", code, stderr)
	}
	_, ada, err := approverKey("ada")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(request)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := sshsig.Sign(bytes.NewReader(text), ada, sshsig.HashSHA512, approvers.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	b.write("request.json.sig", string(sshsig.Armor(signature)))
	var once sync.Once
	b.service.onRequest(func(*http.Request) {
		once.Do(func() {
			other, err := state.Open(ctx, path)
			if err != nil {
				t.Error(err)
				return
			}
			accept(other, nums[1])
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		})
	})
	code, _, stderr := b.call(b.guarded, "enrich", "apply", "--state", path, "--yes", "--approval", request)
	if code == exit.CodeDone || !strings.Contains(stderr, "the accepted proposals changed during the start; nothing was sent") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// works reports whether a command does more than show its help.
func works(c *cobra.Command) bool { return c.Runnable() && (!c.HasSubCommands() || c.Use == "sandbox") }

// The test verifies that only a few functions make a client that can write, and that each of them
// checks the approval first. Therefore no other command can write.
func TestFewClientsCanWrite(t *testing.T) {
	// The position of the argument readOnly of these functions.
	opens := map[string]int{
		"OpenDestination": 1, "OpenPermitted": 1, "openEnrichment": 2, "openEnrichmentFor": 2, "openEndpoints": 6, "Connect": 2, "dial": 2,
	}
	want := map[string]string{
		"openToChange":      "OpenDestination ch.DryRun",  // approval for the arguments of its command
		"OpenDestination":   "OpenPermitted readOnly",     //
		"OpenPermitted":     "Connect readOnly",           // checks the approval
		"Connect":           "dial readOnly",              //
		"dial":              "New",                        //
		"openToAdd":         "OpenPermitted ch.DryRun",    // approval for the arguments and the table
		"openUndo":          "OpenPermitted !o.apply",     // approval for the run
		"openEndpoints":     "OpenPermitted readOnly",     // approval for the plan, or for rules and limits
		"migrateSource":     "openEndpoints false",        //
		"openEnrichment":    "openEnrichmentFor readOnly", //
		"openEnrichmentFor": "OpenPermitted readOnly",     //
		"applyProposals":    "openEnrichmentFor o.dryRun", // approval for the proposals
		"proberClient":      "New",                        // runProbe checks the approval before
	}
	found := map[string]string{}
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is {
					return true
				}
				called := types.ExprString(call.Fun)
				function := called[strings.LastIndexByte(called, '.')+1:]
				if called == "assets.New" {
					found[f.Name.Name] += "New"
				} else if at, is := opens[function]; is && at < len(call.Args) && types.ExprString(call.Args[at]) != "true" {
					found[f.Name.Name] += function + " " + types.ExprString(call.Args[at])
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, how := range found {
		if want[name] != how {
			t.Errorf("%s: %s: does it ask for an approval?", name, how)
		}
	}
	for name, how := range want {
		if found[name] == "" {
			t.Errorf("%s does not call %s any more", name, how)
		}
	}
}
