package apply

import (
	"context"
	"fmt"

	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/sources"
	"assetferry/state"
)

// maxKept is the maximum size of stored storage metadata in bytes. S3 itself allows 2 KB of metadata
// and ten tags.
const maxKept = 16 << 10

// keep stores the metadata that the source keeps with the object in a receipt. Metadata that is too
// large for the state database is skipped; the note says so.
func keep(r *state.Receipt, d *sources.Description) (note string) {
	if d == nil {
		return ""
	}
	kept := &state.Description{ContentType: d.ContentType, Metadata: d.Metadata, Tags: d.Tags}
	if n := keptSize(kept); n > maxKept {
		return fmt.Sprintf("%s: %d bytes, at most %d are", migrate.RemarkNotKept, n, maxKept)
	}
	if !kept.IsZero() {
		r.Description = kept
	}
	return ""
}

func keptSize(d *state.Description) int {
	if d == nil {
		return 0
	}
	n := len(d.ContentType)
	for _, m := range []map[string]string{d.Metadata, d.Tags} {
		for name, value := range m {
			n += len(name) + len(value)
		}
	}
	return n
}

// keepFound is keep for an unconfirmed item that was found at the destination, because the process
// that uploaded it has ended. If the source may answer later, the item stays unconfirmed.
func (a *Applier) keepFound(ctx context.Context, f *finding) {
	if !a.Source.Traits().Describes || f.receipt.Adopted {
		return
	}
	d, err := collect.DescribeObject(ctx, a.Source, f.item.Object)
	switch {
	case err == nil:
		f.remark = keep(f.receipt, d)
	case collect.IsUnreadableForGood(err):
		f.remark = migrate.RemarkNotKept + ": " + err.Error()
	default:
		f.receipt, f.err = nil, err
	}
}
