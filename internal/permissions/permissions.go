// Package permissions gives groups of a service the permissions of a table, which a person wrote or
// which another workspace has.
//
// It only adds. It creates missing groups and sends a new grant for what a group lacks. It never
// changes an existing grant, because a request that changes one replaces all of it: a permission
// that another user adds in the same second would be lost, and an empty list of categories means
// all categories. Every request is within the table, so an interrupted or repeated command leaves
// nothing beyond the table either.
package permissions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
)

// All is the category of a row that concerns all categories, also those of the future.
const All = "*"

// Known returns the permissions of the service in the order of tables.
func Known() []assets.Permission {
	return []assets.Permission{
		assets.AccessCategory, assets.CreateAssets, assets.ModifyMetadata, assets.OverwriteAssets, assets.DeleteAssets,
		assets.ChangeRevisions, assets.DeleteRevisions, assets.CreateFolders, assets.ModifyFolderData, assets.DeleteFolders,
	}
}

// A Row gives a group permissions in a category. A row without permissions only creates the group.
type Row struct {
	Group       string              `json:"group"`
	Category    string              `json:"category"` // name or ID; All; empty without permissions
	Permissions []assets.Permission `json:"permissions"`
}

// A Table is all that groups are given. Its rows are sorted, and none has the group and the
// category of another.
type Table struct{ Rows []Row }

// NewTable merges the rows of equal groups and categories. It keeps a row without permissions only
// for a group without other rows.
func NewTable(rows []Row) Table {
	merged, given := map[string]set{}, map[string]bool{}
	for i := range rows {
		r := &rows[i]
		group, category := norm.NFC.String(r.Group), norm.NFC.String(r.Category)
		switch {
		case len(r.Permissions) == 0:
			category = ""
		case category == All:
			category = allFirst + All
		}
		given[group] = given[group] || category != ""
		key := group + "\x00" + category
		if merged[key] == nil {
			merged[key] = set{}
		}
		merged[key].add(r.Permissions)
	}
	var t Table
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		group, category, _ := strings.Cut(key, "\x00")
		if category == "" && given[group] {
			continue
		}
		t.Rows = append(t.Rows, Row{group, strings.TrimPrefix(category, allFirst), merged[key].sorted()})
	}
	return t
}

// allFirst sorts the row for all categories before the others of its group.
const allFirst = "\x00"

// Hash returns the SHA-256 of the rows. It does not depend on the order or the format of a file.
func (t Table) Hash() string {
	hash := sha256.New()
	lines := json.NewEncoder(hash)
	for i := range t.Rows {
		_ = lines.Encode(&t.Rows[i]) // texts can always be encoded, and a hash accepts everything
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Groups returns the number of groups.
func (t Table) Groups() int {
	groups := map[string]bool{}
	for i := range t.Rows {
		groups[t.Rows[i].Group] = true
	}
	return len(groups)
}

// Count returns the number of permissions.
func (t Table) Count() (n int) {
	for i := range t.Rows {
		n += len(t.Rows[i].Permissions)
	}
	return n
}

// A set is a set of permissions.
type set map[assets.Permission]bool

func (s set) add(all []assets.Permission) {
	for _, p := range all {
		s[p] = true
	}
}

// sorted returns the permissions in the order of Known, and unknown ones after these.
func (s set) sorted() []assets.Permission {
	all := []assets.Permission{}
	for _, p := range Known() {
		if s[p] {
			all = append(all, p)
		}
	}
	if len(all) < len(s) {
		for _, p := range slices.Sorted(maps.Keys(s)) {
			if !isKnown(p) {
				all = append(all, p)
			}
		}
	}
	return all
}

func isKnown(p assets.Permission) bool { return slices.Contains(Known(), p) }

// A Reader reads the permissions of a workspace.
type Reader interface {
	Groups(context.Context) ([]assets.Group, error)
	Categories(context.Context) iter.Seq2[assets.Category, error]
	Grants(ctx context.Context, groupID string) ([]assets.Grant, error)
}

// A Current is what a workspace has.
type Current struct {
	Groups     []assets.Group
	Categories []assets.Category
	Grants     map[string][]assets.Grant // by the ID of a group that was read
}

// Read reads a workspace with the grants of the groups that wanted accepts. Each group costs one
// request.
func Read(ctx context.Context, r Reader, wanted func(assets.Group) bool) (Current, error) {
	c := Current{Grants: map[string][]assets.Grant{}}
	var err error
	if c.Groups, err = r.Groups(ctx); err != nil {
		return c, err
	}
	for category, err := range r.Categories(ctx) {
		if err != nil {
			return c, err
		}
		c.Categories = append(c.Categories, category)
	}
	for _, g := range c.Groups {
		if !wanted(g) {
			continue
		}
		if c.Grants[g.ID], err = grantsOf(ctx, r, g); err != nil {
			return c, err
		}
	}
	return c, nil
}

// grantsOf returns the grants of a group. It does not rely on the service to filter them: whether
// it does is not documented.
func grantsOf(ctx context.Context, r Reader, g assets.Group) ([]assets.Grant, error) {
	all, err := r.Grants(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	var own []assets.Grant
	for i := range all {
		one := &all[i]
		switch {
		case one.GroupID != "" && one.GroupID != g.ID:
		case one.Categories == nil: // an omitted list must not count as all categories
			return nil, fmt.Errorf("read permissions of group %q: the response does not contain the categories of permission %s", g.Name, one.ID)
		default:
			own = append(own, *one)
		}
	}
	return own, nil
}

// concerns reports whether a table names a group. The default group is always read, because it may
// make all permissions of others pointless.
func (t Table) concerns(g assets.Group) bool { return g.Default || t.names(g) }

func (t Table) names(g assets.Group) bool {
	for i := range t.Rows {
		if isGroup(g, t.Rows[i].Group) {
			return true
		}
	}
	return false
}

func isGroup(g assets.Group, name string) bool {
	return g.ID == name || norm.NFC.String(g.Name) == name
}
