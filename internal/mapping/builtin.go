package mapping

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/strictyaml"
)

// templateFiles hold the templates that rules can use, one in a file that is called like it.
//
//go:embed templates/*.yaml
var templateFiles embed.FS

// TemplateNames are the names of the built-in templates, in order.
func TemplateNames() []string {
	files, err := fs.Glob(templateFiles, "templates/*.yaml")
	if err != nil {
		panic(err) // the pattern is right
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return files
}

// builtIn is a template, nil if there is none of that name.
func builtIn(name string) (*Rules, error) {
	for _, known := range TemplateNames() {
		if known == name {
			t, err := readBuiltIn(name)
			return t.rules, err
		}
	}
	return nil, nil
}

// A builtInTemplate is a list of rules, and of columns, for what another program writes.
type builtInTemplate struct {
	about string // which program, and which of its exports
	rules *Rules
}

func readBuiltIn(name string) (builtInTemplate, error) {
	t := builtInTemplate{rules: new(Rules)}
	data, err := templateFiles.ReadFile("templates/" + name + ".yaml")
	if err != nil {
		return t, fmt.Errorf("read template %s: %w", name, err)
	}
	f, err := strictyaml.Parse("template "+name, data)
	if err != nil {
		return t, err
	}
	p := parser{File: f, into: t.rules, template: name}
	return t, p.walk(f.Root, map[string]entry{
		"about":   func(n ast.Node) (err error) { t.about, err = p.scalar("about", n); return err },
		"columns": p.columns,
		"rules":   p.rules,
	})
}
