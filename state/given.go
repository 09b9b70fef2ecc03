package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/addresses"
)

// addressField is what a field is called that has addresses at which an object was found.
const addressField = "address"

// give notes the addresses that an object had, as was found of it. What is no address of
// the web is left to where it was found.
func (r *recorder) give(ctx context.Context, o Outcome) error {
	if o.State != ItemDone || !strings.Contains(o.Found, `"`+addressField+`"`) { // as of most
		return nil
	}
	var fields map[string]map[string][]string
	if err := json.Unmarshal([]byte(o.Found), &fields); err != nil {
		return fmt.Errorf("read what was found: %w", err)
	}
	for _, origin := range slices.Sorted(maps.Keys(fields)) {
		for _, address := range fields[origin][addressField] {
			comparable := addresses.Comparable(address)
			if comparable == "" {
				continue
			}
			if _, err := r.tx.ExecContext(ctx, `INSERT OR IGNORE INTO given_addresses (pair, key, address, comparable) VALUES (?, ?, ?, ?)`,
				r.pair, o.Key, addresses.Presentable(address), comparable); err != nil {
				return fmt.Errorf("save old address: %w", err)
			}
		}
	}
	return nil
}
