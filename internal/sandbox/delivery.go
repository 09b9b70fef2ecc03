package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
)

// deliver sends the bytes of an asset to anybody, unless its category is private.
// What is in the trash is not served: a guess, as are the headers and the ranges,
// which a profile may correct.
func (s *Server) deliver(c *call) error {
	workspace, id := c.args[0], c.args[1]
	var a asset
	var private bool
	err := s.store.read(func(ses *session) (err error) {
		if a, err = s.deliveredAsset(ses, id); err != nil {
			return err
		}
		cat, err := selectCategory(ses, a.Category)
		private = cat.Private
		return err
	})
	if errors.Is(err, errNotThere) || err == nil && a.Workspace != workspace {
		return noAsset(id)
	}
	if err != nil {
		return fmt.Errorf("deliver asset %s: %w", id, err)
	}
	if private {
		if err := s.admitPrivate(c, workspace, a.Category); err != nil {
			return err
		}
	}
	return s.send(c, a)
}

// deliveredAsset finds an asset, in the trash too if that is served.
func (s *Server) deliveredAsset(ses *session, id string) (asset, error) {
	a, err := selectAsset(ses, id)
	if !errors.Is(err, errNotThere) || !s.options.Profile.TrashServed {
		return a, err
	}
	stmt, err := ses.prepare("SELECT " + assetColumns + " FROM assets WHERE id = ?")
	if err != nil {
		return asset{}, err
	}
	a, err = scanAsset(stmt.QueryRow(id).Scan)
	return a, notThere(err)
}

func (s *Server) send(c *call, a asset) error {
	content, err := s.contents.open(a.content)
	if errors.Is(err, fs.ErrNotExist) { // deleted just now
		return noAsset(a.ID)
	}
	if err != nil {
		return fmt.Errorf("open content of asset %s: %w", a.ID, err)
	}
	defer func() { _ = content.Close() }()
	h := c.w.Header()
	h.Set("Content-Type", mimeType(fold(a.Extension)))
	h.Set("ETag", strconv.Quote(a.digest))
	h.Set("X-Content-Type-Options", "nosniff")
	if c.r.URL.Query().Get("download") == "true" {
		h.Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(a.Name+"."+a.Extension))
	}
	http.ServeContent(c.w, c.r, "", a.Modified, content)
	return nil
}
