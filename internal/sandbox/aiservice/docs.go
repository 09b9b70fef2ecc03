package aiservice

import (
	_ "embed"
	"net/http"

	"assetferry/internal/sandbox/docs"
)

//go:embed openapi.yaml
var openapi []byte

// Description returns the OpenAPI description of the stand-in as JSON.
func Description() ([]byte, error) { return description.JSON() }

var description = docs.New(openapi, "doc.json")

func (s *Server) redirectToDocs(c *call) error {
	http.Redirect(c.W, c.R, "/v1/docs", http.StatusTemporaryRedirect)
	return nil
}

func (s *Server) serveDocs(c *call) error {
	return c.SendMade("text/html; charset=utf-8", description.Page)
}

func (s *Server) serveDescription(c *call) error {
	return c.SendMade("application/json; charset=utf-8", description.JSON)
}
