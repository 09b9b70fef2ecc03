package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"assetferry/internal/sandbox/contents"
	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

const (
	// maxField is the maximum length of a form field; a guess.
	maxField = 4 << 10
	// maxForm is the maximum size of a form without its file.
	maxForm = 64 << 10
)

// A form is a received upload.
type form struct {
	categoryID, folderID *string
	at                   records.Place
	placed               bool // at is set
	hasFile              bool
	name, extension      string
	draft                contents.Draft
	// checkPlace checks whether the place accepts the file: before the file is read, and again
	// after the complete form, because fields may follow the file.
	checkPlace func(complete bool) error
	records.Stored
}

// uploadAsset receives and stores a file, and creates its asset with one commit.
func (s *Server) uploadAsset(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	f := &form{}
	f.checkPlace = func(complete bool) error {
		if !complete && f.categoryID == nil && f.folderID == nil {
			return nil
		}
		return s.resolvePlace(c, ws, f)
	}
	a, err := s.take(c, f, func() (records.Asset, error) { return s.createAsset(c, f) })
	if err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, c.view(a, true))
}

// take receives a form, stores its file, and then commits it.
func (s *Server) take(c *call, f *form, commit func() (records.Asset, error)) (records.Asset, error) {
	if s.options.Limits.Exceeded(c.R.ContentLength - maxForm) {
		return records.Asset{}, s.options.Limits.TooLarge()
	}
	kept := false
	defer func() {
		if f.draft != nil && !kept {
			f.draft.Discard()
		}
	}()
	if err := s.receive(c, f); err != nil {
		return records.Asset{}, err
	}
	f.Revision, f.Made, f.By = standin.NewUUID(), s.now(), c.who.User
	f.Content = naming.NewContentID()
	if err := f.draft.Keep(f.Content); err != nil {
		return records.Asset{}, err
	}
	kept = true
	a, err := commit()
	if err != nil {
		s.forget([]string{f.Content})
		return a, err
	}
	if f.Picture.State != "no" {
		s.processor.wake()
	}
	return a, nil
}

// receive reads the complete body. The fields of the place normally precede the file, so that a
// file without a valid place can be refused before it is read.
func (s *Server) receive(c *call, f *form) error {
	if err := s.checkPlan(c.who.Environment); err != nil {
		return err
	}
	parts, err := c.R.MultipartReader()
	if err != nil {
		return problem.Refuse(http.StatusBadRequest, "The body is not a multipart form: %v.", err)
	}
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF { // unwrapped: the form has ended
			break
		}
		if err != nil {
			return problem.Refuse(http.StatusBadRequest, "The form is damaged: %v.", err)
		}
		if err := s.receivePart(c, f, part); err != nil {
			return err
		}
	}
	if !f.hasFile {
		return problem.Refuse(http.StatusBadRequest, "The form has no part %q with a file name.", "file")
	}
	if err := f.checkPlace(true); err != nil {
		return err
	}
	return c.finish()
}

// finish reads to the end of the body: only then it is complete.
func (c *call) finish() error {
	if n, err := io.CopyN(io.Discard, c.Body, maxForm); n == maxForm {
		return problem.Refuse(http.StatusBadRequest, "There is too much after the form.")
	} else if err != io.EOF {
		return fmt.Errorf("read body: %w", err)
	}
	return nil
}

func (s *Server) receivePart(c *call, f *form, part *multipart.Part) error {
	field, file, isFile := naming.Disposition(part.Header.Get("Content-Disposition"))
	if field == "file" && isFile {
		return s.receiveFile(c, f, part, file)
	}
	value, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return problem.Refuse(http.StatusBadRequest, "The field %q is damaged: %v.", field, err)
	}
	if len(value) > maxField {
		return problem.Refuse(http.StatusBadRequest, "The field %q is too long.", field)
	}
	text := string(value)
	switch field { // unknown fields are ignored
	case "categoryId":
		f.categoryID = &text
	case "folderId":
		f.folderID = &text
	}
	return nil
}

func (s *Server) receiveFile(c *call, f *form, part io.Reader, file string) error {
	if f.hasFile {
		return problem.Refuse(http.StatusBadRequest, "The form has more than one file.")
	}
	f.hasFile = true
	f.name, f.extension = naming.SplitName(file)
	if err := s.options.Profile.CheckName("name", f.name); err != nil {
		return err
	}
	if err := s.checkAdmitted(c, f.extension); err != nil {
		return err
	}
	err := f.checkPlace(false)
	if err != nil {
		return err
	}
	if f.draft, err = s.contents.Create(c.R.ContentLength); err != nil {
		return fmt.Errorf("receive file: %w", err)
	}
	checksum := sha256.New()
	limit := s.options.Limits.MaxFileSizeInBytes
	f.Size, err = io.Copy(io.MultiWriter(f.draft, checksum), io.LimitReader(part, limit+1))
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return problem.Refuse(http.StatusBadRequest, "The file is cut short: %v.", err)
		}
		return fmt.Errorf("receive file: %w", err)
	}
	if f.Size > limit {
		return s.options.Limits.TooLarge()
	}
	f.Checksum = hex.EncodeToString(checksum.Sum(nil))
	return s.look(f)
}

// look measures an image and refuses one with too many pixels.
func (s *Server) look(f *form) error {
	r, err := f.draft.Reader()
	if err != nil {
		return fmt.Errorf("read what was received: %w", err)
	}
	f.Picture = records.Measure(r, f.Size, naming.Fold(f.extension))
	return s.options.Limits.CheckPixels(f.Picture)
}

// resolvePlace returns the category or folder of an upload and checks the extension. Without
// either, it uses the first category that allows the extension: a guess, because at least one
// client sends neither.
func (s *Server) resolvePlace(c *call, workspace string, f *form) (err error) {
	if f.placed {
		return nil
	}
	if f.at, err = s.place(c, f.categoryID, f.folderID); err != nil {
		return err
	}
	allowed := true
	err = s.store.Read(func(ses *store.Session) (err error) {
		if f.at.Category != "" {
			allowed, err = records.Takes(ses, f.at.Category, naming.Fold(f.extension))
			return err
		}
		f.at.Workspace = workspace
		f.at.Category, err = records.CategoryFor(ses, workspace, naming.Fold(f.extension))
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotThere):
		return problem.Refuse(http.StatusBadRequest, "No category allows the extension %q.", f.extension)
	case err != nil:
		return fmt.Errorf("find category: %w", err)
	case !allowed:
		return profile.NotAllowed(f.extension)
	}
	f.placed = true
	return c.allow(f.at.Workspace, f.at.Category)
}

// createAsset commits an asset whose bytes are stored.
func (s *Server) createAsset(c *call, f *form) (records.Asset, error) {
	now := f.Made
	a := records.Asset{
		ID: naming.NewAssetID(), Workspace: f.at.Workspace, Category: f.at.Category, Folder: f.at.Folder,
		Name: f.name, Extension: f.extension, Uploaded: now, Modified: now, Processed: now.Add(s.options.ProcessingDelay),
		Tags: json.RawMessage("[]"), Attributes: json.RawMessage("{}"), Stored: f.Stored,
	}
	a.Number = 1
	err := s.store.Write(func(ses *store.Session) error {
		a.Name = f.name // an earlier attempt may have changed it
		if err := s.checkStorage(ses, a.Workspace, a.Size); err != nil {
			return err
		}
		if err := s.options.Profile.AdmitAsset(ses, &a); err != nil {
			return err
		}
		if err := records.InsertAsset(ses, a); err != nil {
			return err
		}
		return use(ses, a.Workspace, c.who.User, a.ID)
	})
	if store.IsForeignKey(err) {
		return a, problem.Refuse(http.StatusNotFound, "The place for the asset has just been deleted or changed.")
	}
	if err != nil {
		return a, fmt.Errorf("create asset: %w", err)
	}
	return a, nil
}

// forget deletes unused stored bytes. Bytes that cannot be deleted now are deleted after the next
// crash.
func (s *Server) forget(contents []string) {
	for _, id := range contents {
		if err := s.contents.Remove(id); err != nil {
			s.options.Log.Warn("content not removed", "content", id, "error", err)
		}
	}
}
