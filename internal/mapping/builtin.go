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

// templateFiles contains one file for each built-in template, with its name.
//
//go:embed templates/*.yaml
var templateFiles embed.FS

// TemplateNames returns the names of the built-in templates, in order.
func TemplateNames() []string {
	files, err := fs.Glob(templateFiles, "templates/*.yaml")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return files
}

// builtIn returns the template of a name, or nil.
func builtIn(name string) (*Rules, error) {
	for _, known := range TemplateNames() {
		if known == name {
			t, err := readBuiltIn(name)
			return t.rules, err
		}
	}
	return nil, nil
}

// A builtInTemplate has rules and columns for the export of another program.
type builtInTemplate struct {
	about string // the program and the kind of export
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
