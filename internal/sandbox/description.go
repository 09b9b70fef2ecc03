package sandbox

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/goccy/go-yaml"

	"assetferry/internal/sandbox/docs"
)

//go:embed openapi.yaml
var openapi []byte

// Description gives the OpenAPI description of all that a sandbox answers, as JSON.
func Description() ([]byte, error) { return description() }

var description = sync.OnceValues(func() ([]byte, error) {
	text, err := yaml.YAMLToJSON(openapi) // keeps the order, which the page needs
	if err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, fmt.Errorf("convert description: %w", err)
	}
	return b.Bytes(), nil
})

// docsPage is the description to be read by people.
var docsPage = sync.OnceValues(func() ([]byte, error) {
	text, err := Description()
	if err != nil {
		return nil, err
	}
	return docs.Page(text)
})

func (s *Server) serveDocs(c *call) error {
	text, err := docsPage()
	if err != nil {
		return err
	}
	return c.SendText("text/html; charset=utf-8", text)
}

func (s *Server) serveDescription(c *call) error {
	text, err := Description()
	if err != nil {
		return err
	}
	return c.SendText("application/json; charset=utf-8", text)
}
