package enrich

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"assetferry/internal/assets"
	"assetferry/state"
	"assetferry/state/enrichment"
)

// auditPage is how many assets are stored in a transaction.
const auditPage = 500

// imageWidth is the preferred width of an image for a model, in pixels. Most models use no
// more.
const imageWidth = 1024

// Audit lists all assets of the destination into the state database and finds problems with
// their descriptions. Without a language, every language is accepted. It only reads from the
// destination. The previous audit is kept until this one is complete.
func (e *Engine) Audit(ctx context.Context, language string) error {
	if err := CheckLanguage(language); err != nil {
		return err
	}
	number, err := e.Store.BeginAudit(ctx, e.Destination)
	if err != nil {
		return err
	}
	e.Observer.Phase("audit", -1)
	s := auditor{Engine: e, number: number, language: language}
	if err := s.categories(e.draining(ctx)); err != nil {
		return err
	}
	return e.Store.EndAudit(ctx, e.Destination, number)
}

// CheckLanguage returns an error unless text is "" or a language code such as de or pt-BR.
func CheckLanguage(text string) error {
	if text == "" {
		return nil
	}
	tag, err := language.Parse(text)
	if _, confidence := tag.Base(); err != nil || confidence == language.No {
		return fmt.Errorf("%q is not a language code, such as en, de or pt-BR", text)
	}
	return nil
}

// An auditor lists the assets of a destination.
type auditor struct {
	*Engine
	number   int64
	language string
	page     []enrichment.AuditedAsset
}

func (s *auditor) categories(ctx context.Context) error {
	top, err := s.Library.Folders(ctx)
	if err != nil {
		return err
	}
	for c, err := range s.Library.Categories(ctx) {
		if err != nil {
			return err
		}
		if err := s.list(ctx, c, "", assets.ListOptions{CategoryID: c.ID}); err != nil {
			return err
		}
		for _, f := range top {
			if f.CategoryID != c.ID {
				continue
			}
			if err := s.folder(ctx, c, "", f); err != nil {
				return err
			}
		}
	}
	return s.flush(ctx)
}

// folder lists a folder and its subfolders.
func (s *auditor) folder(ctx context.Context, c assets.Category, parent string, f assets.Folder) error {
	path := strings.TrimPrefix(parent+"/"+f.Name, "/")
	if err := s.list(ctx, c, path, assets.ListOptions{FolderID: f.ID}); err != nil {
		return err
	}
	nested, err := s.Library.Folder(ctx, f.ID, 1)
	if err != nil {
		return err
	}
	for _, child := range nested.Folders {
		if err := s.folder(ctx, c, path, child); err != nil {
			return err
		}
	}
	return nil
}

func (s *auditor) list(ctx context.Context, c assets.Category, folder string, o assets.ListOptions) error {
	o.SortBy, o.Order, o.PageSize = assets.ByUploadedAt, assets.Ascending, auditPage
	for a, err := range s.Library.List(ctx, o) {
		if err != nil {
			return err
		}
		s.page = append(s.page, audited(a, c, folder, s.language))
		if len(s.page) >= auditPage {
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *auditor) flush(ctx context.Context) error {
	if len(s.page) == 0 {
		return nil
	}
	if err := s.Store.SaveAssets(ctx, s.Destination, s.number, s.page); err != nil {
		return err
	}
	s.Observer.Progress(int64(len(s.page)))
	s.page = s.page[:0]
	return nil
}

// audited converts an asset for the state database.
func audited(a assets.Asset, c assets.Category, folder, wanted string) enrichment.AuditedAsset {
	m := a.Metadata
	return enrichment.AuditedAsset{
		Asset: a.ID, Category: c.ID, CategoryName: c.Name, Private: c.Private, Folder: folder, FolderID: a.FolderID, Name: a.Name, Extension: a.Extension,
		Size: a.Size, Width: m.Width, Height: m.Height, Blur: m.BlurHash, Description: m.Description, Tags: a.Tags, Attributes: m.CustomAttributes,
		Modified: a.LastModifiedAt, URL: a.URL, Image: imageOf(a),
		Findings: joined(findings(m.Description, a.Name, a.Extension, wanted)), Language: writingOf(m.Description).language,
	}
}

// imageOf returns the URL of the narrowest rendition that is wide enough for a model, or else
// of the widest one. It returns "" if there is no rendition.
func imageOf(a assets.Asset) string {
	widths := map[int]string{}
	for name, url := range a.ImageURLs {
		if width, err := strconv.Atoi(name); err == nil {
			widths[width] = url
		}
	}
	if len(widths) == 0 {
		return a.ImageURLs["default"]
	}
	sorted := slices.Sorted(maps.Keys(widths))
	n, _ := slices.BinarySearch(sorted, imageWidth)
	return widths[sorted[min(n, len(sorted)-1)]]
}

func joined(found []Finding) string {
	texts := make([]string, len(found))
	for n, f := range found {
		texts[n] = string(f)
	}
	return strings.Join(texts, ",")
}

// FindingsOf returns the findings of an asset.
func FindingsOf(a enrichment.AuditedAsset) []Finding {
	if a.Decorative {
		return []Finding{FindingDecorative}
	}
	if a.Findings == "" {
		return nil
	}
	var found []Finding
	for text := range strings.SplitSeq(a.Findings, ",") {
		found = append(found, Finding(text))
	}
	return found
}

// Counts are the results of an audit.
type Counts struct {
	Assets   int64
	Images   int64
	Findings map[Finding]int64 // of images

	Languages map[string]int64 // of images by language of the description; "": unknown
}

// Findings counts the findings of the last audit. Without a complete audit the error is
// ErrNoAudit.
func (e *Engine) Findings(ctx context.Context) (Counts, error) {
	counts := Counts{Findings: map[Finding]int64{}, Languages: map[string]int64{}}
	if err := e.needAudit(ctx); err != nil {
		return counts, err
	}
	for a, err := range e.Store.Assets(ctx, e.Destination) {
		if err != nil {
			return counts, err
		}
		counts.Assets++
		if !IsPicture(a) {
			continue
		}
		counts.Images++
		if a.Description != "" {
			counts.Languages[a.Language]++
		}
		for _, f := range FindingsOf(a) {
			counts.Findings[f]++
		}
	}
	return counts, nil
}

// needAudit returns ErrNoAudit unless there is a complete audit.
func (e *Engine) needAudit(ctx context.Context) error {
	switch v, err := e.Store.LastAudit(ctx, e.Destination); {
	case errors.Is(err, state.ErrNotFound):
		return ErrNoAudit
	case err != nil:
		return err
	case !v.Whole:
		return ErrNoAudit
	}
	return nil
}

// IsPicture reports whether a model can process an asset as an image: the service has a
// rendition of it, or its file type is supported.
func IsPicture(a enrichment.AuditedAsset) bool {
	switch strings.ToLower(a.Extension) {
	case "jpg", "jpeg", "jpe", "png", "gif", "webp", "bmp", "tif", "tiff":
		return true
	}
	return a.Image != ""
}
