package migrate

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assetferry/state"
)

// parse reads the code of the engine, without its tests.
func parse(t *testing.T) (*token.FileSet, []*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return set, files
}

// An engine imports its own packages if they are already checked, and no others.
type engine map[string]*types.Package

func (e engine) Import(path string) (*types.Package, error) {
	if p := e[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("not read")
}

// check determines the types in the code of the engine, as far as its own packages suffice.
func (e engine) check(t *testing.T, set *token.FileSet, files []*ast.File) *types.Info {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	rest := slices.Clone(files)
	for _, dir := range []string{ // each after those that it imports
		".", "inventory", "collect", "plan/identical", "plan/merge", "plan/placement", "plan/safety", "plan", "apply", "undo", "verify",
	} {
		elsewhere := func(f *ast.File) bool { return filepath.ToSlash(filepath.Dir(set.File(f.Pos()).Name())) != dir }
		of := slices.DeleteFunc(slices.Clone(rest), elsewhere)
		rest = slices.DeleteFunc(rest, func(f *ast.File) bool { return !elsewhere(f) })
		lenient, at := types.Config{Importer: e, Error: func(error) {}}, path.Join("assetferry/migrate", dir)
		e[at], _ = lenient.Check(at, set, of, info)
	}
	for _, f := range rest {
		t.Errorf("%s is of no package that the test knows", set.File(f.Pos()).Name())
	}
	return info
}

// TestEveryReasonHasRow verifies that each text that becomes a reason in the code has a row in the
// table.
func TestEveryReasonHasRow(t *testing.T) {
	set, files := parse(t)
	info := engine{}.check(t, set, files)
	reason := 0
	for e, tv := range info.Types {
		named, ok := tv.Type.(*types.Named)
		if !ok || named.Obj().Name() != "Reason" {
			continue
		}
		reason++
		if l, ok := e.(*ast.BasicLit); ok && l.Value != `""` {
			t.Errorf("%s: reason %s has no row", set.Position(l.Pos()), l.Value)
		}
	}
	if reason < 300 {
		t.Fatalf("found %d expressions that are reasons: the test does not read the code any more", reason)
	}

	defined := 0
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "define" {
					defined++
				}
			}
			return true
		})
	}
	if defined != len(definitions) {
		t.Errorf("%d reasons are defined, and the table has %d: some have the same text", defined, len(definitions))
	}
	codes := map[string]bool{}
	for r, d := range definitions {
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(d.code) || codes[d.code] {
			t.Errorf("%s: code %q is no code, or that of another reason, too", r, d.code)
		}
		codes[d.code] = true
	}
}

// TestEngineNamesNoFlag verifies that texts of the engine name no flags: it does not know how
// people configure it.
func TestEngineNamesNoFlag(t *testing.T) {
	set, files := parse(t)
	flag := regexp.MustCompile(`(^|[^-])--[a-z]`)
	texts := 0
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			if texts++; flag.MatchString(l.Value) {
				t.Errorf("%s: %s: name the setting in braces", set.Position(l.Pos()), l.Value)
			}
			return true
		})
	}
	if texts < 500 {
		t.Fatalf("found %d texts: the test does not read the code any more", texts)
	}
}

// TestEveryReasonHasRemedy verifies that each reason for an object without an asset names the
// setting that decides about it. Other reasons need no remedy.
func TestEveryReasonHasRemedy(t *testing.T) {
	arrives := []Reason{
		ReasonNew, ReasonExtensionAdded, ReasonRenamed, ReasonUnchanged, ReasonMetadataMissing, ReasonIdenticalAsset, ReasonIdenticalObject, ReasonSameNameAndSize, ReasonNameExistsCreated,
		ReasonUndoCreated, ReasonUndoTrashed, ReasonUndoReplaced, ReasonUndoMoved, ReasonUndoMetadataUpdated,
		ReasonContentChanged, ReasonContentAndNameChanged, ReasonNameAvailable, ReasonContentMaybeChanged, ReasonOnlyVersionChanged, ReasonMetadataChanged, ReasonMetadataRefreshed, ReasonMoved,
		ReasonAssetMovedReverted, ReasonAssetEditedReverted, ReasonAssetDeletedCreated, ReasonSeveralMoveCandidates, ReasonCategoryFixed, ReasonGracePeriodOver, ReasonDeletedAtBoth,
	}
	for _, r := range slices.Sorted(maps.Keys(definitions)) {
		arrived := slices.Contains(arrives, r)
		if (r.Remedy() == "") != arrived || arrived && r.IsMissed() {
			t.Errorf("%s: remedy %q, missed %v, and it arrives: %v", r, r.Remedy(), r.IsMissed(), arrived)
		}
		if s := FirstState(state.Skip, r); s != state.ItemSkipped && !r.IsMissed() {
			t.Errorf("%s is no plain skip, and nobody would miss the object", r)
		}
	}
}
