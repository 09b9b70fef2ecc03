package sandbox

import (
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// replyBulk responds to a request for several assets: 204 after success, otherwise 207 with the
// status of each failure.
func (c *call) replyBulk(failed map[string]int) error {
	if len(failed) == 0 {
		return c.Done()
	}
	return c.Reply(http.StatusMultiStatus, failed)
}

// bulk changes several assets in one transaction, with a permission check at the place of each.
// The function returns 0 for success or else a status.
func (s *Server) bulk(c *call, workspace string, needs records.Permission, ids []string, do func(ses *store.Session, i int) (status int, err error)) error {
	r, err := c.rights(workspace)
	if err != nil {
		return err
	}
	var failed map[string]int
	err = s.store.Write(func(ses *store.Session) error {
		failed = make(map[string]int)
		for i, id := range ids {
			refused, err := r.RefusesAsset(ses, needs, id)
			if err != nil {
				return err
			}
			if refused {
				failed[id] = http.StatusForbidden
				continue
			}
			status, err := do(ses, i)
			if err != nil {
				return err
			}
			if status != 0 {
				failed[id] = status
			}
		}
		return nil
	})
	if store.IsForeignKey(err) {
		return problem.Refuse(http.StatusNotFound, "The target was deleted or changed.")
	}
	if err != nil {
		return fmt.Errorf("change %d assets: %w", len(ids), err)
	}
	return c.replyBulk(failed)
}
