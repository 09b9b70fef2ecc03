package faultpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/faultpoint"
)

// constants returns the names and values of the declared points.
func constants(t *testing.T) (names []string, points []faultpoint.Point) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "faultpoint.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if kind, ok := v.Type.(*ast.Ident); !ok || kind.Name != "Point" {
				continue
			}
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names, points = append(names, v.Names[0].Name), append(points, faultpoint.Point(text))
		}
	}
	return names, points
}

func TestAllAreAll(t *testing.T) {
	_, points := constants(t)
	if diff := cmp.Diff(points, faultpoint.All()); diff != "" {
		t.Errorf("All (-declared +got):\n%s", diff)
	}
	if twice := slices.Compact(slices.Sorted(slices.Values(points))); len(twice) != len(points) {
		t.Errorf("two points have one name: %v", points)
	}
}

// TestEveryPointIsHit verifies that the code hits each point. Tests of an unused point would test
// nothing.
func TestEveryPointIsHit(t *testing.T) {
	var code strings.Builder
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && strings.HasPrefix(path, ".") && path != "." {
			return fs.SkipDir
		}
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, path)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names, _ := constants(t)
	for _, name := range names {
		if call := "faultpoint.Hit(faultpoint." + name + ")"; !strings.Contains(code.String(), call) {
			t.Errorf("%s is nowhere", call)
		}
	}
}
