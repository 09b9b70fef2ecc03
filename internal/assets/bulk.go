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

// bulkBatch is how many assets go into one request. The service's own limit is
// not known.
const bulkBatch = 100

// A BulkError says which assets an operation on several failed for. It was
// carried out for those that are neither in Failed nor in Open.
type BulkError struct {
	Op     string
	Failed map[string]int // the service's status by asset
	Open   []string       // assets that Err left open, in the order given: not asked for, or without an answer
	Err    error          // what ended the operation; nil if it got to its end
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

// Refusal is why the operation failed for one asset, an [Error]; nil if it did not.
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

// A bulk is an operation on several assets, in as many requests as it takes.
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

// bulkIDs is an operation whose body is nothing but the IDs.
func (c *Client) bulkIDs(ctx context.Context, op, route string, ids []string) error {
	return bulk[string]{
		request: request{op: op, route: route},
		items:   ids,
		id:      func(id string) string { return id },
		body:    func(batch []string) any { return batch },
	}.do(ctx, c)
}

// A bulkAnswer is empty if all went well. With status 207 it maps the IDs of
// failures to statuses.
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
