package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

type assetView struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`
	Extension      string            `json:"extension"`
	Size           int64             `json:"size"`
	MimeType       string            `json:"mimeType"`
	CategoryID     string            `json:"categoryId"`
	FolderID       string            `json:"folderId,omitempty"`
	UploadedAt     string            `json:"uploadedAt"`
	LastModifiedAt string            `json:"lastModifiedAt"`
	Tags           json.RawMessage   `json:"tags"`
	URL            string            `json:"url"`
	ImageURLs      map[string]string `json:"imageUrls,omitempty"`
	Metadata       metadataView      `json:"metadata"`
}

type metadataView struct {
	Description      string                 `json:"description"`
	CustomAttributes json.RawMessage        `json:"customAttributes"`
	Width            int                    `json:"width,omitempty"`
	Height           int                    `json:"height,omitempty"`
	BlurHash         string                 `json:"blurHash,omitempty"`
	Status           string                 `json:"metadataProcessingStatus,omitempty"`
	AnalysisStatus   string                 `json:"analysisProcessingStatus,omitempty"`
	Thumbnail        *records.ThumbnailView `json:"thumbnailMetadata,omitempty"`
}

// view returns the response for an asset; a new one is queued. URLs use the host of the
// request, so that they are right after a restart on another port.
func (c *call) view(a records.Asset, queued bool) assetView {
	base := c.origin() + "/" + a.Workspace + "/assets/" + a.ID
	v := assetView{
		ID: a.ID, Name: a.Name, Extension: a.Extension, Size: a.Size, MimeType: naming.MimeType(naming.Fold(a.Extension)),
		CategoryID: a.Category, FolderID: a.Folder,
		UploadedAt: store.Timestamp(a.Uploaded), LastModifiedAt: store.Timestamp(a.Modified),
		Tags: a.Tags, URL: base + "/file",
		Metadata: metadataView{
			Description: a.Description, CustomAttributes: a.Attributes, Status: a.Status(queued), AnalysisStatus: a.Analysis,
		},
	}
	// Also for a queued image: like the service, the response to the upload contains the URLs,
	// based on the width in the file header.
	if a.IsImage() && a.Picture.State == "readable" && v.Metadata.Status != "error" {
		v.ImageURLs = records.ImageURLs(base, a.Picture.Width, naming.Fold(a.Extension))
	}
	if v.Metadata.Status == "success" {
		v.Metadata.Width, v.Metadata.Height, v.Metadata.BlurHash = a.Picture.Width, a.Picture.Height, a.BlurHash
		v.Metadata.Thumbnail = a.Thumbnail()
	}
	return v
}

func (c *call) origin() string {
	if c.R.TLS != nil {
		return "https://" + c.R.Host
	}
	return "http://" + c.R.Host
}

// asset returns an asset of any workspace of the token: with an ID, clients name no workspace.
// Assets in the trash are not found.
func (s *Server) asset(c *call, id string) (records.Asset, error) {
	var a records.Asset
	err := s.store.Read(func(ses *store.Session) (err error) {
		a, err = records.SelectAsset(ses, id)
		return err
	})
	if errors.Is(err, store.ErrNotThere) || err == nil && !c.sees(a.Workspace) {
		return records.Asset{}, noAsset(id)
	}
	if err != nil {
		return records.Asset{}, fmt.Errorf("find asset %s: %w", id, err)
	}
	return a, c.allow(a.Workspace, a.Category)
}

// again reads an asset again within a transaction, and checks the permissions at its current
// place. Its workspace does not change, so the rights are known.
func (c *call) again(ses *store.Session, a *records.Asset) error {
	now, err := records.SelectAsset(ses, a.ID)
	if err != nil {
		return err
	}
	*a = now
	return c.allow(a.Workspace, a.Category)
}

func noAsset(id string) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "There is no asset %q.", id)
}

func (s *Server) getAsset(c *call) error {
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, c.view(a, false))
}

// listAssets lists the assets directly in a category or folder. That a category excludes its
// folders is a guess, which a profile can change.
func (s *Server) listAssets(c *call) error {
	limit, offset, err := c.page()
	if err != nil {
		return err
	}
	order, err := c.assetOrder()
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	at, err := s.place(c, query(q, "categoryId"), query(q, "folderId"))
	if err != nil {
		return err
	}
	if at.Category == "" {
		return problem.Refuse(http.StatusBadRequest, "categoryId or folderId is required.")
	}
	p := s.options.Profile
	listed := records.Listing{
		At: at, Deep: p.CategoryListing == "deep" && at.Folder == "", Until: s.listedUntil(),
		Order: p.AssetOrder(order), Limit: limit, Offset: offset,
	}
	return s.replyAssets(c, limit, offset, func(ses *store.Session) ([]records.Asset, int, error) { return listed.SelectAssets(ses) })
}

// listedUntil returns the latest upload time of listed assets, or zero without a limit.
func (s *Server) listedUntil() time.Time {
	if s.options.Profile.ListingDelay == 0 {
		return time.Time{}
	}
	return s.now().Add(-s.options.Profile.ListingDelay)
}

func (c *call) assetOrder() (string, error) {
	return c.order(records.AssetFields()...)
}

// getOffset returns the position of an asset in its list. That assetId in the query is ignored,
// and the form of the response, are guesses.
func (s *Server) getOffset(c *call) error {
	order, err := c.assetOrder()
	if err != nil {
		return err
	}
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	var offset int
	err = s.store.Read(func(ses *store.Session) (err error) {
		if a, err = records.SelectAsset(ses, a.ID); err != nil { // the asset may have been moved
			return err
		}
		offset, err = records.SelectOffset(ses, a, order)
		return err
	})
	if err != nil {
		return changing(a.ID, err)
	}
	return c.Reply(http.StatusOK, map[string]int{"offset": offset})
}

func query(q map[string][]string, name string) *string {
	if v, ok := q[name]; ok {
		return &v[0]
	}
	return nil
}

func (s *Server) listTrash(c *call) error { return s.replyVisible(c, records.SelectTrash) }

// replyVisible responds with a page of the assets in categories that the user may see.
func (s *Server) replyVisible(c *call, find func(ses *store.Session, ws, visible string, limit, offset int) ([]records.Asset, int, error)) error {
	limit, offset, err := c.page()
	if err != nil {
		return err
	}
	ws, r, err := c.here()
	if err != nil {
		return err
	}
	return s.replyAssets(c, limit, offset, func(ses *store.Session) ([]records.Asset, int, error) {
		visible, err := r.Visible(ses, ws)
		if err != nil {
			return nil, 0, err
		}
		return find(ses, ws, visible, limit, offset)
	})
}

func (s *Server) replyAssets(c *call, limit, offset int, find func(*store.Session) ([]records.Asset, int, error)) error {
	var found []records.Asset
	out := list[assetView]{Items: []assetView{}, Offset: offset, Limit: limit}
	err := s.store.Read(func(ses *store.Session) (err error) {
		found, out.TotalCount, err = find(ses)
		return err
	})
	if err != nil {
		return fmt.Errorf("list assets: %w", err)
	}
	for _, a := range found {
		out.Items = append(out.Items, c.view(a, false))
	}
	return c.Reply(http.StatusOK, out)
}

// place returns the category or folder of a request, if any. With both, as clients send, it
// returns the folder; that the folder must be in the category is a guess.
func (s *Server) place(c *call, categoryID, folderID *string) (records.Place, error) {
	switch {
	case folderID != nil:
		return s.folderPlace(c, *folderID, categoryID)
	case categoryID != nil:
		return s.categoryPlace(c, *categoryID)
	}
	return records.Place{}, nil
}

// folderPlace returns a folder. It must be in the category, if one is named.
func (s *Server) folderPlace(c *call, id string, categoryID *string) (records.Place, error) {
	f, err := s.folderHere(c, id)
	if err != nil {
		return records.Place{}, err
	}
	if categoryID != nil && *categoryID != f.Category {
		return records.Place{}, problem.Refuse(http.StatusBadRequest, "The folder %q is in another category.", id)
	}
	return records.Place{Workspace: f.Workspace, Category: f.Category, Folder: f.ID}, nil
}

func (p assetPatch) check(profile profile.Profile) error {
	if p.Name != nil {
		if err := profile.CheckName("name", *p.Name); err != nil {
			return err
		}
	}
	if p.Extension != nil {
		if err := checkExtension(*p.Extension); err != nil {
			return err
		}
	}
	if a := p.Metadata.CustomAttributes; a != nil {
		var object map[string]any // programs must be able to read its numbers
		if err := json.Unmarshal(a, &object); err != nil || object == nil {
			return problem.Refuse(http.StatusBadRequest, "metadata.customAttributes must be an object.")
		}
	}
	return profile.CheckTexts(p.Metadata.Description, p.Tags, p.Metadata.CustomAttributes)
}

// apply changes an asset. Tags and custom attributes are replaced as a whole. For attributes
// this is a guess, and a profile can select merging.
func (p assetPatch) apply(a *records.Asset, merge bool) error {
	if p.Name != nil {
		a.Name = *p.Name
	}
	if p.Extension != nil {
		a.Extension = *p.Extension
	}
	if p.Metadata.Description != nil {
		a.Description = *p.Metadata.Description
	}
	if p.Metadata.CustomAttributes != nil {
		var err error
		if a.Attributes, err = attributes(a.Attributes, p.Metadata.CustomAttributes, merge); err != nil {
			return err
		}
	}
	if p.Tags == nil {
		return nil
	}
	tags, err := json.Marshal(*p.Tags)
	a.Tags = tags
	return err
}

// attributes returns custom attributes after a change.
func attributes(old, given json.RawMessage, merge bool) (json.RawMessage, error) {
	if merge {
		merged, _ := standin.DecodeObject(old)
		changed, _ := standin.DecodeObject(given)
		maps.Copy(merged, changed)
		return json.Marshal(merged)
	}
	var b bytes.Buffer
	err := json.Compact(&b, given)
	return b.Bytes(), err
}

func (s *Server) patchAsset(c *call) error {
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	var in assetPatch
	if err := c.json(&in); err != nil {
		return err
	}
	if err := in.check(s.options.Profile); err != nil {
		return err
	}
	if in.Extension != nil && naming.Fold(*in.Extension) != naming.Fold(a.Extension) {
		if err := s.checkAdmitted(c, *in.Extension); err != nil {
			return err
		}
	}
	now := s.now()
	err = s.store.Write(func(ses *store.Session) error {
		if err := c.again(ses, &a); err != nil {
			return err
		}
		if err := in.apply(&a, s.options.Profile.Attributes == "merge"); err != nil {
			return err
		}
		if err := s.options.Profile.AdmitAsset(ses, &a); err != nil {
			return err
		}
		a.Modified = now
		return records.UpdateAsset(ses, a)
	})
	switch {
	case store.IsForeignKey(err):
		return profile.NotAllowed(a.Extension)
	case err != nil:
		return changing(a.ID, err)
	}
	return c.Reply(http.StatusOK, c.view(a, false))
}

// An assetPatch is the body of a PATCH. Omitted fields do not change.
type assetPatch struct {
	Name, Extension *string
	Tags            *[]string
	Metadata        struct {
		Description      *string
		CustomAttributes json.RawMessage
	}
}
