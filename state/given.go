package state

import (
	"context"
	"fmt"

	"assetferry/internal/oldurl"
)

// give notes the addresses that an object had. What is no address of the web is left to
// where it was found.
func (r *recorder) give(ctx context.Context, o Outcome) error {
	if o.State != ItemDone {
		return nil
	}
	for _, address := range o.Addresses {
		comparable := oldurl.Comparable(address)
		if comparable == "" {
			continue
		}
		if _, err := r.tx.ExecContext(ctx, `INSERT OR IGNORE INTO given_addresses (pair, key, address, comparable) VALUES (?, ?, ?, ?)`,
			r.pair, o.Key, oldurl.Presentable(address), comparable); err != nil {
			return fmt.Errorf("save old address: %w", err)
		}
	}
	return nil
}
