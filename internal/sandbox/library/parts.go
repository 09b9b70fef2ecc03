package library

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Sizes of images in pixels: twice the shown size, for high-resolution screens.
const (
	thumbnailSide = 400
	previewSide   = 1600
)

func (p *Pages) thumbnail(w http.ResponseWriter, r *http.Request) error {
	return p.picture(w, r, thumbnailSide)
}
func (p *Pages) preview(w http.ResponseWriter, r *http.Request) error {
	return p.picture(w, r, previewSide)
}

func (p *Pages) picture(w http.ResponseWriter, r *http.Request, side int) error {
	c, err := p.assets.Picture(r.PathValue("id"), side)
	if err != nil {
		return err
	}
	return hand(w, r, c)
}

// file sends an uploaded file. Only audio and video are played; other files are downloads,
// because they could contain scripts.
func (p *Pages) file(w http.ResponseWriter, r *http.Request) error {
	c, err := p.assets.File(r.PathValue("id"), r.URL.Query().Get("revision"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if !playable(c.Type) || r.URL.Query().Has("download") {
		w.Header().Set("Content-Disposition", attachment(c.Name))
	}
	return hand(w, r, c)
}

// attachment returns a header that makes a browser save a file under its name.
func attachment(name string) string {
	if d := mime.FormatMediaType("attachment", map[string]string{"filename": name}); d != "" {
		return d
	}
	return "attachment"
}

func playable(contentType string) bool {
	return strings.HasPrefix(contentType, "video/") || strings.HasPrefix(contentType, "audio/")
}

// hand sends content, or "not modified".
func hand(w http.ResponseWriter, r *http.Request, c Content) (err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	h := w.Header()
	h.Set("Content-Type", c.Type)
	h.Set("ETag", strconv.Quote(c.Tag))
	h.Set("Cache-Control", "private, no-cache")
	http.ServeContent(w, r, "", c.Modified, c)
	return nil
}

// own sends a file of this package.
func (p *Pages) own(name, contentType string) func(http.ResponseWriter, *http.Request) error {
	text, err := files.ReadFile(name)
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", contentType)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
		return err
	}
}
