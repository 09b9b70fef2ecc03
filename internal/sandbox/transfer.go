package sandbox

import (
	"errors"
	"net/http"
	"slices"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

// A target is a category or a folder in a request body.
type target struct{ CategoryID, FolderID *string }

// target returns the place in a body. Both at once are refused: a guess, because no known client
// sends them.
func (s *Server) target(c *call, t target) (records.Place, error) {
	if t.CategoryID != nil && t.FolderID != nil {
		return records.Place{}, problem.Refuse(http.StatusBadRequest, "Give either categoryId or folderId.")
	}
	at, err := s.place(c, t.CategoryID, t.FolderID)
	if err == nil && at.Category == "" {
		return at, problem.Refuse(http.StatusBadRequest, "The target needs a categoryId or a folderId.")
	}
	return at, err
}

// An assetAction names an asset and the action if its name exists at the target.
type assetAction struct{ AssetID, Action string }

func (a assetAction) check() error {
	if slices.Contains([]string{"", "rename", "replace"}, a.Action) {
		return nil
	}
	return problem.Refuse(http.StatusBadRequest, "The action %q must be rename or replace.", a.Action)
}

// An arrival is the target of an asset, with the action and the rights of the user.
type arrival struct {
	to     records.Place
	action string
	may    records.Rights
	user   string
}

func (s *Server) copyAssets(c *call) error { return s.transfer(c, records.NoPermission, s.copyAsset) }

// moveAssets removes assets from their place, so it requires the permission to delete: a guess.
func (s *Server) moveAssets(c *call) error {
	return s.transfer(c, records.MayDeleteAssets, s.moveAsset)
}

// transfer copies or moves assets of the workspace to a place in it. Assets of other workspaces are
// not found: a guess.
func (s *Server) transfer(c *call, needs records.Permission, carry func(*store.Session, records.Asset, arrival) (status int, err error)) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	var in struct {
		Target        target
		AssetsActions []assetAction
	}
	if err := c.json(&in); err != nil {
		return err
	}
	if err := given("assetsActions", in.AssetsActions); err != nil {
		return err
	}
	to, err := s.target(c, in.Target)
	if err != nil {
		return err
	}
	may, err := c.rights(ws)
	if err != nil {
		return err
	}
	var ids []string
	for _, a := range in.AssetsActions {
		if err := a.check(); err != nil {
			return err
		}
		ids = append(ids, a.AssetID)
	}
	return s.bulk(c, ws, needs, ids, func(ses *store.Session, i int) (int, error) {
		a, err := records.SelectAsset(ses, ids[i])
		if errors.Is(err, store.ErrNotThere) || err == nil && a.Workspace != ws {
			return http.StatusNotFound, nil
		}
		if err != nil {
			return 0, err
		}
		return carry(ses, a, arrival{to, in.AssetsActions[i].Action, may, c.who.User})
	})
}

// copyAsset creates an asset that shares the stored bytes and has the same metadata, without the
// older revisions. If the storage is used up, nothing is copied: guesses.
func (s *Server) copyAsset(ses *store.Session, a records.Asset, at arrival) (status int, err error) {
	was := a
	a.ID, a.Category, a.Folder = naming.NewAssetID(), at.to.Category, at.to.Folder
	a.Uploaded = s.now()
	a.Modified = a.Uploaded
	if at.action == "replace" && at.to == (records.Place{Workspace: a.Workspace, Category: was.Category, Folder: was.Folder}) {
		return http.StatusConflict, nil // the copy would replace its original
	}
	if status, err = s.arrive(ses, &a, at); status != 0 || err != nil {
		return status, err
	}
	if err := s.checkStorage(ses, a.Workspace, a.Size); err != nil {
		return 0, err
	}
	a.Revision, a.Number, a.Made, a.By = standin.NewUUID(), 1, a.Uploaded, at.user
	return 0, records.InsertAsset(ses, a)
}

// moveAsset does not change an asset that is already in the place: a guess.
func (s *Server) moveAsset(ses *store.Session, a records.Asset, at arrival) (status int, err error) {
	if a.Category == at.to.Category && a.Folder == at.to.Folder {
		return 0, nil
	}
	a.Category, a.Folder = at.to.Category, at.to.Folder
	if status, err = s.arrive(ses, &a, at); status != 0 || err != nil {
		return status, err
	}
	return 0, placeAsset(ses, a)
}

// arrive checks that an asset may be in its target. If its name exists there, the asset is refused
// or gets another name, or the existing asset is trashed, which requires the permission to
// overwrite. The status, the names and the permission are guesses.
func (s *Server) arrive(ses *store.Session, a *records.Asset, at arrival) (status int, err error) {
	allowed, err := records.Takes(ses, a.Category, naming.Fold(a.Extension))
	if err != nil {
		return 0, err
	}
	if !allowed {
		return http.StatusBadRequest, nil
	}
	taken, err := records.IsTaken(ses, *a)
	if err != nil || !taken {
		return 0, err
	}
	switch at.action {
	case "rename":
		a.Name, err = records.FreeName(ses, *a)
		return 0, err
	case "replace":
		if !at.may.May(records.MayOverwrite, a.Category) {
			return http.StatusForbidden, nil
		}
		namesakes, err := records.NamesakesOf(ses, *a)
		if err != nil {
			return 0, err
		}
		for _, id := range namesakes {
			if _, err := s.trash(ses, a.Workspace, id); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
	return http.StatusConflict, nil
}

func placeAsset(s *store.Session, a records.Asset) error {
	_, err := s.Exec("UPDATE assets SET category_id = ?, folder_id = ?, name = ?, normal = ? WHERE id = ?",
		a.Category, store.OrNull(a.Folder), a.Name, naming.Normal(a.Name), a.ID)
	return err
}
