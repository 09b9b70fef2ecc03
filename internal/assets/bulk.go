package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"assetferry/internal/outbound"
)

// bulkBatch is the number of assets per request. The limit of the service is unknown.
const bulkBatch = 100

// A BulkError lists the assets for which an operation failed. It succeeded for those that are
// neither in Failed nor in Open.
type BulkError struct {
	Op     string
	Failed map[string]int // status of the service by asset
	Open   []string       // assets without a result in the given order: not sent, or without a response
	Err    error          // error that ended the operation; nil if it is complete
}

func (e *BulkError) Error() string {
	var parts []string
	if len(e.Failed) > 0 {
		parts = append(parts, fmt.Sprintf("failed for %d assets: %s", len(e.Failed), e.failures()))
	}
	if e.Err != nil {
		parts = append(parts, fmt.Sprintf("not completed for %d assets: %v", len(e.Open), e.Err))
	}
	return e.Op + ": " + strings.Join(parts, "; ")
}

func (e *BulkError) Unwrap() error { return e.Err }

// Refusal returns the [Error] for one asset, or nil.
func (e *BulkError) Refusal(id string) error {
	status, failed := e.Failed[id]
	if !failed {
		return nil
	}
	refusal := &Error{Op: e.Op, Subject: outbound.Printable(id), Status: status}
	refusal.class = classOf(refusal)
	return refusal
}

func (e *BulkError) failures() string {
	const most = 5
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(e.Failed)) {
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Failed)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%d)", outbound.Printable(id), e.Failed[id]))
	}
	return strings.Join(parts, ", ")
}

// A bulk is an operation on several assets, in several requests if necessary.
type bulk[T any] struct {
	request
	items []T
	id    func(T) string
	body  func([]T) any
}

func (b bulk[T]) do(ctx context.Context, c *Client) error {
	failed := map[string]int{}
	done := 0
	for batch := range slices.Chunk(b.items, bulkBatch) {
		var got bulkAnswer
		r := b.request
		r.subject = fmt.Sprintf("%d assets", len(batch))
		r.method, r.query = http.MethodPost, c.inWorkspace()
		r.body, r.into = jsonPayload(b.body(batch)), &got
		if err := c.do(ctx, &r); err != nil {
			return &BulkError{Op: b.op, Failed: failed, Open: b.ids(b.items[done:]), Err: err}
		}
		maps.Copy(failed, got.failed)
		done += len(batch)
	}
	if len(failed) > 0 {
		return &BulkError{Op: b.op, Failed: failed}
	}
	return nil
}

func (b bulk[T]) ids(items []T) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = b.id(item)
	}
	return ids
}

// bulkIDs sends an operation whose body contains only the IDs.
func (c *Client) bulkIDs(ctx context.Context, op, route string, ids []string) error {
	return bulk[string]{
		request: request{op: op, route: route},
		items:   ids,
		id:      func(id string) string { return id },
		body:    func(batch []string) any { return batch },
	}.do(ctx, c)
}

// A bulkAnswer is empty after complete success. With status 207 it maps failed IDs to statuses.
type bulkAnswer struct{ failed map[string]int }

func (b *bulkAnswer) read(status int, body []byte) error {
	if status != http.StatusMultiStatus {
		return nil
	}
	if err := json.Unmarshal(body, &b.failed); err != nil {
		return err
	}
	return b.check()
}

func (b *bulkAnswer) check() error {
	if len(b.failed) == 0 {
		return errors.New("the response reports a failure without details")
	}
	return nil
}
