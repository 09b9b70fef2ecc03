package aiservice

import (
	_ "embed"
	"net/http"

	"assetferry/internal/sandbox/docs"
)

//go:embed openapi.yaml
var openapi []byte

// Description gives the OpenAPI description of all that a stand-in answers, as JSON.
func Description() ([]byte, error) { return description.JSON() }

var description = docs.New(openapi, "doc.json")

func (s *Server) redirectToDocs(c *call) error {
	http.Redirect(c.W, c.R, "/v1/docs", http.StatusTemporaryRedirect)
	return nil
}

func (s *Server) serveDocs(c *call) error {
	text, err := description.Page()
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
