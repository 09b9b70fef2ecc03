package library

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// excerptBytes limits the excerpt of a text.
const excerptBytes = 4000

// An assetBody is the content of the page of an asset.
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

// An excerpt is the beginning of a text.
type excerpt struct {
	Text string
	More bool // the text continues
}

// excerpt returns the beginning of a text asset.
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
		head = head[:len(head)-1] // an incomplete character
	}
	if utf8.Valid(head) && !strings.ContainsRune(string(head), 0) {
		e.Text = string(head)
	}
	return e, nil
}

// A mark is the provenance attribute, by which assetferry recognizes its assets.
type mark struct {
	Source, Content string // opaque
	Copied          bool   // the asset is a copy of the marked one
	Replaced        bool   // the content was replaced after marking
}

// markOf returns the mark of an asset, or the zero value.
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
