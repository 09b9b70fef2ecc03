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

// deliver sends the content of an asset.
func (s *Server) deliver(c *call) error {
	a, private, err := s.admitDelivery(c)
	if err != nil {
		return err
	}
	return s.send(c, a, private)
}

// admitDelivery returns the asset of a URL, without a token unless its category is private.
// That assets in the trash are not served is a guess, as are the headers and ranges. A profile
// can change these.
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

// deliveredAsset returns an asset, also in the trash if that is served.
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

// send sends the original content of an asset.
func (s *Server) send(c *call, a records.Asset, private bool) error {
	content, err := s.contents.Open(a.Content)
	if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
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

// A handout is a file to send to a client.
type handout struct {
	name, mime string
	tag        string // identifies the content
	modified   time.Time
	content    io.ReadSeeker
	private    bool
}

// hand sends a file, a range of it, or "not modified". Files that may contain scripts get their
// own origin, see isActive. URLs stay the same when the content changes, so caches must
// revalidate, and shared caches must not store private content: guesses.
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

// attachment returns a header that makes browsers save a file under a name, in ASCII for old
// programs and in UTF-8.
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
