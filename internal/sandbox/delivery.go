package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// deliver sends the bytes of an asset.
func (s *Server) deliver(c *call) error {
	a, private, err := s.admitDelivery(c)
	if err != nil {
		return err
	}
	return s.send(c, a, private)
}

// admitDelivery finds the asset that an address names, for anybody, unless its
// category is private. What is in the trash is not served: a guess, as are the
// headers and the ranges, which a profile may correct.
func (s *Server) admitDelivery(c *call) (a records.Asset, private bool, err error) {
	workspace, id := c.args[0], c.args[1]
	err = s.store.Read(func(ses *store.Session) (err error) {
		if a, err = s.deliveredAsset(ses, id); err != nil {
			return err
		}
		cat, err := records.SelectCategory(ses, a.Category)
		private = cat.Private
		return err
	})
	if errors.Is(err, store.ErrNotThere) || err == nil && a.Workspace != workspace {
		return a, private, noAsset(id)
	}
	if err != nil {
		return a, private, fmt.Errorf("deliver asset %s: %w", id, err)
	}
	if private {
		err = s.admitPrivate(c, workspace, a.Category)
	}
	return a, private, err
}

// deliveredAsset finds an asset, in the trash too if that is served.
func (s *Server) deliveredAsset(ses *store.Session, id string) (records.Asset, error) {
	a, err := records.SelectAsset(ses, id)
	if !errors.Is(err, store.ErrNotThere) || !s.options.Profile.TrashServed {
		return a, err
	}
	stmt, err := ses.Prepare("SELECT " + records.AssetColumns + " FROM assets WHERE id = ?")
	if err != nil {
		return records.Asset{}, err
	}
	a, err = records.ScanAsset(stmt.QueryRow(id).Scan)
	return a, store.NotThere(err)
}

// send hands out the bytes of an asset as they were uploaded.
func (s *Server) send(c *call, a records.Asset, private bool) error {
	content, err := s.contents.Open(a.Content)
	if errors.Is(err, fs.ErrNotExist) { // deleted just now
		return noAsset(a.ID)
	}
	if err != nil {
		return fmt.Errorf("open content of asset %s: %w", a.ID, err)
	}
	defer func() { _ = content.Close() }()
	return c.hand(handout{
		name: a.Name + "." + a.Extension, mime: naming.MimeType(naming.Fold(a.Extension)), tag: a.Checksum,
		modified: a.Modified, content: content, private: private,
	})
}

// A handout is a file on its way to a client.
type handout struct {
	name, mime string
	tag        string // says which bytes they are
	modified   time.Time
	content    io.ReadSeeker
	private    bool
}

// hand sends a file, or a part of it, or word that the client has it already. In a browser
// one that may run scripts is a site of its own, see isActive.
// Addresses stay when what they show changes, so caches have to ask each time,
// and those that several people share may not keep what is private: guesses.
func (c *call) hand(out handout) error {
	active, err := isActive(out.mime, out.content)
	if err != nil {
		return fmt.Errorf("read %s: %w", out.name, err)
	}
	h := c.W.Header()
	if active {
		h.Set("Content-Security-Policy", sandboxed)
	}
	h.Set("Content-Type", out.mime)
	h.Set("ETag", strconv.Quote(out.tag))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, no-cache")
	if out.private {
		h.Set("Cache-Control", "private, no-cache")
		h.Add("Vary", "Cookie, Authorization")
	}
	if c.R.URL.Query().Get("download") == "true" {
		h.Set("Content-Disposition", attachment(out.name))
	}
	http.ServeContent(c.W, c.R, "", out.modified, out.content)
	return nil
}

// attachment tells a browser to save a file under a name, which is there twice:
// in ASCII for old programs, and as it is.
func attachment(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%`, r) {
			return '_'
		}
		return r
	}, name)
	escaped := strings.ReplaceAll(url.QueryEscape(name), "+", "%20") // stricter than PathEscape
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + escaped
}
