package permissions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/assets"

	"pgregory.net/rapid"
)

// A memory is a workspace in memory, whose requests can be lost.
type memory struct {
	groups     []assets.Group
	categories []assets.Category
	grants     []assets.Grant
	changes    int
	lose       func(change int) (before, after bool) // the process ends, or the answer is lost
}

var errKilled = errors.New("killed")

func (m *memory) Groups(context.Context) ([]assets.Group, error) { return slices.Clone(m.groups), nil }

func (m *memory) Categories(context.Context) iter.Seq2[assets.Category, error] {
	return func(yield func(assets.Category, error) bool) {
		for _, c := range m.categories {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// Grants ignores the group, as a service may.
func (m *memory) Grants(context.Context, string) ([]assets.Grant, error) {
	return slices.Clone(m.grants), nil
}

func (m *memory) change(do func() string) (string, error) {
	m.changes++
	before, after := false, false
	if m.lose != nil {
		before, after = m.lose(m.changes)
	}
	if before {
		return "", errKilled
	}
	id := do()
	if after {
		return "", fmt.Errorf("%w: cut", assets.ErrUnconfirmed)
	}
	return id, nil
}

func (m *memory) CreateGroup(_ context.Context, name string) (string, error) {
	return m.change(func() string {
		id := fmt.Sprint("new-group-", len(m.groups))
		m.groups = append(m.groups, assets.Group{ID: id, Name: name})
		return id
	})
}

func (m *memory) CreateGrant(_ context.Context, g assets.Grant) (string, error) {
	return m.change(func() string {
		g.ID = fmt.Sprint("new-grant-", len(m.grants))
		m.grants = append(m.grants, g)
		return g.ID
	})
}

// A triple is one permission of a group by its name, in a category by its ID, or in all.
type triple struct{ group, category, permission string }

func (m *memory) triples() map[triple]bool {
	all := map[triple]bool{}
	for _, g := range m.grants {
		i := slices.IndexFunc(m.groups, func(one assets.Group) bool { return one.ID == g.GroupID })
		for p, allowed := range g.Allowed {
			categories := g.Categories
			if len(categories) == 0 {
				categories = []string{All}
			}
			for _, c := range categories {
				if allowed {
					all[triple{m.groups[i].Name, c, string(p)}] = true
				}
			}
		}
	}
	return all
}

// effective extends permissions in all categories to each category, and omits what they contain.
func effective(all map[triple]bool, categories []assets.Category) map[triple]bool {
	flat := map[triple]bool{}
	for t := range all {
		flat[t] = true
		if t.category != All {
			continue
		}
		for _, c := range categories {
			flat[triple{t.group, c.ID, t.permission}] = true
		}
	}
	return flat
}

// The test verifies the law of this package: whatever exists and however often the command is
// killed or an answer is lost, the result is what existed and the table, no more and no less. No
// group is created twice, and no existing grant changes.
func TestResultIsUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &memory{groups: []assets.Group{{ID: "g0", Name: "Everyone", Default: true}, {ID: "g1", Name: "editors"}, {ID: "g2", Name: "press"}}}
		for _, name := range []string{"Images", "Files", "Documents", All} {
			m.categories = append(m.categories, assets.Category{ID: "id of " + name, Name: name})
		}
		some := rapid.SliceOfDistinct(rapid.SampledFrom(Known()), rapid.ID[assets.Permission])
		for n := range rapid.IntRange(0, 4).Draw(t, "grants") {
			g := assets.Grant{ID: fmt.Sprint("p", n), GroupID: rapid.SampledFrom([]string{"g0", "g1", "g2"}).Draw(t, "of"), Categories: []string{}, Allowed: map[assets.Permission]bool{}}
			for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom(m.categories), 0, 3, func(c assets.Category) string { return c.ID }).Draw(t, "in") {
				g.Categories = append(g.Categories, c.ID)
			}
			for _, p := range some.Draw(t, "allowed") {
				g.Allowed[p] = true
			}
			m.grants = append(m.grants, g)
		}
		var rows []Row
		want := m.triples()
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			r := Row{
				rapid.SampledFrom([]string{"editors", "g1", "press", "Everyone", "new", "other"}).Draw(t, "group"),
				rapid.SampledFrom([]string{"Images", "id of Images", "Files", "id of *", All}).Draw(t, "category"), some.Draw(t, "permissions"),
			}
			rows = append(rows, r)
			for _, p := range r.Permissions {
				category := "id of " + strings.TrimPrefix(r.Category, "id of ")
				if r.Category == All {
					category = All
				}
				want[triple{strings.ReplaceAll(r.Group, "g1", "editors"), category, string(p)}] = true
			}
		}
		before := slices.Clone(m.grants)
		m.lose = func(int) (bool, bool) {
			switch rapid.IntRange(0, 5).Draw(t, "fault") {
			case 0:
				return true, false
			case 1:
				return false, true
			}
			return false, false
		}
		table, err := NewTable(rows), errKilled
		for range 100 {
			if _, err = Apply(t.Context(), m, table); !errors.Is(err, errKilled) {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, want := effective(m.triples(), m.categories), effective(want, m.categories); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if len(altered(before, m.grants)) > 0 {
			t.Errorf("existing grants changed: %v, were %v", m.grants, before)
		}
		names := map[string]bool{}
		for _, g := range m.groups {
			if names[g.Name] {
				t.Errorf("two groups %q", g.Name)
			}
			names[g.Name] = true
		}
		m.lose, m.changes = nil, 0
		if p, err := Apply(t.Context(), m, table); err != nil || p.Adds() || m.changes > 0 {
			t.Errorf("repeated: %d changes, %v", m.changes, err)
		}
	})
}

// A group or category that is not clearly the one of a row is skipped.
func TestSkipped(t *testing.T) {
	m := &memory{
		groups:     []assets.Group{{ID: "1", Name: "twins"}, {ID: "2", Name: "twins"}, {ID: "3", Name: "Editors"}, {ID: "4", Name: "ok"}},
		categories: []assets.Category{{ID: "a", Name: "Twice"}, {ID: "b", Name: "Twice"}, {ID: "c", Name: "Images"}},
	}
	access := []assets.Permission{assets.AccessCategory}
	p, err := Apply(t.Context(), m, NewTable([]Row{
		{"twins", "Images", access}, {"editors", "Images", access}, {"ok", "Twice", access}, {"ok", "images", access}, {"ok", "Images", access}, {"2", "a", access},
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Reason{}
	for _, e := range p.Of(Skipped) {
		got[e.Group+"/"+e.Category] = e.Reason
	}
	want := map[string]Reason{"twins/Images": AmbiguousGroup, "editors/Images": SimilarGroup, "ok/Twice": AmbiguousCategory, "ok/images": NoCategory}
	if !maps.Equal(got, want) || len(m.grants) != 2 || len(m.groups) != 4 {
		t.Errorf("got %v, %+v", got, m.grants)
	}
}

// The test verifies that two spellings in a table do not create two groups.
func TestSpellings(t *testing.T) {
	m := &memory{categories: []assets.Category{{ID: "a", Name: "Images"}}}
	access := []assets.Permission{assets.AccessCategory}
	p, err := Apply(t.Context(), m, NewTable([]Row{{"Editors", "Images", access}, {"editors", "Images", access}}))
	if err != nil {
		t.Fatal(err)
	}
	if skipped := p.Of(Skipped); len(m.groups) != 1 || len(skipped) != 1 || skipped[0].Group != "editors" || skipped[0].Reason != SimilarGroup {
		t.Errorf("got %+v, %+v", m.groups, skipped)
	}
}

// The test verifies that an incomplete response does not count as permissions in all categories.
func TestOmittedCategories(t *testing.T) {
	m := &memory{groups: []assets.Group{{ID: "1", Name: "g"}}, grants: []assets.Grant{{ID: "p", GroupID: "1", Allowed: map[assets.Permission]bool{assets.AccessCategory: true}}}}
	if _, err := Preview(t.Context(), m, NewTable([]Row{{Group: "g"}})); err == nil || !strings.Contains(err.Error(), "does not contain the categories") {
		t.Errorf("got %v", err)
	}
}

// A broad is a service that grants more than it is asked for.
type broad struct{ *memory }

func (b broad) CreateGrant(ctx context.Context, g assets.Grant) (string, error) {
	g.Categories = []string{}
	return b.memory.CreateGrant(ctx, g)
}

// A deaf is a service that accepts a grant and forgets it.
type deaf struct{ *memory }

func (deaf) CreateGrant(context.Context, assets.Grant) (string, error) { return "p", nil }

func TestVerification(t *testing.T) {
	table := NewTable([]Row{{"g", "Images", []assets.Permission{assets.AccessCategory}}})
	for name, tt := range map[string]struct {
		wrap func(*memory) Service
		want string
	}{
		"more": {func(m *memory) Service { return broad{m} }, `beyond the table: group "g", category "*": category:access`},
		"less": {func(m *memory) Service { return deaf{m} }, `missing: group "g", category "Images": category:access`},
	} {
		m := &memory{groups: []assets.Group{{ID: "1", Name: "g"}}, categories: []assets.Category{{ID: "c", Name: "Images"}}}
		_, err := Apply(t.Context(), tt.wrap(m), table)
		if _, is := errors.AsType[*DifferenceError](err); !is || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOpen(t *testing.T) {
	const a, c = assets.AccessCategory, assets.CreateAssets
	all := Known()
	for name, tt := range map[string]struct {
		text string
		want []Row
		err  string
	}{
		"marks.csv": {"Group;Category;category:access;asset:create\neditors;Images;x;Yes\npress;Images;X;\n", []Row{{"editors", "Images", []assets.Permission{a, c}}, {"press", "Images", []assets.Permission{a}}}, ""},
		"list.csv":  {"group,category,permissions\ne,*,all\ne,B,\"category:access, asset:create\"\ne,B,category:access\nonly,,\n", []Row{{"e", All, all}, {"e", "B", []assets.Permission{a, c}}, {"only", "", []assets.Permission{}}}, ""},
		"l.jsonl":   {`{"group": "e", "category": "A", "permissions": ["category:access"]}` + "\n", []Row{{"e", "A", []assets.Permission{a}}}, ""},
		"typo.csv":  {"group,category,permissions\ne,A,category:acess\n", nil, `typo.csv:2:5: "category:acess" is not a permission`},
		"head.csv":  {"group,category,asset:creat\ne,A,x\n", nil, `the column "asset:creat" is not group`},
		"twice.csv": {"group,category,asset:create,Asset:Create\ne,A,x,x\n", nil, "occurs twice"},
		"none.csv":  {"group,asset:create\ne,x\n", nil, "needs the columns group and category"},
		"bare.csv":  {"group,category\ne,A\n", nil, "needs the column permissions"},
		"mark.csv":  {"group,category,asset:create\ne,A,maybe\n", nil, `mark.csv:2:5: "maybe" is neither x nor empty`},
		"empty.csv": {"group,category,asset:create\n,A,x\ne,,x\n", nil, "has no group\n"},
		"bad.jsonl": {`{"group": "e", "category": "A", "permissions": ["x"]}` + "\n", nil, `"x" is not a permission`},
		"more.json": {"{}", nil, "is not a .csv, .tsv, .jsonl or .ndjson file"},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Open(path)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got error %v, want %q", name, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got.Rows, tt.want) {
			t.Errorf("%s: got %v, %v, want %v", name, got.Rows, err, tt.want)
		}
	}
}

// The test verifies that a written table has the same hash when it is read, also with names that a
// spreadsheet takes for formulas.
func TestWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"editors", "=cmd", "-x", "'q", `a "b", c;d`, "Ü", "*", "x y"})
		var rows []Row
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			rows = append(rows, Row{name.Draw(t, "group"), name.Draw(t, "category"), rapid.SliceOf(rapid.SampledFrom(Known())).Draw(t, "permissions")})
		}
		want := NewTable(rows)
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "t.csv")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(want.Write(file), file.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := Open(path); err != nil || got.Hash() != want.Hash() {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}

// The table of a workspace has no permissions of the default group, and no names that would widen
// them.
func TestOf(t *testing.T) {
	access := map[assets.Permission]bool{assets.AccessCategory: true, "asset:teleport": true, assets.CreateAssets: false}
	m := &memory{
		groups:     []assets.Group{{ID: "0", Name: "Everyone", Default: true}, {ID: "1", Name: "g"}, {ID: "2", Name: "none"}},
		categories: []assets.Category{{ID: "a", Name: "A"}, {ID: "b", Name: "B"}},
		grants: []assets.Grant{
			{ID: "p", GroupID: "0", Categories: []string{}, Allowed: access}, {ID: "q", GroupID: "1", Categories: []string{"a", "deleted"}, Allowed: access},
		},
	}
	got, out, err := Of(t.Context(), m)
	want := []Row{{"g", "A", []assets.Permission{assets.AccessCategory}}, {"none", "", []assets.Permission{}}}
	if err != nil || !reflect.DeepEqual(got.Rows, want) || out.DefaultGroup != "Everyone" || out.Deleted != 2 || out.Unknown["asset:teleport"] != 1 {
		t.Errorf("got %v, %+v, %v", got, out, err)
	}
	for name, change := range map[string]func(){
		"two groups":        func() { m.groups[2].Name = "g" },
		"two categories":    func() { m.categories[1].Name = "A" },
		"the name * means ": func() { m.categories[0].Name = All },
	} {
		groups, categories := slices.Clone(m.groups), slices.Clone(m.categories)
		change()
		if _, _, err := Of(t.Context(), m); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(name, " means ")) {
			t.Errorf("%s: got %v", name, err)
		}
		m.groups, m.categories = groups, categories
	}
}
