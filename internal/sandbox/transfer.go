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

// A target is a category or a folder, as bodies name it.
type target struct{ CategoryID, FolderID *string }

// target finds the place that a body names. Both at once are refused: a guess, since
// no client is known to send them.
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

// An assetAction names an asset and what to do if its name is taken where it goes.
type assetAction struct{ AssetID, Action string }

func (a assetAction) check() error {
	if slices.Contains([]string{"", "rename", "replace"}, a.Action) {
		return nil
	}
	return problem.Refuse(http.StatusBadRequest, "The action %q must be rename or replace.", a.Action)
}

// An arrival is where an asset is bound for, and what may be done there for whom.
type arrival struct {
	to     records.Place
	action string
	may    records.Rights
	user   string
}

func (s *Server) copyAssets(c *call) error { return s.transfer(c, records.NoPermission, s.copyAsset) }

// moveAssets takes away where the assets are, which needs the permission to do so:
// a guess.
func (s *Server) moveAssets(c *call) error {
	return s.transfer(c, records.MayDeleteAssets, s.moveAsset)
}

// transfer brings assets of the workspace to a place in it. Those of another one
// are not there: a guess.
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

// copyAsset makes an asset that shares the stored bytes, with what describes
// them, and without the older revisions. If the storage is used up, nothing is
// copied at all: guesses.
func (s *Server) copyAsset(ses *store.Session, a records.Asset, at arrival) (status int, err error) {
	was := a
	a.ID, a.Category, a.Folder = naming.NewAssetID(), at.to.Category, at.to.Folder
	a.Uploaded = s.now()
	a.Modified = a.Uploaded
	if at.action == "replace" && at.to == (records.Place{Workspace: a.Workspace, Category: was.Category, Folder: was.Folder}) {
		return http.StatusConflict, nil // it would replace what it is a copy of
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

// moveAsset leaves an asset alone that is there already: a guess.
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

// arrive makes sure that an asset may lie where it is bound for. If its name is
// taken there, the asset is refused, gets another name, or what has the name goes
// to the trash, which needs the permission to overwrite: how it is refused, what
// the names are and what is needed are guesses.
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
