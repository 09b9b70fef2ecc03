package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"net/http"

	"assetferry/internal/sandbox/rendition"
	"assetferry/internal/sandbox/store"
)

// analyseAssets queues images for a description and tags. It skips other files, and workspaces
// with analysis off. A missing asset refuses the whole request. These are guesses.
func (s *Server) analyseAssets(c *call) error {
	if _, err := c.workspace(); err != nil {
		return err
	}
	var in struct{ AssetIDs []string }
	if err := c.json(&in); err != nil {
		return err
	}
	if err := given("assetIds", in.AssetIDs); err != nil {
		return err
	}
	states := make(map[string]string)
	for _, id := range in.AssetIDs {
		a, err := s.asset(c, id)
		if err != nil {
			return err
		}
		states[id] = "queued"
		if w, _ := s.workspaces.Get(a.Workspace); a.Picture.State == "no" || !w.AIProcessing {
			states[id] = "skipped"
		}
	}
	err := s.store.Write(func(ses *store.Session) error {
		for id, state := range states {
			if _, err := ses.Exec("UPDATE assets SET analysis = ? WHERE id = ?", state, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("queue %d assets for analysis: %w", len(states), err)
	}
	s.processor.wake()
	c.W.WriteHeader(http.StatusAccepted)
	return nil
}

// analyseNext analyses one processed image, if there is one in the queue.
func (s *Server) analyseNext(ctx context.Context) (analysed bool, err error) {
	var id, content string
	err = s.store.Read(func(ses *store.Session) error {
		return store.NotThere(ses.Row(`SELECT a.id, a.content FROM assets a JOIN pictures p ON p.content = a.content
			WHERE a.analysis = 'queued' AND p.state <> 'queued' ORDER BY a.seq LIMIT 1`, nil, &id, &content))
	})
	if errors.Is(err, store.ErrNotThere) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var description, tags string
	p, release, broken := s.decode(ctx, content, rendition.Cost)
	if broken == nil {
		defer release()
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if broken == nil {
		if description, tags, err = describe(p); err != nil {
			return false, err
		}
	}
	return true, s.store.Write(func(ses *store.Session) error { return s.noteAnalysis(ses, id, content, description, tags) })
}

// noteAnalysis sets the empty fields of an asset. If the image was replaced meanwhile, it stays
// queued.
func (s *Server) noteAnalysis(ses *store.Session, id, content, description, tags string) error {
	if description == "" {
		_, err := ses.Exec("UPDATE assets SET analysis = 'error' WHERE id = ? AND content = ?", id, content)
		return err
	}
	_, err := ses.Exec(`UPDATE assets SET analysis = 'success', modified_at = ?,
			description = CASE description WHEN '' THEN ? ELSE description END,
			tags = CASE tags WHEN '[]' THEN ? ELSE tags END
		WHERE id = ? AND content = ?`, store.Millis(s.now()), description, tags, id, content)
	return err
}

// describe describes an image by measurements, because there is no model here.
func describe(p rendition.Picture) (description, tags string, err error) {
	size, colour := p.Size(), colourName(p.Colour())
	shape := shapeOf(size)
	text, err := json.Marshal([]string{shape, colour})
	return fmt.Sprintf("A %s picture of %d × %d pixels, mostly %s.", shape, size.X, size.Y, colour), string(text), err
}

func shapeOf(size image.Point) string {
	switch {
	case 10*size.X > 11*size.Y:
		return "landscape"
	case 10*size.Y > 11*size.X:
		return "portrait"
	}
	return "square"
}

// colourName returns the nearest colour that has a common name.
func colourName(c color.NRGBA) string {
	best, least := "", 1<<30
	for _, known := range []struct {
		name    string
		r, g, b int
	}{
		{"black", 0, 0, 0}, {"grey", 128, 128, 128}, {"white", 255, 255, 255}, {"red", 200, 30, 30}, {"orange", 240, 140, 20},
		{"yellow", 240, 220, 50}, {"green", 60, 140, 50}, {"turquoise", 60, 190, 190}, {"blue", 50, 90, 200}, {"purple", 130, 50, 160},
		{"pink", 240, 150, 190}, {"brown", 110, 70, 40},
	} {
		r, g, b := int(c.R)-known.r, int(c.G)-known.g, int(c.B)-known.b
		if d := r*r + g*g + b*b; d < least {
			best, least = known.name, d
		}
	}
	return best
}
