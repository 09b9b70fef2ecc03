package report

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	service "assetferry/internal/assets"
	"assetferry/internal/mapping"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/state"
)

// Each kind of failure is known by what the journal keeps of it, and there is something
// to do about each.
func TestRemedyFor(t *testing.T) {
	answered := func(status int, message string) error {
		return &service.Error{Op: "upload", Subject: "a 404 in a name.jpg", Status: status, Message: message}
	}
	failed := func(err error) state.Item {
		class, _ := retry.Classify(err)
		return state.Item{State: state.ItemFailed, Action: state.Create, Reason: string(migrate.ReasonNew), Class: string(class), Error: err.Error()}
	}
	because := func(s state.ItemState, r migrate.Reason) state.Item { return state.Item{State: s, Reason: string(r)} }
	for _, tc := range []struct {
		item       state.Item
		what, todo string
	}{
		{failed(answered(401, "Unauthorized")), "refused our credentials", "doctor"},
		{failed(answered(403, "Forbidden")), "refused our credentials", "doctor"},
		{failed(answered(413, "too large")), "larger than the service takes", "limits"},
		{failed(answered(400, "invalid name")), "does not want them", "rename"},
		{failed(answered(422, "")), "does not want them", "rename"},
		{failed(answered(404, "no such folder")), "not there any more", "again"},
		{failed(answered(429, "slow down")), "asked to slow down", "--concurrency"},
		{state.Item{State: state.ItemFailed, Class: string(retry.Transient), Error: answered(503, "").Error()}, "failed for a while", "again"},
		{failed(fmt.Errorf("the asset is uploaded, but its metadata is not written: %w", answered(400, ""))), "not described", "only the description"},
		{failed(&apply.ReceiptError{Asset: "x", What: "3 bytes instead of 4"}), "another asset than was uploaded", "again"},
		{failed(fmt.Errorf("open: %w", fs.ErrPermission)), "does not let them be read", "owns the source"},
		{state.Item{State: state.ItemFailed, Class: "permanent", Error: "something else"}, "failed", "explain KEY"},
		{because(state.ItemFailed, migrate.ReasonUnreadable), "cannot be read", "owns the source"},
		{because(state.ItemFailed, migrate.ReasonTableError), "what the table says of it is wrong", "correct the rows"},
		{state.Item{State: state.ItemFailed, Error: "the asset is uploaded, but its metadata is not written: mapping: " + (&mapping.LimitError{Field: "description", Has: 1499, Takes: 1024}).Error()}, "a text is longer than the service takes it", "--on-limit"},
		{because(state.ItemFailed, migrate.ReasonMissingAtSource), "not at the source", "--files-from"},
		{because(state.ItemRetriesExhausted, migrate.ReasonRetriesExhausted), "failed in many runs", "--retry-exhausted"},
		{because(state.ItemConflict, migrate.ReasonNameExists), "another asset of that name", "--on-existing"},
		{because(state.ItemRetryScheduled, migrate.ReasonNew), "to be tried again", "--wait"},
		{because(state.ItemChanged, migrate.ReasonNew), "changed or vanished", "again"},
		{because(state.ItemUnconfirmed, migrate.ReasonNew), "the answer was lost", "only what did not"},
	} {
		what, todo := RemedyFor(tc.item)
		if !strings.Contains(what, tc.what) || !strings.Contains(todo, tc.todo) {
			t.Errorf("%s %q (%s): got %q and %q, want %q and %q", tc.item.State, tc.item.Error, tc.item.Class, what, todo, tc.what, tc.todo)
		}
	}
}
