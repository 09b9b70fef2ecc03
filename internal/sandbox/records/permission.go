package records

import (
	"slices"

	"assetferry/internal/sandbox/store"
)

// A Permission is a right within a category. Tokens of the role user have those
// Of their groups; an admin has them all.
type Permission string

const (
	NoPermission      Permission = "" // for routes that need nothing beyond access, or know no category
	MayAccess         Permission = "category:access"
	MayCreateAssets   Permission = "asset:create"
	MayDeleteAssets   Permission = "asset:delete"
	MayModifyAssets   Permission = "asset:metadata:modify"
	MayOverwrite      Permission = "asset:overwrite"
	MayChangeRevision Permission = "asset:revision:change"
	MayDeleteRevision Permission = "asset:revision:delete"
	MayCreateFolders  Permission = "folder:create"
	MayDeleteFolders  Permission = "folder:delete"
	MayRenameFolders  Permission = "folder:metadata:modify"
)

func Permissions() []Permission {
	return []Permission{
		MayAccess, MayCreateAssets, MayDeleteAssets, MayModifyAssets, MayOverwrite, MayChangeRevision,
		MayDeleteRevision, MayCreateFolders, MayDeleteFolders, MayRenameFolders,
	}
}

// Rights are what a token may do in a workspace.
type Rights struct {
	All    bool
	Grants []Grant
}

func (r Rights) May(p Permission, category string) bool {
	return r.All || p == NoPermission || slices.ContainsFunc(r.Grants, func(g Grant) bool {
		return g.Granted[p] && (len(g.Categories) == 0 || slices.Contains(g.Categories, category))
	})
}

// both reports whether a category can be entered and the permission is there.
func (r Rights) both(p Permission, category string) bool {
	return r.May(MayAccess, category) && r.May(p, category)
}

// RefusesAsset reports whether a call about several assets may not do this to
// one of them. Of what is not there it says no: that is for others to tell.
func (r Rights) RefusesAsset(ses *store.Session, p Permission, id string) (bool, error) {
	if r.All {
		return false, nil
	}
	var category string
	err := store.NotThere(ses.Row("SELECT category_id FROM assets WHERE id = ?", []any{id}, &category))
	if err != nil {
		return false, store.IgnoreNotThere(err)
	}
	return !r.both(p, category), nil
}

// Visible names the categories of a workspace that may be entered, as a JSON
// array for SQL.
func (r Rights) Visible(ses *store.Session, workspace string) (string, error) {
	ids, err := CategoryIDs(ses, r, workspace)
	if err != nil {
		return "", err
	}
	return JsonArray(ids), nil
}
