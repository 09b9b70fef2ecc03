package sandbox

import (
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// namesExist returns the requested names that exist in a place, as they were sent: a guess.
func (s *Server) namesExist(c *call) error {
	var in struct {
		Target target
		Names  []string
	}
	if err := c.json(&in); err != nil {
		return err
	}
	if err := given("names", in.Names); err != nil {
		return err
	}
	at, err := s.target(c, in.Target)
	if err != nil {
		return err
	}
	taken := []string{}
	err = s.store.Read(func(ses *store.Session) error {
		for _, file := range in.Names {
			a := records.Asset{Category: at.Category, Folder: at.Folder}
			a.Name, a.Extension = naming.SplitName(file)
			is, err := records.IsTaken(ses, a)
			if err != nil {
				return err
			}
			if is {
				taken = append(taken, file)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for %d names: %w", len(in.Names), err)
	}
	return c.Reply(http.StatusOK, taken)
}
