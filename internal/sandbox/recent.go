package sandbox

import (
	"errors"
	"fmt"

	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// maxRecent limits the recently used assets of a user; a guess.
const maxRecent = 200

// listRecent lists the assets that the user used, latest first, without the trash. An upload
// counts as a use: guesses.
func (s *Server) listRecent(c *call) error {
	return s.replyVisible(c, func(ses *store.Session, ws, visible string, limit, offset int) ([]records.Asset, int, error) {
		return selectUsed(ses, ws, c.who.User, visible, limit, offset)
	})
}

// markUsed records uses; the first of several counts as the latest. Missing assets are ignored:
// guesses.
func (s *Server) markUsed(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	ids, err := c.ids()
	if err != nil {
		return err
	}
	r, err := c.rights(ws)
	if err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error {
		for i := len(ids) - 1; i >= 0; i-- {
			a, err := records.SelectAsset(ses, ids[i])
			if errors.Is(err, store.ErrNotThere) || err == nil && (a.Workspace != ws || !r.May(records.MayAccess, a.Category)) {
				continue
			}
			if err != nil {
				return err
			}
			if err := use(ses, ws, c.who.User, a.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("note the use of %d assets: %w", len(ids), err)
	}
	return c.Done()
}

// use records the use of an asset. Old uses stay, one for each asset and user, because cleaning
// up would cost more than storing them.
func use(s *store.Session, workspace, user, id string) error {
	_, err := s.Exec("INSERT OR REPLACE INTO uses (workspace_id, user, asset_id) VALUES (?, ?, ?)", workspace, user, id)
	return err
}

func selectUsed(s *store.Session, workspace, user, visible string, limit, offset int) (found []records.Asset, total int, err error) {
	const used = ` FROM assets JOIN (SELECT asset_id, seq AS used FROM uses WHERE workspace_id = ? AND user = ? ORDER BY seq DESC LIMIT ?)
		ON asset_id = id WHERE trashed_at IS NULL AND category_id IN (SELECT value FROM json_each(?))`
	args := []any{workspace, user, maxRecent, visible}
	if err := s.Row("SELECT count(*)"+used, args, &total); err != nil {
		return nil, 0, err
	}
	found, err = records.ReadAssets(s, used+" ORDER BY used DESC LIMIT ? OFFSET ?", append(args, limit, offset))
	return found, total, err
}
