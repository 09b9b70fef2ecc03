package enrichment

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
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
		stmt, err := tx.PrepareContext(ctx, insertSurveyed)
		if err != nil {
			return err
		}
		defer stmt.Close()
		args := make([]any, 0, 2+len(surveyedTable))
		for _, a := range page {
			row := surveyedRow{Surveyed: a}
			if err := row.pack(); err != nil {
				return fmt.Errorf("%s: %w", a.Asset, err)
			}
			args = surveyedTable.Values(append(args[:0], destination, survey), &row)
			if _, err := stmt.ExecContext(ctx, args...); err != nil {
				return fmt.Errorf("%s: %w", a.Asset, err)
			}
		}
		return nil
	})
}

// A surveyedRow is an asset as its columns are.
type surveyedRow struct {
	Surveyed
	tags, attributes string
	modified         int64 // read
}

// pack makes the columns of what an asset has as lists.
func (r *surveyedRow) pack() (err error) {
	if r.tags, err = packList(r.Tags); err != nil {
		return err
	}
	packed, err := json.Marshal(r.Attributes)
	if r.Attributes == nil {
		packed = []byte("{}")
	}
	r.attributes = string(packed)
	return err
}

// surveyed is the reverse.
func (r *surveyedRow) surveyed() (Surveyed, error) {
	r.Modified = time.UnixMilli(r.modified).UTC()
	err := errors.Join(unpack(r.tags, &r.Tags), unpack(r.attributes, &r.Attributes))
	return r.Surveyed, err
}

// surveyedTable is what an asset s is written and read by, but for its destination and the listing.
var surveyedTable = state.Columns[surveyedRow]{
	{Name: "asset", Read: "s.asset", Value: func(r *surveyedRow) any { return r.Asset }, Into: func(r *surveyedRow) any { return &r.Asset }},
	{Name: "category", Read: "s.category", Value: func(r *surveyedRow) any { return r.Category }, Into: func(r *surveyedRow) any { return &r.Category }},
	{Name: "category_name", Read: "s.category_name", Value: func(r *surveyedRow) any { return r.CategoryName }, Into: func(r *surveyedRow) any { return &r.CategoryName }},
	{Name: "private", Read: "s.private", Value: func(r *surveyedRow) any { return r.Private }, Into: func(r *surveyedRow) any { return &r.Private }},
	{Name: "folder", Read: "s.folder", Value: func(r *surveyedRow) any { return r.Folder }, Into: func(r *surveyedRow) any { return &r.Folder }},
	{Name: "folder_id", Read: "s.folder_id", Value: func(r *surveyedRow) any { return r.FolderID }, Into: func(r *surveyedRow) any { return &r.FolderID }},
	{Name: "name", Read: "s.name", Value: func(r *surveyedRow) any { return r.Name }, Into: func(r *surveyedRow) any { return &r.Name }},
	{Name: "extension", Read: "s.extension", Value: func(r *surveyedRow) any { return r.Extension }, Into: func(r *surveyedRow) any { return &r.Extension }},
	{Name: "size", Read: "s.size", Value: func(r *surveyedRow) any { return r.Size }, Into: func(r *surveyedRow) any { return &r.Size }},
	{Name: "width", Read: "s.width", Value: func(r *surveyedRow) any { return r.Width }, Into: func(r *surveyedRow) any { return &r.Width }},
	{Name: "height", Read: "s.height", Value: func(r *surveyedRow) any { return r.Height }, Into: func(r *surveyedRow) any { return &r.Height }},
	{Name: "blur", Read: "s.blur", Value: func(r *surveyedRow) any { return r.Blur }, Into: func(r *surveyedRow) any { return &r.Blur }},
	{Name: "description", Read: "s.description", Value: func(r *surveyedRow) any { return r.Description }, Into: func(r *surveyedRow) any { return &r.Description }},
	{Name: "tags", Read: "s.tags", Value: func(r *surveyedRow) any { return r.tags }, Into: func(r *surveyedRow) any { return &r.tags }},
	{Name: "attributes", Read: "s.attributes", Value: func(r *surveyedRow) any { return r.attributes }, Into: func(r *surveyedRow) any { return &r.attributes }},
	{Name: "modified", Read: "s.modified", Value: func(r *surveyedRow) any { return r.Modified.UnixMilli() }, Into: func(r *surveyedRow) any { return &r.modified }},
	{Name: "url", Read: "s.url", Value: func(r *surveyedRow) any { return r.URL }, Into: func(r *surveyedRow) any { return &r.URL }},
	{Name: "image", Read: "s.image", Value: func(r *surveyedRow) any { return r.Image }, Into: func(r *surveyedRow) any { return &r.Image }},
	{Name: "findings", Read: "s.findings", Value: func(r *surveyedRow) any { return r.Findings }, Into: func(r *surveyedRow) any { return &r.Findings }},
	{Name: "language", Read: "s.language", Value: func(r *surveyedRow) any { return r.Language }, Into: func(r *surveyedRow) any { return &r.Language }},
}

// What statements write and read of assets that were listed.
var (
	insertSurveyed = `INSERT OR REPLACE INTO surveyed (destination, survey, ` + surveyedTable.Names() + `) VALUES (?, ?, ` + surveyedTable.Marks() + `)`
	surveyedRead   = append(slices.Clone(surveyedTable), state.Column[surveyedRow]{
		Name: "decorative", Read: `d.asset IS NOT NULL`, Into: func(r *surveyedRow) any { return &r.Decorative }})
	surveyedColumns = surveyedRead.Reads()
	// surveyedOrNone has no NULL, not even where there is no such asset any more.
	surveyedOrNone = orNone(surveyedRead, map[string]string{"tags": `'[]'`, "attributes": `'{}'`,
		"private": "0", "size": "0", "width": "0", "height": "0", "modified": "0"}).Reads()
)

const surveyedTables = `surveyed s LEFT JOIN decorative d ON d.destination = s.destination AND d.asset = s.asset`

// orNone reads each of some columns of a row that may not be there: as given, or else as an empty text.
func orNone[T any](columns state.Columns[T], none map[string]string) state.Columns[T] {
	columns = slices.Clone(columns)
	for n := range columns {
		c := &columns[n]
		c.Read = `coalesce(` + c.Read + `, ` + cmp.Or(none[c.Name], `''`) + `)`
	}
	return columns
}

// scanSurveyed scans an asset, followed by what more there is.
func scanSurveyed(rows *sql.Rows, more ...any) (Surveyed, error) {
	var r surveyedRow
	if err := rows.Scan(surveyedRead.Targets(&r, more...)...); err != nil {
		return r.Surveyed, err
	}
	return r.surveyed()
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
		return state.Query(ctx, s.state, "list survey", scanOneSurveyed, `SELECT `+surveyedColumns+` FROM `+surveyedTables+` WHERE s.destination = ? AND s.asset > ? ORDER BY s.asset LIMIT ?`,
			destination, after, state.PageSize)
	})
}

// SurveyedAsset finds one asset of a destination as it was listed last; ErrNotFound if it is not
// among those.
func (s *Store) SurveyedAsset(ctx context.Context, destination, asset string) (Surveyed, error) {
	found, err := state.Query(ctx, s.state, "find asset", scanOneSurveyed, `SELECT `+surveyedColumns+` FROM `+surveyedTables+` WHERE s.destination = ? AND s.asset = ?`, destination, asset)
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

func scanOneSurveyed(rows *sql.Rows) (Surveyed, error) { return scanSurveyed(rows) }

func scanEnrichable(rows *sql.Rows) (c Enrichable, err error) {
	var there bool
	var e enrichmentRow
	if c.Surveyed, err = scanSurveyed(rows, append([]any{&there}, enrichmentTable.Targets(&e)...)...); err != nil || !there {
		return c, err
	}
	found, err := e.enrichment()
	c.Enrichment = &found
	return c, err
}
