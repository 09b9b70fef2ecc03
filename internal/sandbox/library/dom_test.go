package library_test

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"
)

// A node is an element of a page, or text if it has no name.
type node struct {
	name     string
	attrs    map[string]string
	children []*node
	text     string
}

// parse parses a page, which is well-formed apart from omitted end tags.
func parse(t testing.TB, page string) *node {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	root := &node{name: "root"}
	open := []*node{root}
	for {
		token, err := d.Token()
		if err == io.EOF { // an attribute without a value
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v\n%s", err, page)
		}
		top := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attrs: make(map[string]string)}
			for _, a := range token.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			top.children = append(top.children, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.children = append(top.children, &node{text: string(token)})
		}
	}
	if len(open) != 1 {
		t.Fatalf("%s is not closed", open[len(open)-1].name)
	}
	return root
}

// all returns the elements with these names in order, or all elements.
func (n *node) all(names ...string) (found []*node) {
	for _, c := range n.children {
		if c.name == "" {
			continue
		}
		if len(names) == 0 || slices.Contains(names, c.name) {
			found = append(found, c)
		}
		found = append(found, c.all(names...)...)
	}
	return found
}

// with returns the nodes whose attribute contains the word.
func with(nodes []*node, attr, word string) []*node {
	return slices.DeleteFunc(nodes, func(n *node) bool { return !slices.Contains(strings.Fields(n.attrs[attr]), word) })
}

// String returns the text of an element, with single spaces.
func (n *node) String() string { return strings.Join(strings.Fields(n.raw()), " ") }

func (n *node) raw() string {
	text := n.text
	for _, c := range n.children {
		text += c.raw()
	}
	return text
}

// texts returns the texts of elements.
func texts(nodes []*node) []string {
	all := []string{}
	for _, n := range nodes {
		all = append(all, n.String())
	}
	return all
}

// link returns the URL of a link by its text.
func (n *node) link(t testing.TB, text string) string {
	t.Helper()
	for _, a := range n.all("a") {
		if a.String() == text {
			return a.attrs["href"]
		}
	}
	t.Fatalf("no link %q; there are %q", text, texts(n.all("a")))
	return ""
}
