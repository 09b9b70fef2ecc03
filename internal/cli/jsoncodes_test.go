package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/doctor"
	"assetferry/internal/preflight"
	"assetferry/internal/redirect"
	"assetferry/internal/report"
	"assetferry/internal/rewrite"
	"assetferry/internal/wordpress/blocks"
	"assetferry/internal/wordpress/posts"
	"assetferry/migrate"
)

// jsonTopic is the topic that lists the codes.
const jsonTopic = "help/json.txt"

// A codeList is a list of codes in the topic.
type codeList struct {
	title string
	codes []string
	least int // fewer codes mean that the test no longer finds them
}

// codeLists returns the codes of the program, read from its tables and constants.
func codeLists(t *testing.T) []codeList {
	t.Helper()
	omitted := []string{}
	for _, o := range redirect.OmissionReasons() {
		omitted = append(omitted, o.Reason)
	}
	kept := append(slices.DeleteFunc(slices.Clone(omitted), func(code string) bool {
		return slices.Contains([]string{redirect.LeftTooLong, redirect.LeftQuery, redirect.LeftHost, redirect.LeftCharacters, redirect.LeftNotHTTPS, redirect.LeftTaken}, code)
	}), rewrite.WrongLength, rewrite.TooLong)
	return []codeList{
		{"action", append(constants(t, "state", "Action"), "copy"), 10},
		{"state of item", constants(t, "state", "ItemState"), 12},
		{"run_state", constants(t, "state", "RunState"), 6},
		{"outcomes and report --only", report.States(), 20},
		{"phase", phases(t), 12},
		{"result of verify, urls --check, state check and certificate check", []string{"difference", "note"}, 2},
		{"field of verify, urls --check and certificate check", verifiedFields(t), 8},
		{"result of doctor", []string{doctor.OK, doctor.Warning, doctor.Failed, doctor.Unchecked}, 4},
		{"check of doctor", doctorChecks(t), 15},
		{"result of plan", constants(t, "internal/preflight", "Severity"), 4},
		{"check of plan", planChecks(t), 30},
		{"kind of redirect", constants(t, "internal/oldurl", "Kind"), 5},
		{"omitted of urls", omitted, 6},
		{"kept of rewrite", kept, 5},
		{"ids_kept of rewrite, reason of kept_reference", []string{blocks.Unbalanced, blocks.Invalid, blocks.Foreign, blocks.Mixed, blocks.Gallery, blocks.ByID}, 6},
		{"unreached of rewrite, reason of unreached", posts.Unreachable(), 10},
		{"local_ids of rewrite", posts.LocalKinds(), 3},
		{"metadata_source", constants(t, "internal/metadata", "Source"), 6},
		{"findings of audit", constants(t, "internal/enrich", "Finding"), 5},
		{"reason of selection", constants(t, "internal/enrich", "Reason"), 10},
		{"reason of permission", constants(t, "internal/permissions", "Reason"), 4},
		{"state of proposal", constants(t, "state/enrichment", "State"), 11},
		{"kind of log_entry", constants(t, "state/actionlog", "Kind"), 10},
		{"class of enrichment", constants(t, "internal/retry", "Class"), 4},
	}
}

// sourceFiles parses the files of a package, its tests aside.
func sourceFiles(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// literal returns the value of a string literal, or "" for any other expression.
func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		if text, err := strconv.Unquote(l.Value); err == nil {
			return text
		}
	}
	return ""
}

// constants returns the values of the constants of a string type, in the order of the source.
func constants(t *testing.T, dir, typeName string) (values []string) {
	t.Helper()
	for _, file := range sourceFiles(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if named, ok := spec.Type.(*ast.Ident); ok && named.Name == typeName {
				for _, v := range spec.Values {
					if code := literal(v); code != "" {
						values = append(values, code)
					}
				}
			}
			return true
		})
	}
	return values
}

// keyed returns the values of string fields in the composite literals of a package. Each result has
// all of the fields.
func keyed(t *testing.T, dir string, fields ...string) (found [][]string) {
	t.Helper()
	for _, file := range sourceFiles(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			c, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			values := map[string]string{}
			for _, e := range c.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if key, ok := kv.Key.(*ast.Ident); ok {
						values[key.Name] = literal(kv.Value)
					}
				}
			}
			var row []string
			for _, f := range fields {
				if values[f] != "" {
					row = append(row, values[f])
				}
			}
			if len(row) == len(fields) {
				found = append(found, row)
			}
			return true
		})
	}
	return found
}

// arguments returns what a pattern captures in the files of a package.
func arguments(t *testing.T, dir, pattern string) (found []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
	}
	return found
}

// distinct returns values once each, in their order.
func distinct(values []string) (once []string) {
	for _, v := range values {
		if !slices.Contains(once, v) {
			once = append(once, v)
		}
	}
	return once
}

// phases returns the codes of the phases: their texts with underscores.
func phases(t *testing.T) []string {
	t.Helper()
	texts := constants(t, "migrate", "Phase")
	texts = append(texts, arguments(t, "internal/enrich", `Observer\.Phase\("([^"]+)"`)...)
	texts = append(texts, arguments(t, "internal/redirect", `\.Phase\("([^"]+)"`)...)
	for _, dir := range []string{"enrichcmd", "migratecmd", "urlcmd"} {
		texts = append(texts, arguments(t, "internal/cli/"+dir, `StartPhase\("([^"]+)"`)...)
	}
	for i, text := range texts {
		texts[i] = strings.ToLower(strings.ReplaceAll(text, " ", "_"))
	}
	return distinct(texts)
}

// verifiedFields returns the fields in which an asset can differ.
func verifiedFields(t *testing.T) []string {
	t.Helper()
	var fields []string
	for _, dir := range []string{"migrate/verify", "internal/redirect"} {
		fields = append(fields, arguments(t, dir, `(?:tell|report|found|differs)\((?:l, )?"([a-z_]+)"`)...)
		fields = append(fields, arguments(t, dir, `\bField: +"([a-z_]+)"`)...)
	}
	fields = append(fields, arguments(t, "migrate", `\bField[A-Z]\w+ += "([a-z_]+)"`)...)
	return distinct(fields)
}

// doctorChecks returns the names of all checks of doctor and doctor --probe.
func doctorChecks(t *testing.T) (names []string) {
	t.Helper()
	all := doctor.Doctor{Settings: &config.Settings{AIURL: "?", Destinations: map[string]config.Named{"x": {RequireApproval: true}}}}
	for _, c := range all.Checks() {
		names = append(names, c.Name)
	}
	return append(names, arguments(t, "internal/cli/setupcmd", `d\.saveProfile\([^"]*"([^"]+)"`)...)
}

// planChecks returns the names of all findings in a plan.
func planChecks(t *testing.T) (names []string) {
	t.Helper()
	for _, row := range keyed(t, "internal/preflight", "id") {
		names = append(names, row[0])
	}
	for _, r := range migrate.Reasons() {
		if preflight.Covers(string(r)) {
			names = append(names, string(r))
		}
	}
	names = append(names, arguments(t, "internal/preflight", `newSum\("([^"]+)"`)...)
	names = append(names, arguments(t, "internal/preflight", `const active\w+ = "([^"]+)"`)...)
	return distinct(slices.Sorted(slices.Values(names)))
}

// codeText is the end of the topic: all codes of the program.
func codeText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "Codes\n")
	for _, l := range codeLists(t) {
		if len(l.codes) < l.least {
			t.Errorf("%s: only %d codes were found: %v", l.title, len(l.codes), l.codes)
		}
		for _, code := range l.codes {
			if !regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`).MatchString(code) {
				t.Errorf("%s: %q is not a code", l.title, code)
			}
		}
		fmt.Fprintf(&b, "\n%s\n%s", l.title, wrapped("    ", strings.Join(l.codes, ", ")))
	}
	fmt.Fprintf(&b, "\nreason, with its message\n")
	if n := len(migrate.Reasons()); n < 70 {
		t.Errorf("only %d reasons were found", n)
	}
	for _, r := range migrate.Reasons() {
		fmt.Fprintf(&b, "    %s\n%s", r, wrapped("               ", r.Text()))
	}
	return b.String()
}

// wrapped breaks a text into indented lines of at most 80 characters.
func wrapped(indent, text string) string {
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent && len([]rune(line))+1+len([]rune(word)) > 80 {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// TestJSONTopicListsCodes verifies that the topic lists the codes of the program. After a change of
// codes or messages, -update writes the list.
func TestJSONTopicListsCodes(t *testing.T) {
	text, err := os.ReadFile(jsonTopic)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "\n\nCodes\n")
	if !ok {
		t.Fatal("the topic has no codes")
	}
	listed, after, ok := strings.Cut(rest, "\n\nExamples\n")
	if !ok {
		t.Fatal("the topic has no examples behind the codes")
	}
	want := strings.TrimSuffix(codeText(t), "\n")
	if got := "Codes\n" + listed; got == want {
		return
	} else if !*update {
		t.Errorf("the list of codes is out of date: run this test with -update, and mind that codes are a promise.\ngot:\n%s\nwant:\n%s", got, want)
		return
	}
	if err := os.WriteFile(jsonTopic, []byte(before+"\n\n"+want+"\n\nExamples\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestErrorClassesAreCodes verifies the form of the classes of errors. TestClassesAreDocumented
// compares them with the topic.
func TestErrorClassesAreCodes(t *testing.T) {
	for code, class := range exit.Classes {
		if strings.ContainsAny(class, "- ") {
			t.Errorf("the class of exit code %d is %q", code, class)
		}
	}
}
