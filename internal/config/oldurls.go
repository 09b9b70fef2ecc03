package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/oldurl"
	"assetferry/internal/strictyaml"
)

// oldURLsKey is the key of the templates of old URLs.
const oldURLsKey = "old_urls"

// oldURLs reads one template of old URLs, or a list of them.
func (f file) oldURLs(node ast.Node) ([]*oldurl.Template, error) {
	nodes := []ast.Node{node}
	if sequence, ok := node.(*ast.SequenceNode); ok {
		nodes = sequence.Values
	}
	var all []*oldurl.Template
	for _, n := range nodes {
		t, err := f.oldURLTemplate(n)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(o *oldurl.Template) bool { return o.String() == t.String() }) {
			return nil, f.ErrorAt(n, "this URL appears twice")
		}
		all = append(all, t)
	}
	return all, nil
}

// oldURLTemplate reads a template: a URL alone, or with its widths.
func (f file) oldURLTemplate(node ast.Node) (*oldurl.Template, error) {
	template, widths := node, []int(nil)
	if _, more := node.(*ast.MappingNode); more {
		template = nil
		err := f.walk(node, []row{{key: "url"}, {key: "widths"}}, func(r row, value ast.Node) (err error) {
			if r.key == "url" {
				template = value
				return nil
			}
			widths, err = f.widths(value)
			return err
		})
		if err != nil {
			return nil, err
		}
		if template == nil {
			return nil, f.ErrorAt(node, "url is missing")
		}
	}
	text, ok := strictyaml.Scalar(template)
	if !ok {
		return nil, f.ErrorAt(template, "a URL is expected here, such as https://cdn.example.com/${path}")
	}
	t, err := oldurl.ParseTemplate(text, widths)
	if mistake, ok := errors.AsType[*oldurl.TemplateError](err); ok {
		return nil, f.ErrorIn(template, mistake.At, mistake.Msg+" (see assetferry help redirects)")
	}
	return t, err
}

// widths reads a list of widths.
func (f file) widths(node ast.Node) (all []int, err error) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok || len(sequence.Values) == 0 {
		return nil, f.ErrorAt(node, "widths takes a list of numbers, such as [320, 640, 1280]")
	}
	for _, n := range sequence.Values {
		text, _ := strictyaml.Scalar(n)
		width, err := strconv.Atoi(text)
		if err != nil || width < 1 || width > oldurl.MaxWidth {
			return nil, f.ErrorAt(n, fmt.Sprintf("%q is not a width from 1 to %d", text, oldurl.MaxWidth))
		}
		if slices.Contains(all, width) {
			return nil, f.ErrorAt(n, fmt.Sprintf("the width %d appears twice", width))
		}
		all = append(all, width)
	}
	return all, nil
}

// oldURLs returns the number of templates.
func (s *Settings) oldURLs() Effect {
	e := Effect{Name: oldURLsKey, From: byDefault}
	switch n := len(s.OldURLs); {
	case n == 1:
		e.Value = "1 template"
	case n > 1:
		e.Value = fmt.Sprintf("%d templates", n)
	}
	if s.OldURLs != nil {
		e.From = map[Origin]string{FromFile: s.File, FromJob: s.fromJob()}[s.origin[oldURLsKey]]
	}
	return e
}
