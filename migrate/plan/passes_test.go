package plan

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assetferry/migrate"
)

// inMemory are the types of findings that are handed over in memory.
var inMemory = map[reflect.Type]finding{
	reflect.TypeFor[listing]():        theListing,
	reflect.TypeFor[deletedCount]():   theDeleted,
	reflect.TypeFor[placements]():     thePlaces,
	reflect.TypeFor[followedKeys]():   theFollowed,
	reflect.TypeFor[unreadSizes]():    theUnread,
	reflect.TypeFor[claimedAssets]():  theClaimed,
	reflect.TypeFor[heldDeletes]():    theHeldDeletes,
	reflect.TypeFor[missingOwners]():  theMissingOwners,
	reflect.TypeFor[driftCursor]():    theCursor,
	reflect.TypeFor[duplicateNames](): theDuplicateNames,
	reflect.TypeFor[violations]():     theViolations,
}

// reported lists the findings that Plan reads after the last pass.
var reported = findings{theDeleted, thePlaces, theCursor, theDuplicateNames, theViolations}

func testPasses() []pass {
	p := &planning{Planner: New(migrate.Deps{}, migrate.Rules{})}
	return p.passes(newHandover(p))
}

// TestPassOrder verifies that each finding is written before it is read. A finding that is handed
// over in memory is complete when it is read first: later passes change it only if they also read
// it.
func TestPassOrder(t *testing.T) {
	written, read := map[finding]string{}, map[finding]string{}
	for _, pass := range testPasses() {
		for _, f := range slices.Concat(pass.reads, pass.updates) {
			if written[f] == "" {
				t.Errorf("%q reads %q, which no pass has written before", pass.name, f)
			}
		}
		for _, f := range pass.writes {
			if first := read[f]; first != "" && isInMemory(f) {
				t.Errorf("%q writes %q, which %q has read", pass.name, f, first)
			}
		}
		for _, f := range slices.Concat(pass.updates, pass.writes) {
			written[f] = pass.name
		}
		for _, f := range slices.Concat(pass.reads, pass.updates) {
			read[f] = pass.name
		}
	}
	for f, by := range written {
		if read[f] == "" && !slices.Contains(reported, f) {
			t.Errorf("%q writes %q, which nobody reads", by, f)
		}
	}
	for _, f := range reported {
		if written[f] == "" {
			t.Errorf("%q is reported and never written", f)
		}
	}
}

func isInMemory(f finding) bool { return slices.Contains(slices.Collect(maps.Values(inMemory)), f) }

// TestPassesGetWhatTheyDeclare verifies that a pass can access only the findings that it declares.
func TestPassesGetWhatTheyDeclare(t *testing.T) {
	for _, pass := range testPasses() {
		declared := slices.DeleteFunc(slices.Concat(pass.reads, pass.updates, pass.writes), func(f finding) bool { return !isInMemory(f) })
		slices.Sort(declared)
		got := map[finding]bool{}
		reach(reflect.TypeOf(pass.step), map[reflect.Type]bool{}, got)
		if diff := cmp.Diff(slices.Compact(declared), slices.Sorted(maps.Keys(got)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q declares what it does not get (-), or gets what it does not declare (+):\n%s", pass.name, diff)
		}
	}
	handed := map[finding]bool{}
	reach(reflect.TypeFor[handover](), map[reflect.Type]bool{}, handed)
	if len(handed) != len(inMemory) || reflect.TypeFor[handover]().NumField() != len(inMemory) {
		t.Errorf("the handover has %d findings in %d fields, %d are known", len(handed), reflect.TypeFor[handover]().NumField(), len(inMemory))
	}
}

// reach collects the findings that a value of a type leads to.
func reach(t reflect.Type, seen map[reflect.Type]bool, got map[finding]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	if f, is := inMemory[t]; is {
		got[f] = true
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		reach(t.Elem(), seen, got)
	case reflect.Struct:
		if !strings.HasSuffix(t.PkgPath(), "migrate/plan") {
			return
		}
		for n := range t.NumField() {
			reach(t.Field(n).Type, seen, got)
		}
	}
}
