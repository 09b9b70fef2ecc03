package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"assetferry/sources"
)

// A Receipt is the confirmed upload of an object: its asset, with the fingerprint and the checksum
// of the uploaded content.
type Receipt struct {
	sources.Object        // as listed when its content was uploaded
	Checksum       []byte // SHA-256
	Asset          string
	Name           string // without extension, as the service answered
	Extension      string
	Category       string
	Folder         string // id; empty directly in the category
	URL            string
	Slot           int64
	Adopted        bool // the asset was there before us
	// Modified is the modification time of the asset, by the service, after our last change; zero
	// if unknown.
	Modified time.Time
	// MetadataPending says that the metadata of the asset is not written completely; only read.
	MetadataPending bool
	Run             int64 // the run that created or adopted it; only read
	// Description is the storage metadata of the object, nil if there is none; only written, see
	// Store.Description.
	Description *Description
	// Images are the URLs of an image in other sizes, by width, and "default"; only written, see
	// Store.AssetURLs.
	Images map[string]string
}

// Filename returns the name of the asset with its extension.
func (r Receipt) Filename() string { return filename(r.Name, r.Extension) }

func filename(name, extension string) string {
	if extension == "" {
		return name
	}
	return name + "." + extension
}

// inherited contains the values that a receipt takes from the one that it replaces.
type inherited struct {
	images                sql.NullString // packed; of the same asset
	contentRun, contentAt sql.NullInt64  // of the same content
}

// saveReceipt stores a receipt. Without URLs of images it keeps the inherited ones.
func (r *recorder) saveReceipt(ctx context.Context, c Receipt, known inherited, metadataPending bool) error {
	images, err := packImages(c.URL, c.Images)
	if err != nil {
		return fmt.Errorf("save URLs of images: %w", err)
	}
	if len(c.Images) == 0 && known.images.Valid {
		images = known.images.String
	}
	base, err := r.bases.ofReceipt(ctx, c)
	if err != nil {
		return fmt.Errorf("save upload record: %w", err)
	}
	if base.Valid {
		c.Name, c.Extension, c.Category, c.URL = "", "", "", ""
	}
	c.MetadataPending, c.Run = metadataPending, r.run
	row := receiptRow{Receipt: c, pair: r.pair, doneAt: r.now, packed: images, base: base, inherited: known}
	r.args = receiptTable.Values(r.args[:0], &row)
	_, err = r.receipt.ExecContext(ctx, r.args...)
	if err != nil {
		return fmt.Errorf("save upload record: %w", err)
	}
	if base.Valid && c.Description.isOnlyType() {
		return nil
	}
	return r.updateMetadata(ctx, c.Key, c.Description)
}

// A receiptRow is a receipt as its columns are.
type receiptRow struct {
	Receipt
	pair, doneAt int64
	packed       any // images
	base         sql.NullInt64
	inherited
	changed  int64         // read
	modified sql.NullInt64 // read
}

// receiptTable has the columns to write a receipt; receiptRead those to read.
var receiptTable = Columns[receiptRow]{
	{Name: "pair", Value: func(r *receiptRow) any { return r.pair }},
	{Name: "key", Value: func(r *receiptRow) any { return r.Key }, Into: func(r *receiptRow) any { return &r.Key }},
	{Name: "size", Value: func(r *receiptRow) any { return r.Size }, Into: func(r *receiptRow) any { return &r.Size }},
	{Name: "time", Value: func(r *receiptRow) any { return nanos(r.Time) }, Into: func(r *receiptRow) any { return &r.changed }},
	{Name: "version_tag", Value: func(r *receiptRow) any { return r.VersionTag }, Into: func(r *receiptRow) any { return &r.VersionTag }},
	{Name: "checksum", Value: func(r *receiptRow) any { return r.Checksum }, Into: func(r *receiptRow) any { return &r.Checksum }},
	{Name: "asset", Value: func(r *receiptRow) any { return r.Asset }, Into: func(r *receiptRow) any { return &r.Asset }},
	{Name: "name", Value: func(r *receiptRow) any { return r.Name }, Into: func(r *receiptRow) any { return &r.Name }},
	{Name: "extension", Value: func(r *receiptRow) any { return r.Extension }, Into: func(r *receiptRow) any { return &r.Extension }},
	{Name: "category", Value: func(r *receiptRow) any { return r.Category }, Into: func(r *receiptRow) any { return &r.Category }},
	{Name: "folder", Value: func(r *receiptRow) any { return r.Folder }, Into: func(r *receiptRow) any { return &r.Folder }},
	{Name: "url", Value: func(r *receiptRow) any { return r.URL }, Into: func(r *receiptRow) any { return &r.URL }},
	{Name: "slot", Value: func(r *receiptRow) any { return r.Slot }, Into: func(r *receiptRow) any { return &r.Slot }},
	{Name: "adopted", Value: func(r *receiptRow) any { return r.Adopted }, Into: func(r *receiptRow) any { return &r.Adopted }},
	{Name: "metadata_pending", Value: func(r *receiptRow) any { return r.MetadataPending }, Into: func(r *receiptRow) any { return &r.MetadataPending }},
	{Name: "modified", Value: func(r *receiptRow) any { return millis(r.Modified) }, Into: func(r *receiptRow) any { return &r.modified }},
	{Name: "content_type", Value: func(r *receiptRow) any { return unlessEmpty(r.ContentType) }, Into: func(r *receiptRow) any { return (*textOrNull)(&r.ContentType) }},
	{Name: "run", Value: func(r *receiptRow) any { return r.Run }, Into: func(r *receiptRow) any { return &r.Run }},
	{Name: "base", Value: func(r *receiptRow) any { return r.base }, Into: func(r *receiptRow) any { return &r.base }},
	{Name: "done_at", Value: func(r *receiptRow) any { return r.doneAt }},
	{Name: "images", Value: func(r *receiptRow) any { return r.packed }},
	{Name: "content_run", Value: func(r *receiptRow) any { return r.contentRun }},
	{Name: "content_at", Value: func(r *receiptRow) any { return r.contentAt }},
}

// The columns and statements of receipts.
var (
	insertReceipt = `INSERT INTO receipts (` + receiptTable.Names() + `) VALUES (` + receiptTable.Marks() + `)`
	receiptRead   = receiptTable.Only("key", "size", "time", "version_tag", "checksum", "asset", "name", "extension", "category", "folder",
		"url", "slot", "adopted", "metadata_pending", "modified", "content_type", "run", "base")
	receiptColumns = receiptRead.Reads()
)

// scanReceipts returns a function that scans the rows of one query into one reused row.
func scanReceipts() func(*sql.Rows) (Receipt, sql.NullInt64, error) {
	var r receiptRow
	targets := receiptRead.Targets(&r)
	return func(rows *sql.Rows) (Receipt, sql.NullInt64, error) {
		err := rows.Scan(targets...)
		return r.receipt(), r.base, err
	}
}

// scanReceiptAnd scans one row with more columns.
func scanReceiptAnd(rows *sql.Rows, more ...any) (Receipt, sql.NullInt64, error) {
	var r receiptRow
	err := rows.Scan(receiptRead.Targets(&r, more...)...)
	return r.receipt(), r.base, err
}

func (r *receiptRow) receipt() Receipt {
	c := r.Receipt
	c.Time = fromNanos(r.changed)
	if r.modified.Valid {
		c.Modified = fromMillis(r.modified.Int64)
	}
	return c
}

func (r *Receipt) complete(b base) {
	r.Name, r.Extension, r.Category, r.URL = b.values(r.Key, r.Asset)
}

// Receipts lists the receipts of a pair in key order, those with keys after the
// given one.
func (s *Store) Receipts(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Receipt, error] {
	return paged(s.r, after, func(r Receipt) sources.Key { return r.Key }, func(after sources.Key) ([]Receipt, error) {
		return queryBased(ctx, s, "list receipts", scanReceipts(), (*Receipt).complete, `SELECT `+receiptColumns+` FROM receipts
			WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

// An Evidence is a receipt with the upload, or the match, of its content.
type Evidence struct {
	Receipt
	At         time.Time
	ContentRun string // ID of the run
	Approver   Approver
}

// AllEvidence is Receipts with the uploads of the contents.
func (s *Store) AllEvidence(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Evidence, error] {
	return paged(s.r, after, func(a Evidence) sources.Key { return a.Key }, func(after sources.Key) ([]Evidence, error) {
		return s.evidence(ctx, `r.key > ? ORDER BY r.key LIMIT ?`, pair, after, PageSize)
	})
}

// Evidence is Receipt with the upload of the content.
func (s *Store) Evidence(ctx context.Context, pair int64, key sources.Key) (Evidence, error) {
	all, err := s.evidence(ctx, `r.key = ?`, pair, key)
	return First(all, err, "upload record of "+string(key))
}

func (s *Store) evidence(ctx context.Context, which string, args ...any) ([]Evidence, error) {
	scan := func(rows *sql.Rows) (a Evidence, base sql.NullInt64, err error) {
		var at int64
		a.Receipt, base, err = scanReceiptAnd(rows, &at, &a.ContentRun, &a.Approver.Name, &a.Approver.Key, &a.Approver.StatedBy)
		a.At = fromMillis(at)
		return a, base, err
	}
	complete := func(a *Evidence, b base) { a.Receipt.complete(b) }
	return queryBased(ctx, s, "list uploads", scan, complete, `SELECT `+receiptColumns+`, `+arrivedAt+`, n.id, n.approved_by, n.approval_key, n.approval_stated_by
		FROM receipts r JOIN runs n ON n.num = coalesce(r.content_run, r.run) WHERE r.pair = ? AND `+which, args...)
}

// Fingerprints is Receipts for comparisons with a listing. It reads only the fingerprint, the
// asset, the run, and whether the asset was adopted or lacks metadata, in half of the time.
func (s *Store) Fingerprints(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Receipt, error] {
	scan := func(rows *sql.Rows) (r Receipt, err error) {
		var changed int64
		err = rows.Scan(&r.Key, &r.Size, &changed, &r.VersionTag, &r.Asset, &r.Adopted, &r.MetadataPending, &r.Run)
		r.Time = fromNanos(changed)
		return r, err
	}
	return func(yield func(Receipt, error) bool) {
		var page []Receipt // reused: new slices for each page were a third of all allocations of a plan
		paged(s.r, after, func(r Receipt) sources.Key { return r.Key }, func(after sources.Key) (_ []Receipt, err error) {
			page, err = queryInto(ctx, page, s.r, "list fingerprints", scan, `SELECT key, size, time, version_tag, asset, adopted, metadata_pending, run FROM receipts
				WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, PageSize)
			return page, err
		})(yield)
	}
}

// Receipt returns the receipt of an object; ErrNotFound if there is none.
func (s *Store) Receipt(ctx context.Context, pair int64, key sources.Key) (Receipt, error) {
	all, err := queryBased(ctx, s, "find upload record", scanReceipts(), (*Receipt).complete,
		`SELECT `+receiptColumns+` FROM receipts WHERE pair = ? AND key = ?`, pair, key)
	return First(all, err, "upload record of "+string(key))
}

// ReceiptsOf returns the receipts of some assets in a pair, by asset. Without the index hint SQLite
// would read all receipts of the pair.
func (s *Store) ReceiptsOf(ctx context.Context, pair int64, assets []string) (map[string]Receipt, error) {
	all, err := queryBased(ctx, s, "find receipts", scanReceipts(), (*Receipt).complete, `SELECT `+receiptColumns+` FROM receipts INDEXED BY receipts_asset
		WHERE pair = ? AND asset IN `+List(len(assets)), listed(assets, pair)...)
	byAsset := make(map[string]Receipt, len(all))
	for _, r := range all {
		byAsset[r.Asset] = r
	}
	return byAsset, err
}

// A ReceiptSum counts receipts and their bytes.
type ReceiptSum struct{ Objects, Bytes int64 }

// SumReceipts counts the receipts of a pair.
func (s *Store) SumReceipts(ctx context.Context, pair int64) (sum ReceiptSum, err error) {
	err = s.r.row(ctx, "count upload records", `SELECT objects, bytes FROM pairs WHERE id = ?`, pair).Scan(&sum.Objects, &sum.Bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return sum, nil
	}
	return sum, err
}

func (sum ReceiptSum) plus(o ReceiptSum) ReceiptSum {
	return ReceiptSum{sum.Objects + o.Objects, sum.Bytes + o.Bytes}
}

func (sum ReceiptSum) less(o ReceiptSum) ReceiptSum {
	return ReceiptSum{sum.Objects - o.Objects, sum.Bytes - o.Bytes}
}

// addTo adds to the stored sums of a pair.
func (sum ReceiptSum) addTo(ctx context.Context, tx *sql.Tx, pair int64) error {
	if sum == (ReceiptSum{}) {
		return nil
	}
	return One(ctx, tx, `UPDATE pairs SET objects = objects + ?, bytes = bytes + ? WHERE id = ?`, sum.Objects, sum.Bytes, pair)
}

// HoldsAsset reports whether an asset belongs to an object of the pair.
func (s *Store) HoldsAsset(ctx context.Context, pair int64, asset string) (holds bool, err error) {
	err = s.r.row(ctx, "look up asset", `SELECT EXISTS (SELECT 1 FROM receipts WHERE pair = ? AND asset = ?)`, pair, asset).Scan(&holds)
	return holds, err
}

// OwnsAsset reports whether an asset of the destination belongs to an object of any source. The
// join is CROSS so that pairs come first: SQLite would otherwise read all receipts.
func (s *Store) OwnsAsset(ctx context.Context, destination, asset string) (owns bool, err error) {
	err = s.r.row(ctx, "look up asset", `SELECT EXISTS (SELECT 1 FROM pairs p CROSS JOIN receipts r ON r.pair = p.id
		WHERE p.destination = ? AND r.asset = ?)`, destination, asset).Scan(&owns)
	return owns, err
}

// millis returns a time for storage, nil if it is unknown.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// forgetReceipt deletes the receipt of an object, if there is one, and its storage metadata.
func forgetReceipt(ctx context.Context, tx *sql.Tx, pair int64, key sources.Key) (forgotten ReceiptSum, err error) {
	if _, err := tx.ExecContext(ctx, `DELETE FROM descriptions WHERE pair = ? AND key = ?`, pair, key); err != nil {
		return forgotten, fmt.Errorf("delete storage metadata: %w", err)
	}
	err = tx.QueryRowContext(ctx, `DELETE FROM receipts WHERE pair = ? AND key = ? RETURNING 1, size`, pair, key).
		Scan(&forgotten.Objects, &forgotten.Bytes)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return forgotten, fmt.Errorf("delete upload record: %w", err)
	}
	return forgotten, nil
}
