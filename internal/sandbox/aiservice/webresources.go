package aiservice

import (
	"encoding/json"
	"net/http"
)

func (s *Server) addWebResource(c *call) error {
	var in struct {
		URL        string          `json:"url"`
		Attributes json.RawMessage `json:"attributes"`
	}
	if err := c.json(&in); err != nil {
		return err
	}
	var wrong issues
	wrong.need("url", in.URL)
	if err := wrong.err(); err != nil {
		return err
	}
	given, err := attributes(in.Attributes)
	if err != nil {
		return err
	}
	if err := s.attach(c, nil); err != nil { // before the fetch
		return err
	}
	fetched, err := s.scrape(c, in.URL)
	if err != nil {
		return err
	}
	a := attachment{kind: aWebResource, id: newID(), name: fetched.name, mediaType: fetched.mediaType, url: in.URL, details: given, data: fetched.data}
	if err := s.attach(c, nil, a); err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, map[string]string{"id": a.id})
}

// scrape fetches a page, which counts against the limits.
func (s *Server) scrape(c *call, url string) (fetched, error) {
	if err := s.limits.take(c.who, cost{webScrapes: 1}); err != nil {
		return fetched{}, err
	}
	f, err := s.fetcher.fetch(c.R.Context(), url, nil)
	if err != nil {
		p := refuse(http.StatusUnprocessableEntity, "web-resource-download-error", "The page could not be fetched: %v.", err)
		p.action = "Check that the service can reach the URL without signing in."
		return f, p
	}
	return f, nil
}

func webResourceView(a attachment) map[string]any {
	return map[string]any{"id": a.id, "url": a.url, "title": a.name, "type": a.mediaType, "size": len(a.data), "attributes": a.details}
}

func (s *Server) listWebResources(c *call) error {
	return s.listAttachments(c, aWebResource, webResourceView)
}

func (s *Server) getWebResource(c *call) error {
	return s.getAttachment(c, aWebResource, webResourceView)
}

func (s *Server) deleteWebResource(c *call) error { return s.deleteAttachment(c, aWebResource) }
