package permissions

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
)

// A State is the result for an Entry.
type State string

// The states of entries.
const (
	Planned     State = "planned"
	Done        State = "done"
	Unchanged   State = "unchanged" // the group has the permissions already
	Beyond      State = "beyond"    // the group has permissions that the table does not contain
	Skipped     State = "skipped"
	Failed      State = "failed"
	Unconfirmed State = "unconfirmed"
)

// A Reason is a code that says why an Entry is skipped.
type Reason string

// The reasons.
const (
	NoCategory        Reason = "category_not_found"
	AmbiguousCategory Reason = "category_ambiguous"
	AmbiguousGroup    Reason = "group_ambiguous"
	SimilarGroup      Reason = "group_similar"
)

// An Entry is a part of a plan: permissions of a group in a category.
type Entry struct {
	Row
	GroupID    string // empty for a group that does not exist
	CategoryID string // empty for All
	State      State
	Reason     Reason   // only if skipped
	IDs        []string // of the groups or categories that have the name; only if skipped
	Err        error    // only if it failed
}

// A Group is a group of a plan. Tokens name groups by their IDs.
type Group struct {
	Name string
	ID   string // empty: it does not exist yet
	New  bool   // it did not exist before
}

// A Plan compares a table with a workspace.
type Plan struct {
	Groups  []*Group // of the table, without those of skipped entries
	Entries []*Entry
	Others  int // groups of the workspace that are not in the table, without the default group
	// OpenToAll are the categories of the table that tokens without groups can access, because of
	// the default group.
	OpenToAll    []string
	DefaultGroup string
	// Blind are entries whose group has no access to the category, so that its other permissions
	// have no effect.
	Blind []*Entry
}

// Of returns the entries with a state.
func (p *Plan) Of(s State) (all []*Entry) {
	for _, e := range p.Entries {
		if e.State == s {
			all = append(all, e)
		}
	}
	return all
}

// Count returns the number of permissions of the entries with a state.
func (p *Plan) Count(s State) (n int) {
	for _, e := range p.Of(s) {
		n += len(e.Permissions)
	}
	return n
}

// owned are the permissions of a group by category ID; "" is for all categories.
type owned map[string]set

func ownedBy(grants []assets.Grant) owned {
	o := owned{}
	for i := range grants {
		g := &grants[i]
		for p, allowed := range g.Allowed {
			if !allowed {
				continue
			}
			if len(g.Categories) == 0 {
				o.add("", []assets.Permission{p})
			}
			for _, id := range g.Categories {
				o.add(id, []assets.Permission{p})
			}
		}
	}
	return o
}

func (o owned) add(category string, all []assets.Permission) {
	if o[category] == nil {
		o[category] = set{}
	}
	o[category].add(all)
}

func (o owned) has(category string, p assets.Permission) bool { return o[""][p] || o[category][p] }

// split divides permissions into those that are owned and those that are not.
func (o owned) split(category string, all []assets.Permission) (have, lack []assets.Permission) {
	for _, p := range all {
		if o.has(category, p) {
			have = append(have, p)
		} else {
			lack = append(lack, p)
		}
	}
	return have, lack
}

// Compare plans what a workspace lacks.
func Compare(t Table, now Current) *Plan {
	c := &comparison{now: now, p: new(Plan), before: map[string]owned{}, after: map[string]owned{}, wanted: map[string]owned{}}
	for i := range t.Rows {
		c.row(&t.Rows[i])
	}
	for _, g := range now.Groups {
		if !g.Default && !t.names(g) {
			c.p.Others++
		}
	}
	c.beyond()
	c.warn()
	return c.p
}

// A comparison is a Plan in the making. Its maps have the keys of groups.
type comparison struct {
	now                   Current
	p                     *Plan
	before, after, wanted map[string]owned
}

func (c *comparison) row(r *Row) {
	e := &Entry{Row: *r}
	if !c.findGroup(e) || !c.findCategory(e) {
		e.State = Skipped
		c.p.Entries = append(c.p.Entries, e)
		return
	}
	group := &Group{Name: e.Group, ID: e.GroupID, New: e.GroupID == ""}
	key := group.key()
	if c.before[key] == nil {
		grants := c.now.Grants[e.GroupID]
		c.before[key], c.after[key], c.wanted[key] = ownedBy(grants), ownedBy(grants), owned{}
		c.p.Groups = append(c.p.Groups, group)
	}
	have, _ := c.before[key].split(e.CategoryID, r.Permissions)
	_, lack := c.after[key].split(e.CategoryID, r.Permissions)
	c.after[key].add(e.CategoryID, lack)
	c.wanted[key].add(e.CategoryID, r.Permissions)
	c.entry(e, Unchanged, have)
	c.entry(e, Planned, lack)
}

// isDefault reports whether a group is the default group of a workspace.
func (g *Group) isDefault(c *Current) bool {
	standard := c.standard()
	return standard != nil && standard.ID == g.ID
}

// standard returns the default group of a workspace, or nil.
func (c *Current) standard() *assets.Group {
	for i := range c.Groups {
		if c.Groups[i].Default {
			return &c.Groups[i]
		}
	}
	return nil
}

// key identifies a group also before it has an ID.
func (g *Group) key() string {
	if g.New {
		return "new " + g.Name
	}
	return g.ID
}

// entry adds a copy of an entry with a state, unless it has no permissions.
func (c *comparison) entry(e *Entry, s State, permissions []assets.Permission) {
	if len(permissions) > 0 {
		one := *e
		one.State, one.Permissions = s, permissions
		c.p.Entries = append(c.p.Entries, &one)
	}
}

// findGroup finds the group of an entry. A group whose name differs only in case is probably meant,
// so it is no reason to create another one.
func (c *comparison) findGroup(e *Entry) bool {
	var same, similar []string
	for _, g := range c.now.Groups {
		switch {
		case g.ID == e.Group:
			e.Group, e.GroupID = g.Name, g.ID
			return true
		case isGroup(g, e.Group):
			same = append(same, g.ID)
		case strings.EqualFold(norm.NFC.String(strings.TrimSpace(g.Name)), e.Group):
			similar = append(similar, g.ID)
		}
	}
	if len(same) == 0 {
		for _, g := range c.p.Groups { // that the table creates
			if g.New && g.Name != e.Group && strings.EqualFold(g.Name, e.Group) {
				similar = append(similar, g.Name)
			}
		}
	}
	switch {
	case len(same) > 1:
		e.Reason, e.IDs = AmbiguousGroup, same
	case len(same) == 1:
		e.GroupID = same[0]
	case len(similar) > 0:
		e.Reason, e.IDs = SimilarGroup, similar
	}
	return e.Reason == ""
}

func (c *comparison) findCategory(e *Entry) bool {
	if e.Category == All || e.Category == "" {
		return true
	}
	var same []string
	for i := range c.now.Categories {
		one := &c.now.Categories[i]
		if one.ID == e.Category {
			e.CategoryID, e.Category = one.ID, one.Name
			return true
		}
		if norm.NFC.String(one.Name) == e.Category {
			same = append(same, one.ID)
		}
	}
	switch len(same) {
	case 0:
		e.Reason = NoCategory
	case 1:
		e.CategoryID = same[0]
	default:
		e.Reason, e.IDs = AmbiguousCategory, same
	}
	return e.Reason == ""
}

// beyond adds what the groups of the table have beyond it.
func (c *comparison) beyond() {
	names := c.names()
	for _, g := range c.p.Groups {
		before := c.before[g.key()]
		for _, id := range c.inOrder(maps.Keys(before)) {
			_, more := c.wanted[g.key()].split(id, before[id].sorted())
			c.entry(&Entry{Row: Row{Group: g.Name, Category: names(id)}, GroupID: g.ID, CategoryID: id}, Beyond, more)
		}
	}
}

// names returns the name of a category by its ID.
func (c *comparison) names() func(id string) string {
	return func(id string) string {
		if id == "" {
			return All
		}
		for i := range c.now.Categories {
			if c.now.Categories[i].ID == id {
				return c.now.Categories[i].Name
			}
		}
		return id // of a category that was deleted
	}
}

// inOrder sorts the IDs of categories by their names.
func (c *comparison) inOrder(ids iter.Seq[string]) []string {
	names := c.names()
	return slices.SortedFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(names(a), names(b)), cmp.Compare(a, b)) })
}

// warn finds permissions without an effect, and categories that are open to all.
func (c *comparison) warn() {
	names := c.names()
	categories := map[string]bool{}
	for _, g := range c.p.Groups {
		wanted := c.wanted[g.key()]
		for _, id := range c.inOrder(maps.Keys(wanted)) {
			if len(wanted[id]) == 0 {
				continue
			}
			categories[id] = categories[id] || !g.isDefault(&c.now)
			if !c.after[g.key()].has(id, assets.AccessCategory) {
				c.p.Blind = append(c.p.Blind, &Entry{Row: Row{g.Name, names(id), wanted[id].sorted()}, GroupID: g.ID, CategoryID: id})
			}
		}
	}
	standard := c.now.standard()
	if standard == nil {
		return
	}
	c.p.DefaultGroup = standard.Name
	open := ownedBy(c.now.Grants[standard.ID])
	for _, id := range c.inOrder(maps.Keys(categories)) {
		if categories[id] && open.has(id, assets.AccessCategory) {
			c.p.OpenToAll = append(c.p.OpenToAll, names(id))
		}
	}
}
