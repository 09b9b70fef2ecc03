package permissions

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/internal/tabular"
)

// Columns of a table besides those with the names of permissions.
const (
	groupColumn       = "group"
	categoryColumn    = "category"
	permissionsColumn = "permissions"
)

// everything is the word for all permissions.
const everything = "all"

func use() tabular.Use {
	return tabular.Use{
		Kind: "table of permissions", Topic: "permissions",
		Example: `{"group": "editors", "category": "Images", "permissions": ["category:access"]}`,
	}
}

// Open reads a table from a file. If it contains mistakes, the error is a *tabular.Mistakes.
func Open(name string) (Table, error) {
	f, err := tabular.Open(name, use())
	if err != nil {
		return Table{}, err
	}
	defer f.Close()
	wrong := f.Mistakes()
	var rows []Row
	read := jsonRow
	if names := f.Columns(); names != nil {
		c, err := columnsOf(f, names)
		if err := wrong.Note(err); err != nil || wrong.Total > 0 {
			return Table{}, cmpErr(err, wrong)
		}
		read = c.row
	}
	err = f.Each(wrong, func(_ int64, from tabular.Row) error {
		r, err := read(from)
		rows = append(rows, r)
		return err
	})
	if err != nil {
		return Table{}, err
	}
	return NewTable(rows), wrong.Verdict()
}

func cmpErr(err error, wrong *tabular.Mistakes) error {
	if err != nil {
		return err
	}
	return wrong.Verdict()
}

// columns are the places of the columns of a CSV table.
type columns struct {
	group, category int
	list            int                       // -1: no such column
	marks           map[assets.Permission]int // places, from 1
}

func columnsOf(f *tabular.File, names []string) (columns, error) {
	c := columns{group: -1, category: -1, list: -1, marks: map[assets.Permission]int{}}
	for n, name := range names {
		place := map[string]*int{groupColumn: &c.group, categoryColumn: &c.category, permissionsColumn: &c.list}[strings.ToLower(name)]
		p, known := permission(name)
		switch {
		case place != nil && *place >= 0, known && c.marks[p] > 0:
			return c, f.HeaderMistake(n, fmt.Sprintf("the column %q occurs twice", name))
		case place != nil:
			*place = n
		case known:
			c.marks[p] = n + 1
		default:
			return c, f.HeaderMistake(n, fmt.Sprintf("the column %q is not group, category, permissions or a permission: %s", name, words(Known())))
		}
	}
	if c.group < 0 || c.category < 0 {
		return c, f.HeaderMistake(0, "the table needs the columns group and category")
	}
	if c.list < 0 && len(c.marks) == 0 {
		return c, f.HeaderMistake(0, "the table needs the column permissions, or a column for each permission, such as category:access")
	}
	return c, nil
}

// row reads a row of a CSV table.
func (c columns) row(from tabular.Row) (Row, error) {
	cell := func(n int) string { return strings.Clone(strings.TrimSpace(tabular.UnescapeFormula(from.Cells[n]))) }
	r := Row{Group: cell(c.group), Category: cell(c.category)}
	all := set{}
	if c.list >= 0 {
		listed, err := permissionsOf(strings.FieldsFunc(cell(c.list), func(char rune) bool { return strings.ContainsRune(",; \t\n", char) }))
		if err != nil {
			return r, from.Mistake(c.list, err.Error())
		}
		all.add(listed)
	}
	for p, n := range c.marks {
		marked, err := isMark(cell(n - 1))
		if err != nil {
			return r, from.Mistake(n-1, err.Error())
		}
		if marked {
			all[p] = true
		}
	}
	r.Permissions = all.sorted()
	return r, checked(r, func(what string) error { return from.Mistake(c.group, what) })
}

// isMark reports whether a cell means yes.
func isMark(cell string) (bool, error) {
	switch strings.ToLower(cell) {
	case "x", "yes", "y", "true", "1", "✓", "✔":
		return true, nil
	case "", "no", "n", "false", "0", "-":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither x nor empty", cell)
}

// jsonRow reads a row of JSON Lines.
func jsonRow(from tabular.Row) (Row, error) {
	var in struct {
		Group       string   `json:"group"`
		Category    string   `json:"category"`
		Permissions []string `json:"permissions"`
	}
	if err := from.Decode(&in); err != nil {
		return Row{}, err
	}
	r := Row{Group: strings.TrimSpace(in.Group), Category: strings.TrimSpace(in.Category)}
	var err error
	if r.Permissions, err = permissionsOf(in.Permissions); err != nil {
		return r, from.Mistake(0, err.Error())
	}
	return r, checked(r, func(what string) error { return from.Mistake(0, what) })
}

func checked(r Row, mistake func(what string) error) error {
	switch {
	case r.Group == "":
		return mistake("the row has no group")
	case r.Category == "" && len(r.Permissions) > 0:
		return mistake(`the row has no category; write * for all categories`)
	}
	return nil
}

// permission returns a known permission by its name.
func permission(name string) (assets.Permission, bool) {
	p := assets.Permission(strings.ToLower(strings.TrimSpace(name)))
	return p, isKnown(p)
}

func permissionsOf(names []string) ([]assets.Permission, error) {
	all := set{}
	for _, name := range names {
		p, known := permission(name)
		switch {
		case string(p) == everything:
			all.add(Known())
		case !known:
			return nil, fmt.Errorf("%q is not a permission; these are: %s, or all", name, words(Known()))
		default:
			all[p] = true
		}
	}
	return all.sorted(), nil
}

func words(all []assets.Permission) string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = string(p)
	}
	return strings.Join(names, " ")
}

// Write writes a table as CSV with a column for each permission.
func (t Table) Write(to io.Writer) error {
	w := tabular.NewWriter(to)
	header := []string{groupColumn, categoryColumn}
	for _, p := range Known() {
		header = append(header, string(p))
	}
	if err := w.Write(header); err != nil {
		return err
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		line := []string{r.Group, r.Category}
		for _, p := range Known() {
			mark := ""
			if slices.Contains(r.Permissions, p) {
				mark = "x"
			}
			line = append(line, mark)
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}
