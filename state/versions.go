package state

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"assetferry/sources"
)

// A History is what a plan found about the older versions of an object.
type History struct {
	Key        sources.Key
	Bring      []sources.Object // the oldest first
	Older      int64            // versions at the source, including those
	OlderBytes int64
}

// SaveHistories stores the older versions that a run brings before the objects themselves. It replaces
// those of an earlier plan of the run.
func (s *Store) SaveHistories(ctx context.Context, run int64, all []History) error {
	return s.Write(ctx, "store versions", func(ctx context.Context, tx *sql.Tx) error {
		for _, h := range all {
			if err := saveHistory(ctx, tx, run, h); err != nil {
				return fmt.Errorf("%s: %w", h.Key, err)
			}
		}
		return nil
	})
}

func saveHistory(ctx context.Context, tx *sql.Tx, run int64, h History) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM versions WHERE run = ? AND key = ?`, run, h.Key); err != nil {
		return err
	}
	bytes := int64(0)
	for n, v := range h.Bring {
		bytes += v.Size
		if _, err := tx.ExecContext(ctx, `INSERT INTO versions (run, key, num, size, time, version_tag, version) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			run, h.Key, n+1, v.Size, nanos(v.Time), v.VersionTag, v.Version); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO histories (run, key, older, older_bytes, brought, brought_bytes) VALUES (?, ?, ?, ?, ?, ?)`,
		run, h.Key, h.Older, h.OlderBytes, len(h.Bring), bytes)
	return err
}

// A NextVersion is the next upload for an object in a run that brings older versions.
type NextVersion struct {
	sources.Object        // the oldest version that the run has still to bring
	Num            int    // of the version; 0 if only the object itself is left
	Asset          string // that has the versions so far; empty if there is none
	Omitted        []OmittedVersion
}

// An OmittedVersion is an older version that a run does not bring.
type OmittedVersion struct {
	Num     int
	Time    time.Time
	Version string // its ID at the source
	Why     string
}

// NextVersion returns the next upload for an object of a run.
func (s *Store) NextVersion(ctx context.Context, run int64, key sources.Key) (next NextVersion, err error) {
	type row struct {
		sources.Object
		num         int
		asset, note string
	}
	rows, err := query(ctx, s.r, "find next version", func(rows *sql.Rows) (v row, err error) {
		var changed int64
		err = rows.Scan(&v.num, &v.Size, &changed, &v.VersionTag, &v.Version, &v.asset, &v.note)
		v.Key, v.Time = key, fromNanos(changed)
		return v, err
	}, `SELECT num, size, time, version_tag, version, asset, note FROM versions WHERE run = ? AND key = ? ORDER BY num`, run, key)
	for _, v := range rows {
		switch {
		case v.note != "":
			next.Omitted = append(next.Omitted, OmittedVersion{v.num, v.Time, v.Version, v.note})
		case v.asset != "":
			next.Asset = v.asset
		default:
			next.Object, next.Num = v.Object, v.num
			return next, nil
		}
	}
	return next, err
}

// HistoryInterrupted reports whether an asset has older versions of an object, and the run that
// brought them has not brought the object itself.
func (s *Store) HistoryInterrupted(ctx context.Context, pair int64, asset string) (is bool, err error) {
	err = s.r.row(ctx, "find open history", `SELECT EXISTS (SELECT 1 FROM open_histories WHERE pair = ? AND asset = ?)`, pair, asset).Scan(&is)
	return is, err
}

// ForgetHistories deletes the older versions of items that a run has not begun, before it is planned
// again.
func (s *Store) ForgetHistories(ctx context.Context, run int64) error {
	return s.Write(ctx, "forget versions", func(ctx context.Context, tx *sql.Tx) error {
		for _, table := range []string{"versions", "histories"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM items i
				WHERE i.run = ?1 AND i.key = `+table+`.key AND i.attempts > 0)`, run); err != nil {
				return err
			}
		}
		return nil
	})
}

// A HistorySum sums up the older versions of the objects of a run. If the run brings some, Brought
// counts them, whether or not they have arrived. Omitted counts those of them that were refused, or
// deleted after the plan.
type HistorySum struct {
	Objects               int64 // with older versions
	Older, OlderBytes     int64
	Brought, BroughtBytes int64
	Omitted               int64
}

// Histories sums up the older versions of the objects of a run.
func (s *Store) Histories(ctx context.Context, run int64) (h HistorySum, err error) {
	err = s.r.row(ctx, "sum up versions", `SELECT count(*), coalesce(sum(older), 0), coalesce(sum(older_bytes), 0), coalesce(sum(brought), 0), coalesce(sum(brought_bytes), 0),
		(SELECT count(*) FROM versions WHERE run = ?1 AND note <> '') FROM histories WHERE run = ?1`, run).
		Scan(&h.Objects, &h.Older, &h.OlderBytes, &h.Brought, &h.BroughtBytes, &h.Omitted)
	return h, err
}

// PendingVersions returns the number of versions that a run has still to bring, and their bytes.
func (s *Store) PendingVersions(ctx context.Context, run int64) (n, bytes int64, err error) {
	err = s.r.row(ctx, "sum up versions", `SELECT count(*), coalesce(sum(v.size), 0) FROM versions v JOIN items i ON i.run = v.run AND i.key = v.key
		WHERE v.run = ? AND v.asset = '' AND v.note = '' AND i.action IN ('create', 'replace') AND i.state NOT IN ('done', 'failed', 'changed')`, run).Scan(&n, &bytes)
	return n, bytes, err
}

// GoesOn reports whether the item has more versions to bring.
func (o Outcome) GoesOn() bool { return o.Version > 0 && o.State == ItemDone }

// omits reports whether the outcome is that an older version is omitted.
func (o Outcome) omits() bool { return o.GoesOn() && o.Receipt == nil }

// goOn records an older version that is done or omitted, and lets the item go on with the next one.
func (r *recorder) goOn(ctx context.Context, o Outcome, asset string) error {
	st := o.itemState()
	if err := onNextVersion.leadsTo(st); err != nil {
		return err
	}
	var intent any
	if st == ItemSending {
		intent = o.NextIntent.UnixMilli()
	}
	note := o.Error
	if asset != "" { // remarks on an upload
		note = ""
	}
	if err := One(ctx, r.tx, `UPDATE versions SET asset = ?, note = ? WHERE run = ? AND key = ? AND num = ? AND asset = ''`,
		asset, note, r.run, o.Key, o.Version); err != nil {
		return err
	}
	if asset != "" {
		if _, err := r.tx.ExecContext(ctx, `INSERT OR IGNORE INTO open_histories (pair, asset) VALUES (?, ?)`, r.pair, asset); err != nil {
			return err
		}
	}
	return One(ctx, r.tx, `UPDATE items SET state = ?, intent_at = ?, attempts = 1, class = '', error = '', retry_at = NULL
		WHERE run = ? AND key = ? AND `+onNextVersion.condition(), st, intent, r.run, o.Key)
}

// keepRevision records the content that an outcome replaces, in runs that bring versions.
func (r *recorder) keepRevision(ctx context.Context, o Outcome) error {
	if !o.KeepsRevision {
		return nil
	}
	_, err := r.tx.ExecContext(ctx, `INSERT INTO revisions (pair, asset, num, size, time, version_tag, checksum, run, done_at)
		SELECT pair, asset, 1 + (SELECT coalesce(max(v.num), 0) FROM revisions v WHERE v.pair = r.pair AND v.asset = r.asset),
			size, time, version_tag, checksum, run, done_at FROM receipts r WHERE pair = ? AND key = ? AND asset = ?`, r.pair, o.InsteadOf, o.Receipt.Asset)
	return err
}

// endHistory notes that the object itself has arrived after its older versions.
func (r *recorder) endHistory(ctx context.Context, o Outcome) error {
	if !o.KeepsRevision || o.Receipt == nil {
		return nil
	}
	if _, err := r.tx.ExecContext(ctx, `DELETE FROM versions WHERE run = ? AND key = ? AND asset <> ''`, r.run, o.Key); err != nil {
		return err
	}
	_, err := r.tx.ExecContext(ctx, `DELETE FROM open_histories WHERE pair = ? AND asset = ?`, r.pair, o.Receipt.Asset)
	return err
}

// A Revision is an earlier content of an asset that a run with versions uploaded.
type Revision struct {
	Num int // from 1, the oldest
	sources.Object
	Checksum []byte
	Run      int64
}

// Revisions returns the earlier contents of the asset of an object, as far as runs with versions
// uploaded them, the oldest first.
func (s *Store) Revisions(ctx context.Context, pair int64, r Receipt) ([]Revision, error) {
	return query(ctx, s.r, "list revisions", func(rows *sql.Rows) (v Revision, err error) {
		var changed int64
		err = rows.Scan(&v.Num, &v.Size, &changed, &v.VersionTag, &v.Checksum, &v.Run)
		v.Key, v.Time = r.Key, fromNanos(changed)
		return v, err
	}, `SELECT num, size, time, version_tag, checksum, run FROM revisions WHERE pair = ? AND asset = ? ORDER BY num`, pair, r.Asset)
}

// RevisedAssets returns the receipts of up to n assets with recorded revisions, those after an asset, by
// the IDs of the assets.
func (s *Store) RevisedAssets(ctx context.Context, pair int64, after string, n int) ([]Receipt, error) {
	ids, err := query(ctx, s.r, "list assets with revisions", func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT DISTINCT v.asset FROM revisions v JOIN receipts r ON r.pair = v.pair AND r.asset = v.asset
		WHERE v.pair = ? AND v.asset > ? ORDER BY v.asset LIMIT ?`, pair, after, n)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	receipts, err := s.ReceiptsOf(ctx, pair, ids)
	all := make([]Receipt, 0, len(ids))
	for _, id := range ids {
		all = append(all, receipts[id])
	}
	return all, err
}
