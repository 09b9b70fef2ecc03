package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"

	"assetferry/internal/pixels"
	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/rendition"
	"assetferry/internal/sandbox/standin"
)

// maxEdited is the documented maximum side of an edited image.
const maxEdited = 16383

// An imageEdit is the body of a request to edit an image. The fields are known. Guesses are:
// angles are multiples of 90 degrees clockwise, the parts of flip are booleans, coordinates
// refer to the upright image, and the order of the steps.
type imageEdit struct {
	Action, AssetName string
	Transformations   struct {
		Crop   *struct{ X, Y, Width, Height int }
		Rotate *struct{ Angle int }
		Flip   *struct{ X, Y bool }
		Resize *struct{ Width, Height int }
	}
}

func (in imageEdit) edit() (e rendition.Edit, err error) {
	t := in.Transformations
	if t.Crop != nil {
		e.Crop = image.Rect(t.Crop.X, t.Crop.Y, t.Crop.X+t.Crop.Width, t.Crop.Y+t.Crop.Height)
		if t.Crop.Width < 1 || t.Crop.Height < 1 {
			return e, problem.Refuse(http.StatusBadRequest, "The crop area has no size.")
		}
	}
	if t.Rotate != nil {
		if t.Rotate.Angle%90 != 0 {
			return e, problem.Refuse(http.StatusBadRequest, "The angle must be a multiple of 90.")
		}
		e.Quarters = t.Rotate.Angle / 90
	}
	if t.Flip != nil {
		e.MirrorX, e.MirrorY = t.Flip.X, t.Flip.Y
	}
	if t.Resize != nil {
		e.Size = image.Pt(t.Resize.Width, t.Resize.Height)
		if min(e.Size.X, e.Size.Y) < 0 || max(e.Size.X, e.Size.Y) > maxEdited || e.Size == (image.Point{}) {
			return e, problem.Refuse(http.StatusBadRequest, "The sides must be from 1 to %d pixels.", maxEdited)
		}
	}
	return e, nil
}

// editImage creates a new asset from an edited image, or a new revision. That every action
// except create overwrites is known; that the result has the quality of renditions is a guess.
func (s *Server) editImage(c *call) error {
	var in imageEdit
	if err := c.json(&in); err != nil {
		return err
	}
	create := in.Action == "create"
	if !create {
		c.route.needs = records.MayOverwrite
	}
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	if create {
		if err := s.options.Profile.CheckName("name", in.AssetName); err != nil {
			return err
		}
	}
	if err := s.checkPlan(c.who.Environment); err != nil {
		return err
	}
	f, err := s.edited(c, a, in)
	if err != nil {
		return err
	}
	return s.keepEdited(c, a, f, create)
}

// keepEdited stores an edited image and then commits it.
func (s *Server) keepEdited(c *call, a records.Asset, f *form, create bool) (err error) {
	if err := f.draft.Keep(f.Content); err != nil {
		f.draft.Discard()
		return err
	}
	if create {
		a, err = s.createAsset(c, f)
	} else {
		a, err = s.revise(c, a, a.Extension, f.Stored)
	}
	if err != nil {
		s.forget([]string{f.Content})
		return err
	}
	s.processor.wake()
	return c.Reply(http.StatusOK, c.view(a, true))
}

// edited returns the bytes of an edited image, ready to store.
func (s *Server) edited(c *call, a records.Asset, in imageEdit) (*form, error) {
	e, err := in.edit()
	if err != nil {
		return nil, err
	}
	format, isImage := records.RenditionFormat(naming.Fold(a.Extension))
	if !isImage || naming.Fold(a.Extension) == "bmp" {
		return nil, problem.Refuse(http.StatusBadRequest, "Files with the extension %q cannot be edited.", a.Extension)
	}
	quality, _, err := s.quality(a.Workspace, format)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	var size image.Point
	err = s.renditions.Alone(func() error {
		p, release, err := s.decode(c.R.Context(), a.Content, func(r io.ReaderAt, size int64) (int64, error) { return e.Cost(r, size, format) })
		if errors.Is(err, pixels.ErrTooLarge) {
			return tooLargeToShow(a)
		} else if errors.Is(err, rendition.ErrEdit) {
			return problem.Refuse(http.StatusBadRequest, "%v.", err)
		} else if err != nil {
			return noRendition(a)
		}
		defer release()
		m, err := p.Edit(e, s.options.Limits.MaxPixels())
		if err != nil {
			return problem.Refuse(http.StatusBadRequest, "%v.", err)
		}
		size = m.Bounds().Size()
		if max(size.X, size.Y) > maxEdited {
			return problem.Refuse(http.StatusBadRequest, "The sides must be from 1 to %d pixels.", maxEdited)
		}
		return rendition.Encode(&b, m, format, quality)
	})
	if err != nil {
		return nil, err
	}
	return s.draftOf(c, a, in.AssetName, b.Bytes(), size)
}

// draftOf returns an upload of bytes to the place of an asset.
func (s *Server) draftOf(c *call, a records.Asset, name string, b []byte, size image.Point) (*form, error) {
	sum := sha256.Sum256(b)
	f := &form{at: records.Place{Workspace: a.Workspace, Category: a.Category, Folder: a.Folder}, name: name, extension: a.Extension}
	f.Stored = records.Stored{
		Revision: standin.NewUUID(), Content: naming.NewContentID(), Size: int64(len(b)), Checksum: hex.EncodeToString(sum[:]),
		Picture: records.Picture{State: "readable", Width: size.X, Height: size.Y}, Made: s.now(), By: c.who.User,
	}
	var err error
	if f.draft, err = s.contents.Create(f.Size); err != nil {
		return nil, fmt.Errorf("store edited image: %w", err)
	}
	if _, err := f.draft.Write(b); err != nil {
		f.draft.Discard()
		return nil, fmt.Errorf("store edited image: %w", err)
	}
	return f, nil
}
