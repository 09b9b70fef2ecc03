package metadata

import (
	"errors"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/strictyaml"
	"assetferry/internal/tabular"
)

// yamlSidecar reads a YAML mapping of the same structure as a JSON sidecar.
func yamlSidecar(data []byte) (Fields, error) {
	y := &yamlWalker{into: &sidecar{takeout: map[string]string{}}}
	var err error
	if y.file, err = strictyaml.Parse("", data); err == nil && y.file.Root != nil {
		if _, ok := y.file.Root.(*ast.MappingNode); ok {
			err = y.value(nil, y.file.Root)
		} else {
			err = y.file.ErrorAt(y.file.Root, `lines such as "key: value" are required here`)
		}
	}
	if m, ok := errors.AsType[*strictyaml.Mistake](err); ok {
		return nil, &tabular.Mistake{Line: max(m.Line, 1), Column: max(m.Column, 1), What: m.What}
	}
	return y.into.done()
}

type yamlWalker struct {
	file  *strictyaml.File
	into  *sidecar
	depth int
}

// value reads a value with everything in it.
func (y *yamlWalker) value(path []string, node ast.Node) error {
	if y.depth++; y.depth > maxSidecarDepth {
		return y.file.ErrorAt(node, tooDeep)
	}
	defer func() { y.depth-- }()
	switch n := node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if err := y.value(path, v); err != nil {
				return err
			}
		}
		return nil
	case *ast.MappingNode:
		return y.mapping(path, n)
	}
	text, ok := strictyaml.Scalar(node)
	if !ok {
		return y.file.ErrorAt(node, "a text, a number or a list of these is required here")
	}
	y.into.say(path, text)
	return nil
}

func (y *yamlWalker) mapping(path []string, node *ast.MappingNode) error {
	entries, err := y.file.Entries(node)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strictyaml.Scalar(e.Key)
		if !ok {
			return y.file.ErrorAt(e.Key, "the name of a field is required here")
		}
		if err := y.value(append(path[:len(path):len(path)], name), e.Value); err != nil {
			return err
		}
	}
	return nil
}
