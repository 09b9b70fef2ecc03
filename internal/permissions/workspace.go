package permissions

import (
	"context"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
)

// Omitted is what Of omits from the table of another workspace.
type Omitted struct {
	DefaultGroup string                    // its permissions are not those of a named group
	Deleted      int                       // permissions in deleted categories
	Unknown      map[assets.Permission]int // permissions that this program does not know, by number of grants
}

// An AmbiguousError means that two groups or categories of a workspace have one name, so that a
// table would give the permissions of one to the other.
type AmbiguousError struct{ Kind, Name string }

func (e *AmbiguousError) Error() string {
	if e.Name == All {
		return "the source has a category with the name *, which means all categories in a table"
	}
	return fmt.Sprintf("the source has two %s with the name %q", e.Kind, e.Name)
}

// Hint returns the next step for the user.
func (e *AmbiguousError) Hint() string {
	return "rename one of them at the source, or write a table instead (see assetferry help permissions)"
}

// Of returns the permissions of the groups of a workspace as a table. The default group is
// omitted: its initial permissions would open every category.
func Of(ctx context.Context, r Reader) (Table, Omitted, error) {
	out := Omitted{Unknown: map[assets.Permission]int{}}
	now, err := Read(ctx, r, func(g assets.Group) bool { return !g.Default })
	if err != nil {
		return Table{}, out, err
	}
	if err := unambiguous(&now); err != nil {
		return Table{}, out, err
	}
	names := (&comparison{now: now}).names()
	var rows []Row
	for _, g := range now.Groups {
		if g.Default {
			out.DefaultGroup = g.Name
			continue
		}
		rows = append(rows, Row{Group: g.Name})
		for id, all := range ownedBy(now.Grants[g.ID]) {
			switch name := names(id); {
			case id != "" && name == id:
				out.Deleted += len(all)
			case id != "" && name == All: // in a table, the name would mean all categories
				return Table{}, out, &AmbiguousError{"categories", All}
			default:
				if known := out.known(all); len(known) > 0 {
					rows = append(rows, Row{g.Name, name, known})
				}
			}
		}
	}
	return NewTable(rows), out, nil
}

// known returns the known permissions, and counts the others.
func (o *Omitted) known(all set) (known []assets.Permission) {
	for _, p := range all.sorted() {
		if isKnown(p) {
			known = append(known, p)
		} else {
			o.Unknown[p]++
		}
	}
	return known
}

// unambiguous checks that names identify groups and categories.
func unambiguous(c *Current) error {
	seen := map[string]bool{}
	is := func(kind, name string) error {
		key := kind + norm.NFC.String(name)
		if seen[key] {
			return &AmbiguousError{kind, name}
		}
		seen[key] = true
		return nil
	}
	for _, g := range c.Groups {
		if err := is("groups", g.Name); err != nil {
			return err
		}
	}
	for i := range c.Categories {
		if err := is("categories", c.Categories[i].Name); err != nil {
			return err
		}
	}
	return nil
}
