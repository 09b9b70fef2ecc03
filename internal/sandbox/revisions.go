package sandbox

import (
	"errors"
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sorting"
)

// replaceAsset replaces the file of an asset, which keeps its ID, URL, name, tags and place; the
// old file becomes a revision. It is not documented how many revisions are kept: here all are.
func (s *Server) replaceAsset(c *call) error {
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	f := &form{}
	f.checkPlace = func(bool) error { return sameExtension(a, f.extension) }
	a, err = s.take(c, f, func() (records.Asset, error) { return s.revise(c, a, f.extension, f.Stored) })
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, c.view(a, true))
}

// sameExtension refuses a file with another extension than the asset: a guess.
func sameExtension(a records.Asset, extension string) error {
	if naming.Fold(a.Extension) == naming.Fold(extension) {
		return nil
	}
	return problem.Refuse(http.StatusBadRequest, "The asset has the extension %q, the file %q.", a.Extension, extension)
}

// revise makes stored bytes the content of an asset.
func (s *Server) revise(c *call, a records.Asset, extension string, now records.Stored) (records.Asset, error) {
	err := s.store.Write(func(ses *store.Session) error {
		if err := c.again(ses, &a); err != nil {
			return err
		}
		if err := sameExtension(a, extension); err != nil { // it may have been renamed meanwhile
			return err
		}
		if err := s.checkStorage(ses, a.Workspace, now.Size); err != nil {
			return err
		}
		last, err := records.LastNumber(ses, a)
		if err != nil {
			return err
		}
		now.Number = last + 1
		return s.exchange(ses, &a, now)
	})
	return a, changing(a.ID, err)
}

// exchange stores the content of an asset as a revision and replaces it. The image is processed
// again.
func (s *Server) exchange(ses *store.Session, a *records.Asset, now records.Stored) error {
	if err := records.InsertRevision(ses, a.ID, a.Stored); err != nil {
		return err
	}
	a.Stored = now
	a.Modified = s.now()
	a.Processed = a.Modified.Add(s.options.ProcessingDelay)
	return records.UpdateStored(ses, *a)
}

// changing converts the error of a change of an asset to a response.
func changing(id string, err error) error {
	if errors.Is(err, store.ErrNotThere) {
		return noAsset(id)
	}
	if err != nil {
		return fmt.Errorf("change asset %s: %w", id, err)
	}
	return nil
}

// listRevisions lists revisions, newest first: a guess.
func (s *Server) listRevisions(c *call) error {
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	var all []records.Stored
	err = s.store.Read(func(ses *store.Session) error {
		if a, err = records.SelectAsset(ses, a.ID); err != nil {
			return err
		}
		all, err = records.SelectRevisions(ses, a.ID)
		return err
	})
	if err != nil {
		return changing(a.ID, err)
	}
	all = append(all, a.Stored)
	sorting.By(all, func(a, b records.Stored) int { return b.Number - a.Number })
	out := list[records.RevisionView]{Items: []records.RevisionView{}, TotalCount: len(all), Limit: len(all)}
	for _, st := range all {
		out.Items = append(out.Items, st.View(st.Revision == a.Revision))
	}
	return c.Reply(http.StatusOK, out)
}

// useRevision makes an old revision the current one.
func (s *Server) useRevision(c *call) error {
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	var in struct{ RevisionID string }
	if err := c.json(&in); err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error {
		if err := c.again(ses, &a); err != nil || a.Revision == in.RevisionID {
			return err
		}
		old, err := records.SelectRevision(ses, a.ID, in.RevisionID)
		if errors.Is(err, store.ErrNotThere) {
			return noRevision(a.ID, in.RevisionID)
		}
		if err != nil {
			return err
		}
		if err := s.exchange(ses, &a, old); err != nil {
			return err
		}
		_, err = records.DeleteRevision(ses, a.ID, old.Revision)
		return err
	})
	if err != nil {
		return changing(a.ID, err)
	}
	s.processor.wake() // it may never have been processed
	return c.Done()
}

func noRevision(id, revision string) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "Asset %q has no revision %q.", id, revision)
}

// removeRevision permanently deletes a revision. The current one is refused: a guess.
func (s *Server) removeRevision(c *call) error {
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	revision := c.args[1]
	err = s.store.Write(func(ses *store.Session) error {
		if err := c.again(ses, &a); err != nil {
			return err
		}
		if a.Revision == revision {
			return problem.Refuse(http.StatusBadRequest, "The current revision cannot be deleted.")
		}
		found, err := records.DeleteRevision(ses, a.ID, revision)
		if err == nil && !found {
			return noRevision(a.ID, revision)
		}
		return err
	})
	if err != nil {
		return changing(a.ID, err)
	}
	return c.Done()
}

// deliverRevision sends the content of a revision. It requires the cookie or the token even if the
// category is not private: a guess.
func (s *Server) deliverRevision(c *call) error {
	workspace, id, revision := c.args[0], c.args[1], c.args[2]
	var a records.Asset
	err := s.store.Read(func(ses *store.Session) (err error) {
		if a, err = records.SelectAsset(ses, id); err != nil || a.Workspace != workspace || a.Revision == revision {
			return err
		}
		a.Stored, err = records.SelectRevision(ses, id, revision)
		if errors.Is(err, store.ErrNotThere) {
			return noRevision(id, revision)
		}
		return err
	})
	if err == nil && a.Workspace != workspace {
		return noAsset(id)
	}
	if err != nil {
		return changing(id, err)
	}
	if err := s.admitPrivate(c, workspace, a.Category); err != nil {
		return err
	}
	return s.send(c, a, true)
}
