package library

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// excerptBytes is how much of a text is shown.
const excerptBytes = 4000

// An assetBody is all that is known of an asset.
type assetBody struct {
	Details
	Mark    mark
	Excerpt excerpt
}

func (p *Pages) asset(r *http.Request) (view, error) {
	a, err := p.assets.Asset(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	text, err := p.excerpt(a.Asset)
	return view{
		Title: fileName(a.Asset), Workspace: a.Workspace, Trail: trail(a.Workspace, a.Category, a.Around),
		Body: assetBody{a, markOf(a), text},
	}, err
}

// An excerpt is how a text begins.
type excerpt struct {
	Text string
	More bool // there is
}

// excerpt reads the beginning of an asset that is text.
func (p *Pages) excerpt(a Asset) (e excerpt, err error) {
	if kindOf(a) != "text" || a.Size == 0 {
		return e, nil
	}
	c, err := p.assets.File(a.ID, "")
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	head, err := io.ReadAll(io.LimitReader(c, excerptBytes))
	if err != nil {
		return e, err
	}
	e.More = a.Size > int64(len(head))
	for i := 0; e.More && i < utf8.UTFMax && !utf8.Valid(head); i++ {
		head = head[:len(head)-1] // a character that was cut
	}
	if utf8.Valid(head) && !strings.ContainsRune(string(head), 0) {
		e.Text = string(head)
	}
	return e, nil
}

// A mark is what assetferry writes on an asset to know it again, see the
// provenance attribute.
type mark struct {
	Source, Content string // opaque
	Copied          bool   // from the asset that it was written on
	Replaced        bool   // the content is another one by now
}

// markOf reads the mark of an asset; the zero value is none.
func markOf(a Details) mark {
	for _, attribute := range a.Attributes {
		if attribute.Name != "assetferry" {
			continue
		}
		if parts := strings.Split(attribute.Value, "."); len(parts) == 4 && parts[0] == "1" {
			return mark{Source: parts[1], Content: parts[2], Copied: parts[3] != a.ID, Replaced: !strings.HasPrefix(a.Checksum, parts[2])}
		}
	}
	return mark{}
}
