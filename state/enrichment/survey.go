package enrichment

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"assetferry/state"
)

// A Surveyed is an asset of a destination as it was listed last.
type Surveyed struct {
	Asset        string
	Category     string // id
	CategoryName string
	Private      bool   // nobody sees its files without leave
	Folder       string // path within the category; empty: directly in it
	FolderID     string
	Name         string // without the extension
	Extension    string
	Size         int64 // bytes
	Width        int   // pixels; 0 if the service does not say
	Height       int
	Blur         string // the blur hash, which changes with the content; empty if the service does not say
	Description  string
	Tags         []string
	Attributes   map[string]any // custom ones; numbers are json.Number
	Modified     time.Time
	URL          string
	Image        string // address of a rendition; empty if there is none
	Findings     string // see the package enrich, joined by commas
	Language     string // of the description; empty if it is not known
	Decorative   bool   // a person said so; only read
}

// An Enrichable is an asset of a destination with what was proposed for it.
type Enrichable struct {
	Surveyed
	Enrichment *Enrichment // nil if nothing ever was
}

// A Survey is a listing of all assets of a destination.
type Survey struct {
	At    time.Time
	Whole bool // it came to its end
}

// BeginSurvey begins to list a destination anew and returns the number of the listing.
// What an earlier one met stays until this one comes to its end.
func (s *Store) BeginSurvey(ctx context.Context, destination string) (survey int64, err error) {
	err = s.state.Write(ctx, "begin survey", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO surveys (destination, survey, at, whole) VALUES (?, 1, ?, 0)
			ON CONFLICT (destination) DO UPDATE SET survey = survey + 1, at = excluded.at, whole = 0 RETURNING survey`,
			destination, s.state.Now().UnixMilli()).Scan(&survey)
	})
	return survey, err
}

// SaveSurveyed stores a page of a listing. It fails with ErrConflict if another listing of
// the destination has begun since.
func (s *Store) SaveSurveyed(ctx context.Context, destination string, survey int64, page []Surveyed) error {
	return s.state.Write(ctx, "save survey", func(ctx context.Context, tx *sql.Tx) error {
		if err := state.One(ctx, tx, `UPDATE surveys SET at = at WHERE destination = ? AND survey = ?`, destination, survey); err != nil {
			return err
		}
		stmt, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO surveyed (destination, survey, asset, category, category_name, private, folder,
			folder_id, name, extension, size, width, height, blur, description, tags, attributes, modified, url, image, findings, language)
			VALUES `+state.List(22))
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, a := range page {
			tags, attributes, err := a.packed()
			if err != nil {
				return fmt.Errorf("%s: %w", a.Asset, err)
			}
			if _, err := stmt.ExecContext(ctx, destination, survey, a.Asset, a.Category, a.CategoryName, a.Private, a.Folder,
				a.FolderID, a.Name, a.Extension, a.Size, a.Width, a.Height, a.Blur, a.Description, tags, attributes, a.Modified.UnixMilli(),
				a.URL, a.Image, a.Findings, a.Language); err != nil {
				return fmt.Errorf("%s: %w", a.Asset, err)
			}
		}
		return nil
	})
}

func (a Surveyed) packed() (tags, attributes string, err error) {
	if tags, err = packList(a.Tags); err != nil {
		return "", "", err
	}
	packed, err := json.Marshal(a.Attributes)
	if a.Attributes == nil {
		packed = []byte("{}")
	}
	return tags, string(packed), err
}

// packList makes a JSON array of texts; an empty one of none.
func packList(list []string) (string, error) {
	if list == nil {
		list = []string{}
	}
	packed, err := json.Marshal(list)
	return string(packed), err
}

// EndSurvey notes that a listing came to its end, and forgets the assets that it did not
// meet. It fails with ErrConflict if another one has begun since.
func (s *Store) EndSurvey(ctx context.Context, destination string, survey int64) error {
	return s.state.Write(ctx, "end survey", func(ctx context.Context, tx *sql.Tx) error {
		if err := state.One(ctx, tx, `UPDATE surveys SET whole = 1 WHERE destination = ? AND survey = ?`, destination, survey); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM surveyed WHERE destination = ? AND survey <> ?`, destination, survey)
		return err
	})
}

// LastSurvey is the listing of a destination that was begun last; ErrNotFound if there is none.
func (s *Store) LastSurvey(ctx context.Context, destination string) (Survey, error) {
	found, err := state.Query(ctx, s.state, "find survey", func(rows *sql.Rows) (v Survey, err error) {
		var at int64
		err = rows.Scan(&at, &v.Whole)
		v.At = time.UnixMilli(at).UTC()
		return v, err
	}, `SELECT at, whole FROM surveys WHERE destination = ?`, destination)
	return state.First(found, err, "survey of "+destination)
}

// Surveyed lists the assets of a destination by their ids.
func (s *Store) Surveyed(ctx context.Context, destination string) iter.Seq2[Surveyed, error] {
	return state.Paged(s.state, "", func(a Surveyed) string { return a.Asset }, func(after string) ([]Surveyed, error) {
		return state.Query(ctx, s.state, "list survey", func(rows *sql.Rows) (a Surveyed, err error) {
			return a, scanSurveyed(rows, &a)
		}, `SELECT `+surveyedColumns+` FROM `+surveyedTables+` WHERE s.destination = ? AND s.asset > ? ORDER BY s.asset LIMIT ?`,
			destination, after, state.PageSize)
	})
}

// SurveyedAsset finds one asset of a destination as it was listed last; ErrNotFound if it is not
// among those.
func (s *Store) SurveyedAsset(ctx context.Context, destination, asset string) (Surveyed, error) {
	found, err := state.Query(ctx, s.state, "find asset", func(rows *sql.Rows) (a Surveyed, err error) {
		return a, scanSurveyed(rows, &a)
	}, `SELECT `+surveyedColumns+` FROM `+surveyedTables+` WHERE s.destination = ? AND s.asset = ?`, destination, asset)
	return state.First(found, err, "asset "+asset)
}

// Enrichables lists the assets of a destination by their ids, each with what was proposed for
// it in this kind and language.
func (s *Store) Enrichables(ctx context.Context, destination string, kind Kind, language string) iter.Seq2[Enrichable, error] {
	return state.Paged(s.state, "", func(c Enrichable) string { return c.Asset }, func(after string) ([]Enrichable, error) {
		return state.Query(ctx, s.state, "list assets", scanEnrichable, `SELECT `+surveyedColumns+`, e.num IS NOT NULL, `+enrichmentColumns+` FROM `+surveyedTables+`
			LEFT JOIN enrichments e ON e.destination = s.destination AND e.asset = s.asset AND e.kind = ? AND e.language = ?
			LEFT JOIN enrichment_runs r ON r.num = e.run
			WHERE s.destination = ? AND s.asset > ? ORDER BY s.asset LIMIT ?`, string(kind), language, destination, after, state.PageSize)
	})
}

// MarkDecorative notes what a person said: that assets of a destination need no description,
// or that they do after all.
func (s *Store) MarkDecorative(ctx context.Context, destination string, assets []string, decorative bool) error {
	return s.state.Write(ctx, "mark decorative", func(ctx context.Context, tx *sql.Tx) error {
		for _, asset := range assets {
			if err := markDecorative(ctx, tx, destination, asset, decorative, s.state.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

func markDecorative(ctx context.Context, tx *sql.Tx, destination, asset string, decorative bool, now time.Time) error {
	if !decorative {
		_, err := tx.ExecContext(ctx, `DELETE FROM decorative WHERE destination = ? AND asset = ?`, destination, asset)
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO decorative (destination, asset, since) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		destination, asset, now.UnixMilli())
	return err
}

const (
	surveyedColumns = `s.asset, s.category, s.category_name, s.private, s.folder, s.folder_id, s.name, s.extension, s.size, s.width, s.height, s.blur,
		s.description, s.tags, s.attributes, s.modified, s.url, s.image, s.findings, s.language, d.asset IS NOT NULL`
	surveyedTables = `surveyed s LEFT JOIN decorative d ON d.destination = s.destination AND d.asset = s.asset`
)

func scanSurveyed(rows *sql.Rows, a *Surveyed, more ...any) error {
	var tags, attributes string
	var modified int64
	if err := rows.Scan(append([]any{&a.Asset, &a.Category, &a.CategoryName, &a.Private, &a.Folder, &a.FolderID, &a.Name, &a.Extension, &a.Size,
		&a.Width, &a.Height, &a.Blur, &a.Description, &tags, &attributes, &modified, &a.URL, &a.Image, &a.Findings, &a.Language, &a.Decorative}, more...)...); err != nil {
		return err
	}
	a.Modified = time.UnixMilli(modified).UTC()
	return errors.Join(unpack(tags, &a.Tags), unpack(attributes, &a.Attributes))
}

func scanEnrichable(rows *sql.Rows) (c Enrichable, err error) {
	var there bool
	var e scannedEnrichment
	if err := scanSurveyed(rows, &c.Surveyed, append([]any{&there}, e.targets()...)...); err != nil || !there {
		return c, err
	}
	found, err := e.enrichment()
	c.Enrichment = &found
	return c, err
}
