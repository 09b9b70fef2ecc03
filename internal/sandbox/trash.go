package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// replyBulk answers a request about several assets: 204 if all went well, else
// 207 with the status of each that did not.
func (c *call) replyBulk(failed map[string]int) error {
	if len(failed) == 0 {
		return c.done()
	}
	return c.reply(http.StatusMultiStatus, failed)
}

// bulk does something with each asset that a JSON array names. For an unknown ID
// the answer has 404: a guess, taken from the other bulk routes.
func (s *Server) bulk(c *call, do func(ses *session, workspace, id string) (found bool, err error)) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	var ids []string
	if err := c.json(&ids); err != nil {
		return err
	}
	r, err := c.rights(ws)
	if err != nil {
		return err
	}
	var failed map[string]int
	err = s.store.write(func(ses *session) error {
		failed = make(map[string]int)
		for _, id := range ids {
			refused, err := r.refusesAsset(ses, c.route.needs, id)
			if err != nil {
				return err
			}
			if refused {
				failed[id] = http.StatusForbidden
				continue
			}
			found, err := do(ses, ws, id)
			if err != nil {
				return err
			}
			if !found {
				failed[id] = http.StatusNotFound
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("change %d assets: %w", len(ids), err)
	}
	return c.replyBulk(failed)
}

func (s *Server) trashAssets(c *call) error {
	now := millis(s.now())
	return s.bulk(c, func(ses *session, workspace, id string) (bool, error) {
		n, err := ses.exec("UPDATE assets SET trashed_at = ? WHERE id = ? AND workspace_id = ? AND trashed_at IS NULL",
			now, id, workspace)
		return n > 0, err
	})
}

// deleteAssets deletes for good, whether the assets are in the trash or not.
func (s *Server) deleteAssets(c *call) error {
	gone := make(map[string]string) // content by ID
	err := s.bulk(c, func(ses *session, workspace, id string) (bool, error) {
		var content string
		err := ses.row("DELETE FROM assets WHERE id = ? AND workspace_id = ? RETURNING content", []any{id, workspace}, &content)
		if errors.Is(notThere(err), errNotThere) {
			return gone[id] != "", nil // named twice
		}
		gone[id] = content
		return true, err
	})
	if err == nil {
		s.forget(slices.Collect(maps.Values(gone)))
	}
	return err
}

// A restoration is one asset to take out of the trash, to another place if one
// is named. Its action does not matter here, since equal names are accepted.
type restoration struct {
	AssetID string
	Target  *struct{ CategoryID, FolderID *string }
	at      place
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
	for i, r := range in.AssetsActions {
		if r.Target == nil {
			continue
		}
		if in.AssetsActions[i].at, err = s.place(c, r.Target.CategoryID, r.Target.FolderID); err != nil {
			return err
		}
	}
	may, err := c.rights(ws)
	if err != nil {
		return err
	}
	var failed map[string]int
	err = s.store.write(func(ses *session) error {
		failed = make(map[string]int)
		for _, r := range in.AssetsActions {
			// That who may throw away may also take back is a guess.
			refused, err := may.refusesAsset(ses, mayDeleteAssets, r.AssetID)
			if err != nil {
				return err
			}
			if refused {
				failed[r.AssetID] = http.StatusForbidden
				continue
			}
			status, err := restore(ses, ws, r)
			if err != nil {
				return err
			}
			if status != 0 {
				failed[r.AssetID] = status
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore %d assets: %w", len(in.AssetsActions), err)
	}
	return c.replyBulk(failed)
}

// restore takes one asset out of the trash, or gives the status that says why not.
func restore(ses *session, workspace string, r restoration) (status int, err error) {
	var folded string
	err = ses.row("SELECT folded FROM assets WHERE id = ? AND workspace_id = ? AND trashed_at IS NOT NULL",
		[]any{r.AssetID, workspace}, &folded)
	if errors.Is(notThere(err), errNotThere) {
		return http.StatusNotFound, nil
	}
	if err != nil {
		return 0, err
	}
	if r.at.category == "" {
		_, err = ses.exec("UPDATE assets SET trashed_at = NULL WHERE id = ?", r.AssetID)
		return 0, err
	}
	allowed, err := takes(ses, r.at.category, folded)
	if err != nil {
		return 0, err
	}
	if !allowed {
		return http.StatusBadRequest, nil
	}
	_, err = ses.exec("UPDATE assets SET trashed_at = NULL, category_id = ?, folder_id = ? WHERE id = ?",
		r.at.category, orNull(r.at.folder), r.AssetID)
	return 0, err
}
