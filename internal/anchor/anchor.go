// Package anchor gives the elements of a text IDs, which reviews of the AI content service use.
package anchor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"assetferry/internal/pattern"
)

// dataID is the attribute that a review expects of each element at the top.
const dataID = "data-id"

// errEmpty means that a text has no element that could be reviewed.
var errEmpty = errors.New("nothing in it can be reviewed")

var (
	anyTag    = pattern.Lazy(`<[a-zA-Z][a-zA-Z0-9-]*(?:[\s/][^<>]*)?>`) // does not match <anna@example.org>
	blankLine = pattern.Lazy(`\r?\n[ \t]*\r?\n\s*`)
)

// Elements returns HTML whose top-level elements each have a data-id: their own, or a number. The
// paragraphs of a text without markup become elements. Content that is never shown, such as scripts
// and the head of a page, is removed.
func Elements(text string) (string, error) {
	if !anyTag().MatchString(text) {
		var b strings.Builder
		for _, paragraph := range blankLine().Split(text, -1) {
			b.WriteString("<p>" + html.EscapeString(strings.TrimSpace(paragraph)) + "</p>")
		}
		text = b.String()
	}
	nodes, err := html.ParseFragment(strings.NewReader(text), &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body})
	if err != nil {
		return "", fmt.Errorf("read HTML: %w", err)
	}
	elements := shown(nodes)
	if len(elements) == 0 {
		return "", errEmpty
	}
	number(elements)
	var b strings.Builder
	for _, n := range elements {
		if err := html.Render(&b, n); err != nil {
			return "", fmt.Errorf("write HTML: %w", err)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// shown returns the elements that are shown. Text between them becomes an element.
func shown(nodes []*html.Node) (all []*html.Node) {
	for _, n := range nodes {
		switch {
		case n.Type == html.TextNode && strings.TrimSpace(n.Data) != "":
			p := &html.Node{Type: html.ElementNode, Data: "p", DataAtom: atom.P}
			p.AppendChild(n)
			all = append(all, p)
		case n.Type == html.ElementNode && !hidden(n) && hasText(n):
			all = append(all, n)
		}
	}
	return all
}

// hidden reports whether an element is never shown.
func hidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Base, atom.Link, atom.Meta, atom.Noscript, atom.Script, atom.Style, atom.Template, atom.Title:
		return true
	}
	return false
}

func hasText(n *html.Node) bool {
	for below := range n.Descendants() {
		if below.Type == html.TextNode && strings.TrimSpace(below.Data) != "" {
			return true
		}
	}
	return false
}

// number gives each element without a data-id the next unused number.
func number(elements []*html.Node) {
	taken := map[string]bool{"": true}
	for _, n := range elements {
		taken[idOf(n)] = true
	}
	next := 0
	for _, n := range elements {
		if idOf(n) != "" {
			continue
		}
		id := ""
		for taken[id] {
			next++
			id = strconv.Itoa(next)
		}
		n.Attr = append(n.Attr, html.Attribute{Key: dataID, Val: id})
	}
}

func idOf(n *html.Node) string {
	for _, a := range n.Attr {
		if a.Key == dataID {
			return a.Val
		}
	}
	return ""
}
