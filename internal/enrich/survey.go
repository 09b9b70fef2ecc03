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

// surveyPage is how many assets are written into the journal at a time.
const surveyPage = 500

// imageWidth is the width of the rendition that is asked about, in pixels: about what models
// look at.
const imageWidth = 1024

// Survey lists all assets of the destination into the journal and finds what is wrong with
// their descriptions. Where no language is wanted any is fine. It only reads. What an earlier
// survey met stays until this one is at its end.
func (e *Engine) Survey(ctx context.Context, language string) error {
	if err := CheckLanguage(language); err != nil {
		return err
	}
	number, err := e.Store.BeginSurvey(ctx, e.Destination)
	if err != nil {
		return err
	}
	e.Observer.Phase("survey", -1)
	s := surveyor{Engine: e, number: number, language: language}
	if err := s.categories(e.draining(ctx)); err != nil {
		return err
	}
	return e.Store.EndSurvey(ctx, e.Destination, number)
}

// CheckLanguage reports what is wrong with a language such as de or pt-BR; none is fine.
func CheckLanguage(text string) error {
	if text == "" {
		return nil
	}
	tag, err := language.Parse(text)
	if _, confidence := tag.Base(); err != nil || confidence == language.No {
		return fmt.Errorf("%q is not a language: give its code, such as en, de or pt-BR", text)
	}
	return nil
}

// A surveyor walks through a destination.
type surveyor struct {
	*Engine
	number   int64
	language string
	page     []enrichment.Surveyed
}

func (s *surveyor) categories(ctx context.Context) error {
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

// folder lists a folder and those below it.
func (s *surveyor) folder(ctx context.Context, c assets.Category, parent string, f assets.Folder) error {
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

func (s *surveyor) list(ctx context.Context, c assets.Category, folder string, o assets.ListOptions) error {
	o.SortBy, o.Order, o.PageSize = assets.ByUploadedAt, assets.Ascending, surveyPage
	for a, err := range s.Library.List(ctx, o) {
		if err != nil {
			return err
		}
		s.page = append(s.page, surveyed(a, c, folder, s.language))
		if len(s.page) >= surveyPage {
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *surveyor) flush(ctx context.Context) error {
	if len(s.page) == 0 {
		return nil
	}
	if err := s.Store.SaveSurveyed(ctx, s.Destination, s.number, s.page); err != nil {
		return err
	}
	s.Observer.Progress(int64(len(s.page)))
	s.page = s.page[:0]
	return nil
}

// surveyed is an asset as the journal keeps it.
func surveyed(a assets.Asset, c assets.Category, folder, wanted string) enrichment.Surveyed {
	m := a.Metadata
	return enrichment.Surveyed{
		Asset: a.ID, Category: c.ID, CategoryName: c.Name, Private: c.Private, Folder: folder, FolderID: a.FolderID, Name: a.Name, Extension: a.Extension,
		Size: a.Size, Width: m.Width, Height: m.Height, Blur: m.BlurHash, Description: m.Description, Tags: a.Tags, Attributes: m.CustomAttributes,
		Modified: a.LastModifiedAt, URL: a.URL, Image: imageOf(a),
		Findings: joined(findings(m.Description, a.Name, a.Extension, wanted)), Language: speechOf(m.Description).language,
	}
}

// imageOf gives the address of the rendition whose width comes nearest to what is wanted from
// above, or of the widest one; empty if there is none.
func imageOf(a assets.Asset) string {
	widths := map[int]string{}
	for name, address := range a.ImageURLs {
		if width, err := strconv.Atoi(name); err == nil {
			widths[width] = address
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

// FindingsOf are the findings of an asset.
func FindingsOf(a enrichment.Surveyed) []Finding {
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

// Counts are how many assets there are.
type Counts struct {
	Assets   int64
	Pictures int64
	Findings map[Finding]int64 // of pictures

	Languages map[string]int64 // of descriptions of pictures; empty: not known which
}

// Findings counts what the last survey found. Without a whole one it is an ErrNoSurvey.
func (e *Engine) Findings(ctx context.Context) (Counts, error) {
	counts := Counts{Findings: map[Finding]int64{}, Languages: map[string]int64{}}
	if err := e.needSurvey(ctx); err != nil {
		return counts, err
	}
	for a, err := range e.Store.Surveyed(ctx, e.Destination) {
		if err != nil {
			return counts, err
		}
		counts.Assets++
		if !IsPicture(a) {
			continue
		}
		counts.Pictures++
		if a.Description != "" {
			counts.Languages[a.Language]++
		}
		for _, f := range FindingsOf(a) {
			counts.Findings[f]++
		}
	}
	return counts, nil
}

// needSurvey fails with ErrNoSurvey unless there is a whole survey.
func (e *Engine) needSurvey(ctx context.Context) error {
	switch v, err := e.Store.LastSurvey(ctx, e.Destination); {
	case errors.Is(err, state.ErrNotFound):
		return ErrNoSurvey
	case err != nil:
		return err
	case !v.Whole:
		return fmt.Errorf("%w to the end", ErrNoSurvey)
	}
	return nil
}

// IsPicture reports whether an asset is a picture that can be shown to a model: the service
// made another picture of it, or its file is of a kind that can be read.
func IsPicture(a enrichment.Surveyed) bool {
	switch strings.ToLower(a.Extension) {
	case "jpg", "jpeg", "jpe", "png", "gif", "webp", "bmp", "tif", "tiff":
		return true
	}
	return a.Image != ""
}
