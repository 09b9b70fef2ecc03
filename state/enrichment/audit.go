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

// An AuditedAsset is an asset in the last audit of a destination.
type AuditedAsset struct {
	Asset        string
	Category     string // ID
	CategoryName string
	Private      bool   // files require permission
	Folder       string // path within the category; "" directly in it
	FolderID     string
	Name         string // without the extension
	Extension    string
	Size         int64 // bytes
	Width        int   // pixels; 0 if unknown
	Height       int
	Blur         string // BlurHash, which changes with the content; "" if unknown
	Description  string
	Tags         []string
	Attributes   map[string]any // custom attributes; numbers are json.Number
	Modified     time.Time
	URL          string
	Image        string // URL of a rendition; "" if there is none
	Findings     string // separated by commas, see package enrich
	Language     string // of the description; "" if unknown
	Decorative   bool   // marked by a person; only read
}

// An Enrichable is an asset of a destination with its enrichment.
type Enrichable struct {
	AuditedAsset
	Enrichment *Enrichment // nil if there is none
}

// An Audit is a listing of all assets of a destination.
type Audit struct {
	At    time.Time
	Whole bool // complete
}

// BeginAudit starts an audit of a destination and returns its number. Assets of the previous
// audit are kept until this one is complete.
func (s *Store) BeginAudit(ctx context.Context, destination string) (audit int64, err error) {
	err = s.state.Write(ctx, "begin audit", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO audits (destination, audit, at, whole) VALUES (?, 1, ?, 0)
			ON CONFLICT (destination) DO UPDATE SET audit = audit + 1, at = excluded.at, whole = 0 RETURNING audit`,
			destination, s.state.Now().UnixMilli()).Scan(&audit)
	})
	return audit, err
}

// SaveAssets stores a page of an audit. It fails with ErrConflict if another audit of the
// destination has started.
func (s *Store) SaveAssets(ctx context.Context, destination string, audit int64, page []AuditedAsset) error {
	return s.state.Write(ctx, "save audit", func(ctx context.Context, tx *sql.Tx) error {
		if err := state.One(ctx, tx, `UPDATE audits SET at = at WHERE destination = ? AND audit = ?`, destination, audit); err != nil {
			return err
		}
		stmt, err := tx.PrepareContext(ctx, insertAsset)
		if err != nil {
			return err
		}
		defer stmt.Close()
		args := make([]any, 0, 2+len(auditedTable))
		for _, a := range page {
			row := auditedRow{AuditedAsset: a}
			if err := row.pack(); err != nil {
				return fmt.Errorf("%s: %w", a.Asset, err)
			}
			args = auditedTable.Values(append(args[:0], destination, audit), &row)
			if _, err := stmt.ExecContext(ctx, args...); err != nil {
				return fmt.Errorf("%s: %w", a.Asset, err)
			}
		}
		return nil
	})
}

// An auditedRow is an asset as a row.
type auditedRow struct {
	AuditedAsset
	tags, attributes string
	modified         int64 // only read
}

// pack encodes the lists of an asset.
func (r *auditedRow) pack() (err error) {
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

// audited decodes a row.
func (r *auditedRow) audited() (AuditedAsset, error) {
	r.Modified = time.UnixMilli(r.modified).UTC()
	err := errors.Join(unpack(r.tags, &r.Tags), unpack(r.attributes, &r.Attributes))
	return r.AuditedAsset, err
}

// auditedTable contains the columns of an asset, without the destination and the audit.
var auditedTable = state.Columns[auditedRow]{
	{Name: "asset", Read: "s.asset", Value: func(r *auditedRow) any { return r.Asset }, Into: func(r *auditedRow) any { return &r.Asset }},
	{Name: "category", Read: "s.category", Value: func(r *auditedRow) any { return r.Category }, Into: func(r *auditedRow) any { return &r.Category }},
	{Name: "category_name", Read: "s.category_name", Value: func(r *auditedRow) any { return r.CategoryName }, Into: func(r *auditedRow) any { return &r.CategoryName }},
	{Name: "private", Read: "s.private", Value: func(r *auditedRow) any { return r.Private }, Into: func(r *auditedRow) any { return &r.Private }},
	{Name: "folder", Read: "s.folder", Value: func(r *auditedRow) any { return r.Folder }, Into: func(r *auditedRow) any { return &r.Folder }},
	{Name: "folder_id", Read: "s.folder_id", Value: func(r *auditedRow) any { return r.FolderID }, Into: func(r *auditedRow) any { return &r.FolderID }},
	{Name: "name", Read: "s.name", Value: func(r *auditedRow) any { return r.Name }, Into: func(r *auditedRow) any { return &r.Name }},
	{Name: "extension", Read: "s.extension", Value: func(r *auditedRow) any { return r.Extension }, Into: func(r *auditedRow) any { return &r.Extension }},
	{Name: "size", Read: "s.size", Value: func(r *auditedRow) any { return r.Size }, Into: func(r *auditedRow) any { return &r.Size }},
	{Name: "width", Read: "s.width", Value: func(r *auditedRow) any { return r.Width }, Into: func(r *auditedRow) any { return &r.Width }},
	{Name: "height", Read: "s.height", Value: func(r *auditedRow) any { return r.Height }, Into: func(r *auditedRow) any { return &r.Height }},
	{Name: "blur", Read: "s.blur", Value: func(r *auditedRow) any { return r.Blur }, Into: func(r *auditedRow) any { return &r.Blur }},
	{Name: "description", Read: "s.description", Value: func(r *auditedRow) any { return r.Description }, Into: func(r *auditedRow) any { return &r.Description }},
	{Name: "tags", Read: "s.tags", Value: func(r *auditedRow) any { return r.tags }, Into: func(r *auditedRow) any { return &r.tags }},
	{Name: "attributes", Read: "s.attributes", Value: func(r *auditedRow) any { return r.attributes }, Into: func(r *auditedRow) any { return &r.attributes }},
	{Name: "modified", Read: "s.modified", Value: func(r *auditedRow) any { return r.Modified.UnixMilli() }, Into: func(r *auditedRow) any { return &r.modified }},
	{Name: "url", Read: "s.url", Value: func(r *auditedRow) any { return r.URL }, Into: func(r *auditedRow) any { return &r.URL }},
	{Name: "image", Read: "s.image", Value: func(r *auditedRow) any { return r.Image }, Into: func(r *auditedRow) any { return &r.Image }},
	{Name: "findings", Read: "s.findings", Value: func(r *auditedRow) any { return r.Findings }, Into: func(r *auditedRow) any { return &r.Findings }},
	{Name: "language", Read: "s.language", Value: func(r *auditedRow) any { return r.Language }, Into: func(r *auditedRow) any { return &r.Language }},
}

// SQL of statements on audited assets.
var (
	insertAsset = `INSERT OR REPLACE INTO audited (destination, audit, ` + auditedTable.Names() + `) VALUES (?, ?, ` + auditedTable.Marks() + `)`
	auditedRead = append(slices.Clone(auditedTable), state.Column[auditedRow]{
		Name: "decorative", Read: `d.asset IS NOT NULL`, Into: func(r *auditedRow) any { return &r.Decorative }})
	auditedColumns = auditedRead.Reads()
	// auditedOrNone returns no NULL, even without an asset.
	auditedOrNone = orNone(auditedRead, map[string]string{"tags": `'[]'`, "attributes": `'{}'`,
		"private": "0", "size": "0", "width": "0", "height": "0", "modified": "0"}).Reads()
)

const auditedTables = `audited s LEFT JOIN decorative d ON d.destination = s.destination AND d.asset = s.asset`

// orNone reads columns of a row that may not exist. Without a default it uses "".
func orNone[T any](columns state.Columns[T], none map[string]string) state.Columns[T] {
	columns = slices.Clone(columns)
	for n := range columns {
		c := &columns[n]
		c.Read = `coalesce(` + c.Read + `, ` + cmp.Or(none[c.Name], `''`) + `)`
	}
	return columns
}

// scanAsset scans an asset and additional columns.
func scanAsset(rows *sql.Rows, more ...any) (AuditedAsset, error) {
	var r auditedRow
	if err := rows.Scan(auditedRead.Targets(&r, more...)...); err != nil {
		return r.AuditedAsset, err
	}
	return r.audited()
}

// packList encodes strings as a JSON array, which is never null.
func packList(list []string) (string, error) {
	if list == nil {
		list = []string{}
	}
	packed, err := json.Marshal(list)
	return string(packed), err
}

// EndAudit completes an audit and deletes the assets that it did not contain. It fails with
// ErrConflict if another audit has started.
func (s *Store) EndAudit(ctx context.Context, destination string, audit int64) error {
	return s.state.Write(ctx, "end audit", func(ctx context.Context, tx *sql.Tx) error {
		if err := state.One(ctx, tx, `UPDATE audits SET whole = 1 WHERE destination = ? AND audit = ?`, destination, audit); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM audited WHERE destination = ? AND audit <> ?`, destination, audit)
		return err
	})
}

// LastAudit returns the last audit of a destination, or ErrNotFound.
func (s *Store) LastAudit(ctx context.Context, destination string) (Audit, error) {
	found, err := state.Query(ctx, s.state, "find audit", func(rows *sql.Rows) (v Audit, err error) {
		var at int64
		err = rows.Scan(&at, &v.Whole)
		v.At = time.UnixMilli(at).UTC()
		return v, err
	}, `SELECT at, whole FROM audits WHERE destination = ?`, destination)
	return state.First(found, err, "audit of "+destination)
}

// Assets lists the audited assets of a destination by ID.
func (s *Store) Assets(ctx context.Context, destination string) iter.Seq2[AuditedAsset, error] {
	return state.Paged(s.state, "", func(a AuditedAsset) string { return a.Asset }, func(after string) ([]AuditedAsset, error) {
		return state.Query(ctx, s.state, "list audit", scanOneAsset, `SELECT `+auditedColumns+` FROM `+auditedTables+` WHERE s.destination = ? AND s.asset > ? ORDER BY s.asset LIMIT ?`,
			destination, after, state.PageSize)
	})
}

// Asset returns an audited asset of a destination, or ErrNotFound.
func (s *Store) Asset(ctx context.Context, destination, asset string) (AuditedAsset, error) {
	found, err := state.Query(ctx, s.state, "find asset", scanOneAsset, `SELECT `+auditedColumns+` FROM `+auditedTables+` WHERE s.destination = ? AND s.asset = ?`, destination, asset)
	return state.First(found, err, "asset "+asset)
}

// Enrichables lists the audited assets of a destination by ID, each with its enrichment of this
// kind and language.
func (s *Store) Enrichables(ctx context.Context, destination string, kind Kind, language string) iter.Seq2[Enrichable, error] {
	return state.Paged(s.state, "", func(c Enrichable) string { return c.Asset }, func(after string) ([]Enrichable, error) {
		return state.Query(ctx, s.state, "list assets", scanEnrichable, `SELECT `+auditedColumns+`, e.num IS NOT NULL, `+enrichmentColumns+` FROM `+auditedTables+`
			LEFT JOIN enrichments e ON e.destination = s.destination AND e.asset = s.asset AND e.kind = ? AND e.language = ?
			LEFT JOIN enrichment_runs r ON r.num = e.run
			WHERE s.destination = ? AND s.asset > ? ORDER BY s.asset LIMIT ?`, string(kind), language, destination, after, state.PageSize)
	})
}

// MarkDecorative records whether assets of a destination need no description.
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

func scanOneAsset(rows *sql.Rows) (AuditedAsset, error) { return scanAsset(rows) }

func scanEnrichable(rows *sql.Rows) (c Enrichable, err error) {
	var there bool
	var e enrichmentRow
	if c.AuditedAsset, err = scanAsset(rows, append([]any{&there}, enrichmentTable.Targets(&e)...)...); err != nil || !there {
		return c, err
	}
	found, err := e.enrichment()
	c.Enrichment = &found
	return c, err
}
