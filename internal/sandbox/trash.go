package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// bulkIDs changes each asset in a JSON array of IDs once. An unknown ID has the status 404: a guess
// from the other bulk routes.
func (s *Server) bulkIDs(c *call, do func(ses *store.Session, workspace, id string) (found bool, err error)) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	ids, err := c.ids()
	if err != nil {
		return err
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return s.bulk(c, ws, c.route.needs, ids, func(ses *store.Session, i int) (int, error) {
		found, err := do(ses, ws, ids[i])
		if err == nil && !found {
			return http.StatusNotFound, nil
		}
		return 0, err
	})
}

func (s *Server) trashAssets(c *call) error {
	return s.bulkIDs(c, func(ses *store.Session, workspace, id string) (bool, error) {
		return s.trash(ses, workspace, id)
	})
}

func (s *Server) trash(ses *store.Session, workspace, id string) (found bool, err error) {
	n, err := ses.Exec("UPDATE assets SET trashed_at = ? WHERE id = ? AND workspace_id = ? AND trashed_at IS NULL",
		store.Millis(s.now()), id, workspace)
	return n > 0, err
}

// deleteAssets permanently deletes assets, in the trash or not.
func (s *Server) deleteAssets(c *call) error {
	return s.bulkIDs(c, func(ses *store.Session, workspace, id string) (bool, error) {
		n, err := ses.Exec("DELETE FROM assets WHERE id = ? AND workspace_id = ?", id, workspace)
		return n > 0, err
	})
}

// A restoration is an asset to restore from the trash, optionally to another place.
type restoration struct {
	assetAction
	Target *target
	at     records.Place
}

func (s *Server) restoreAssets(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	var in struct{ AssetsActions []restoration }
	if err := c.json(&in); err != nil {
		return err
	}
	if err := given("assetsActions", in.AssetsActions); err != nil {
		return err
	}
	var ids []string
	for i := range in.AssetsActions {
		r := &in.AssetsActions[i]
		if err := r.check(); err != nil {
			return err
		}
		if r.Target != nil {
			if r.at, err = s.target(c, *r.Target); err != nil {
				return err
			}
		}
		ids = append(ids, r.AssetID)
	}
	may, err := c.rights(ws)
	if err != nil {
		return err
	}
	// It is a guess that users who may delete may also restore.
	return s.bulk(c, ws, records.MayDeleteAssets, ids, func(ses *store.Session, i int) (int, error) {
		r := in.AssetsActions[i]
		return s.restore(ses, ws, r.AssetID, arrival{r.at, r.Action, may, c.who.User})
	})
}

// restore restores one asset from the trash, by default to its previous place.
func (s *Server) restore(ses *store.Session, workspace, id string, at arrival) (status int, err error) {
	a, _, err := selectTrashed(ses, workspace, id)
	if errors.Is(err, store.ErrNotThere) {
		return http.StatusNotFound, nil
	}
	if err != nil {
		return 0, err
	}
	if at.to.Category != "" {
		a.Category, a.Folder = at.to.Category, at.to.Folder
	}
	if status, err = s.arrive(ses, &a, at); status != 0 || err != nil {
		return status, err
	}
	if err := placeAsset(ses, a); err != nil {
		return 0, err
	}
	_, err = ses.Exec("UPDATE assets SET trashed_at = NULL, displaced = 0 WHERE id = ?", a.ID)
	return 0, err
}

type restorability struct {
	SourceExists       bool `json:"sourceExists"`
	HasNameConflict    bool `json:"hasNameConflict"`
	IsExtensionAllowed bool `json:"isExtensionAllowed"`
}

// validateRestore returns the obstacles to restoring assets. It omits assets that are not in the
// trash or not accessible: a guess.
func (s *Server) validateRestore(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	var in struct{ AssetsIDs []string }
	if err := c.json(&in); err != nil {
		return err
	}
	if err := given("assetsIds", in.AssetsIDs); err != nil {
		return err
	}
	may, err := c.rights(ws)
	if err != nil {
		return err
	}
	found := make(map[string]restorability)
	err = s.store.Read(func(ses *store.Session) error {
		for _, id := range in.AssetsIDs {
			r, err := restorabilityOf(ses, may, ws, id)
			if err == nil {
				found[id] = r
			} else if !errors.Is(err, store.ErrNotThere) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look at %d assets in the trash: %w", len(in.AssetsIDs), err)
	}
	return c.Reply(http.StatusOK, map[string]any{"assets": found})
}

func restorabilityOf(ses *store.Session, may records.Rights, workspace, id string) (r restorability, err error) {
	a, displaced, err := selectTrashed(ses, workspace, id)
	if err != nil {
		return r, err
	}
	if !may.May(records.MayAccess, a.Category) {
		return r, store.ErrNotThere
	}
	r.SourceExists = !displaced
	if r.IsExtensionAllowed, err = records.Takes(ses, a.Category, naming.Fold(a.Extension)); err != nil {
		return r, err
	}
	r.HasNameConflict, err = records.IsTaken(ses, a)
	return r, err
}

// selectTrashed returns an asset in the trash, and whether its folder has been deleted since.
func selectTrashed(s *store.Session, workspace, id string) (a records.Asset, displaced bool, err error) {
	stmt, err := s.Prepare("SELECT displaced, " + records.AssetColumns + " FROM assets WHERE id = ? AND workspace_id = ? AND trashed_at IS NOT NULL")
	if err != nil {
		return a, false, err
	}
	row := stmt.QueryRow(id, workspace)
	a, err = records.ScanAsset(func(into ...any) error { return row.Scan(append([]any{&displaced}, into...)...) })
	return a, displaced, store.NotThere(err)
}
