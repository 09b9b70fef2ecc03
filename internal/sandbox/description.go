package sandbox

import (
	_ "embed"

	"assetferry/internal/sandbox/docs"
)

//go:embed openapi.yaml
var openapi []byte

// Description returns the OpenAPI description of the sandbox as JSON.
func Description() ([]byte, error) { return description.JSON() }

var description = docs.New(openapi, "docs.json")

func (s *Server) serveDocs(c *call) error {
	return c.SendMade("text/html; charset=utf-8", description.Page)
}

func (s *Server) serveDescription(c *call) error {
	return c.SendMade("application/json; charset=utf-8", description.JSON)
}
