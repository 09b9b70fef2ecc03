package aiservice

import "net/http"

func (s *Server) redirectToDocs(c *call) error {
	http.Redirect(c.W, c.R, "/v1/docs", http.StatusTemporaryRedirect)
	return nil
}

func (s *Server) serveDocs(c *call) error {
	return refuse(http.StatusNotImplemented, "not-implemented", "The page is not there yet.")
}

func (s *Server) serveDescription(c *call) error {
	return refuse(http.StatusNotImplemented, "not-implemented", "The description is not there yet.")
}
