package pattern_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assetferry/internal/pattern"
)

func TestLazy(t *testing.T) {
	digits := pattern.Lazy(`\d+`)
	if first := digits(); digits() != first {
		t.Error("an expression was compiled twice")
	}
	if got := digits().FindString("run 42"); got != "42" {
		t.Errorf("found %q instead of 42", got)
	}
}

// TestAllExpressionsAreValid compiles all expressions of the program, because their packages no
// longer do so when they are initialized.
func TestAllExpressionsAreValid(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "pattern.Lazy" {
				return true
			}
			text, err := types.Eval(files, nil, token.NoPos, types.ExprString(call.Args[0]))
			if err == nil {
				_, err = regexp.Compile(constant.StringVal(text.Value))
			}
			if err != nil {
				t.Errorf("%s: %v", files.Position(call.Pos()), err)
			}
			checked++
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d expressions are valid", checked)
}
