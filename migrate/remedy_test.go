package migrate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"assetferry/state"
)

// reasons are those of migrations and of undos, by the text they have in journals.
func reasons(t *testing.T) map[string]Reason {
	t.Helper()
	all := map[string]Reason{}
	for _, name := range []string{"decide.go", "undo.go"} {
		reasonsIn(t, name, all)
	}
	return all
}

// reasonsIn adds the reasons that a file declares.
func reasonsIn(t *testing.T, name string, all map[string]Reason) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		all[spec.Names[0].Name] = Reason(text)
		return true
	})
}

// Whoever reads why an object did not arrive is told what decides about it. What arrives
// needs no remedy.
func TestEveryReasonHasRemedy(t *testing.T) {
	arrives := map[Reason]bool{
		ReasonNew: true, ReasonExtended: true, ReasonRenamed: true, ReasonSame: true, ReasonUndescribed: true,
		ReasonEqual: true, ReasonJoined: true, ReasonTrusted: true, ReasonDuplicate: true,
		ReasonMade: true, ReasonTrashed: true, ReasonReplaced: true, ReasonMovedOn: true, ReasonDescribed: true,
		ReasonContent: true, ReasonRecased: true, ReasonNameFree: true, ReasonMaybe: true, ReasonSeeming: true, ReasonMetadata: true, ReasonAgain: true, ReasonMoved: true,
		ReasonBack: true, ReasonRestored: true, ReasonRepair: true, ReasonAmbiguous: true, ReasonOtherKind: true, ReasonExpired: true, ReasonBothGone: true,
	}
	all := reasons(t)
	if len(all) < 25 {
		t.Fatalf("found %d reasons: the test does not read them any more", len(all))
	}
	for name, r := range all {
		if has := r.Remedy() != (Remedy{}); has == arrives[r] {
			t.Errorf("%s (%s): remedy %+v, and it arrives: %v", name, r, r.Remedy(), arrives[r])
		}
		if s := firstState(state.Skip, r); s != state.ItemSkipped && !r.Remedy().Missed {
			t.Errorf("%s (%s) is no plain skip, and nobody would miss the object", name, r)
		}
	}
}
