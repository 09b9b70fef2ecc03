package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/cli/command"
	"assetferry/internal/config"
	"assetferry/internal/flagname"

	"github.com/spf13/cobra"
)

// The test verifies that each {name} in the texts of the engine is a setting, or else a flag for a
// single run.
func TestSettingsOfEngineExist(t *testing.T) {
	known := map[string]bool{}
	for _, k := range config.Keys() {
		known[k.Name] = true
	}
	perRun := []string{
		"accept_changes", "accept_deletes", "accept_rules", "content", "refresh_metadata", "dry_run", "explain_mapping",
		"files_from", "limit", "only", "output", "repair", "retry_exhausted", "verbose",
	}
	root := rootCommand(command.New(command.Environment{}, false))
	for _, name := range perRun {
		if known[name] || !hasFlag(root, flagname.Of(name)) {
			t.Errorf("%s is a setting, or no command has the flag", name)
		}
	}

	var files []string
	for _, root := range []string{"../../migrate", "../mapping"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile(`\{(\w+)\}`)
	found := map[string]bool{}
	set := token.NewFileSet()
	for _, f := range files {
		file, err := parser.ParseFile(set, f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			for _, m := range named.FindAllStringSubmatch(text.Value, -1) {
				found[m[1]] = true
				if !known[m[1]] && !slices.Contains(perRun, m[1]) {
					t.Errorf("%s: there is no setting %s", set.Position(text.Pos()), m[0])
				}
			}
			return true
		})
	}
	for _, name := range perRun {
		if !found[name] && !strings.HasPrefix(name, "accept_") {
			t.Errorf("no text names %s any more", name)
		}
	}
}

// hasFlag reports whether a command or one below it takes a flag.
func hasFlag(c *cobra.Command, name string) bool {
	return c.Flag(name) != nil || slices.ContainsFunc(c.Commands(), func(sub *cobra.Command) bool { return hasFlag(sub, name) })
}
