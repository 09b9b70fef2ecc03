package sandbox

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/rendition"
	"assetferry/internal/sandbox/store"
)

// firstQuality returns the initial quality of a format: a guess.
func firstQuality(f rendition.Format) int {
	if f == rendition.WebP || f == rendition.JPEG {
		return 80
	}
	return 100
}

// A qualityView and its names are guesses; that each format has a quality is documented.
type qualityView struct {
	Format  rendition.Format `json:"format"`
	Quality int              `json:"quality"`
}

// quality returns the quality of a format in a workspace, and when it was set.
func (s *Server) quality(workspace string, f rendition.Format) (quality int, changed time.Time, err error) {
	var at int64
	err = s.store.Read(func(ses *store.Session) error {
		return ses.Row("SELECT quality, changed_at FROM image_qualities WHERE workspace_id = ? AND format = ?",
			[]any{workspace, string(f)}, &quality, &at)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return firstQuality(f), time.Time{}, nil
	}
	if err != nil {
		return 0, changed, fmt.Errorf("find the quality of %s: %w", f, err)
	}
	return quality, store.FromMillis(at), nil
}

func (s *Server) listQualities(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	out := list[qualityView]{Items: []qualityView{}}
	for _, f := range rendition.Formats() {
		q, _, err := s.quality(ws, f)
		if err != nil {
			return err
		}
		out.Items = append(out.Items, qualityView{f, q})
	}
	out.TotalCount, out.Limit = len(out.Items), len(out.Items)
	return c.Reply(http.StatusOK, out)
}

// setQuality changes the quality of new renditions in a format.
func (s *Server) setQuality(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	f, err := rendition.ParseFormat(c.args[0])
	if err != nil {
		return problem.Refuse(http.StatusNotFound, "There is no image format %q.", c.args[0])
	}
	var in struct{ Quality int }
	if err := c.json(&in); err != nil {
		return err
	}
	if in.Quality < 1 || in.Quality > 100 {
		return problem.Refuse(http.StatusBadRequest, "quality must be a number from 1 to 100.")
	}
	err = s.store.Write(func(ses *store.Session) error {
		_, err := ses.Exec(`INSERT INTO image_qualities (workspace_id, format, quality, changed_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET quality = excluded.quality, changed_at = excluded.changed_at`,
			ws, string(f), in.Quality, store.Millis(s.now()))
		return err
	})
	if err != nil {
		return fmt.Errorf("set the quality of %s in %s: %w", f, ws, err)
	}
	return c.Reply(http.StatusOK, qualityView{f, in.Quality})
}
