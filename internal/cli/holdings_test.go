package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assetferry/internal/test/holdings"
)

// topicWords returns the text of a help topic with normalised white space.
func topicWords(t *testing.T, name string) string {
	t.Helper()
	text, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// The test verifies that the help names every kind of data in the state database.
func TestHelpNamesWhatTheStateHolds(t *testing.T) {
	for _, topic := range []string{"security", "state"} {
		text := strings.ToLower(topicWords(t, topic))
		for _, h := range holdings.Kinds() {
			if !strings.Contains(text, strings.ToLower(h.Text)) {
				t.Errorf("help %s does not say %q", topic, h.Text)
			}
		}
	}
}

// logFields returns the fields of log records by their kind in the help.
func logFields() map[string][]string {
	return map[string][]string{
		"names of files and folders":                     {"key", "path", "folder", "first", "file"},
		"the paths of the source and the state database": {"source", "database"},
		"hosts": {"listen", "destination"},
		"IDs of environments, workspaces and assets": {"asset", "category", "content", "conversation"},
		"error messages": {"error", "hint"},
		"": {"measures", "items", "runs", "plans", "verifications", "class", "delay", "length", "refused", "run", "state", "skipped",
			"action", "command", "method", "route", "why"},
	}
}

// The test verifies that the help names the kind of every field in log records.
func TestHelpNamesWhatTheLogHolds(t *testing.T) {
	text := topicWords(t, "security")
	known := map[string]bool{}
	for kind, fields := range logFields() {
		if !strings.Contains(text, kind) {
			t.Errorf("help security does not say %q", kind)
		}
		for _, f := range fields {
			known[f] = true
		}
	}
	found := map[string]bool{}
	for _, root := range []string{"../../cmd", "../../internal", "../../migrate", "../../sources", "../../state"} {
		logged(t, root, func(at token.Position, field string) {
			found[field] = true
			if !known[field] {
				t.Errorf("%s logs %q, of which help security says nothing: see logFields", at, field)
			}
		})
	}
	for _, field := range []string{"key", "source", "error", "asset"} {
		if !found[field] {
			t.Errorf("no record with the field %s was found", field)
		}
	}
}

// logged finds the fields of log records in the code below a folder: the names after the message in
// calls of a logger.
func logged(t *testing.T, root string, found func(at token.Position, field string)) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) < 3 {
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if !is || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, method.Sel.Name) {
				return true
			}
			if of, is := method.X.(*ast.Ident); is && of.Name == "http" {
				return true
			}
			for i := 1; i < len(call.Args); i += 2 {
				found(files.Position(call.Args[i].Pos()), stringLiteral(call.Args[i]))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stringLiteral returns the value of a string literal, or "" for other expressions.
func stringLiteral(e ast.Expr) string {
	if lit, is := e.(*ast.BasicLit); is && lit.Kind == token.STRING {
		text, _ := strconv.Unquote(lit.Value)
		return text
	}
	return ""
}
