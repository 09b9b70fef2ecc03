package records

import (
	"slices"

	"assetferry/internal/sandbox/store"
)

// A Permission is a right in a category. Tokens with the role user have the rights of their
// groups; administrators have all.
type Permission string

const (
	NoPermission      Permission = "" // for routes that need only access or have no category
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

// Rights are the rights of a token in a workspace.
type Rights struct {
	All    bool
	Grants []Grant
}

func (r Rights) May(p Permission, category string) bool {
	return r.All || p == NoPermission || slices.ContainsFunc(r.Grants, func(g Grant) bool {
		return g.Granted[p] && (len(g.Categories) == 0 || slices.Contains(g.Categories, category))
	})
}

// both reports whether a category is accessible and the permission is granted.
func (r Rights) both(p Permission, category string) bool {
	return r.May(MayAccess, category) && r.May(p, category)
}

// RefusesAsset reports whether a permission for an asset is missing. It returns false for a
// missing asset, which the caller reports.
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

// Visible returns the accessible categories of a workspace as a JSON array for SQL.
func (r Rights) Visible(ses *store.Session, workspace string) (string, error) {
	ids, err := CategoryIDs(ses, r, workspace)
	if err != nil {
		return "", err
	}
	return JsonArray(ids), nil
}
