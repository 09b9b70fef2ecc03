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

// Each cause of a problem is recognized by what the state database stores, and has a remedy.
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
		{failed(answered(401, "Unauthorized")), "rejected the credentials", "doctor"},
		{failed(answered(403, "Forbidden")), "rejected the credentials", "doctor"},
		{failed(answered(413, "too large")), "too large for the service (413)", "limit"},
		{failed(answered(400, "invalid name")), "rejected by the service", "rename"},
		{failed(answered(422, "")), "rejected by the service", "rename"},
		{failed(answered(404, "no such folder")), "no longer exists", "again"},
		{failed(answered(429, "slow down")), "limited the rate of requests", "--concurrency"},
		{state.Item{State: state.ItemFailed, Class: string(retry.Transient), Error: answered(503, "").Error()}, "503 errors from the service", "again"},
		{failed(fmt.Errorf("%s: %w", migrate.ErrorMetadataNotWritten, answered(400, ""))), "the metadata could not be updated", "only the metadata"},
		{failed(&apply.ReceiptError{Asset: "x", What: "3 bytes instead of 4"}), "a different asset from the uploaded one", "again"},
		{state.Item{State: state.ItemFailed, Class: "permanent", Error: "the service returned asset x, but it belongs to another object"}, "a different asset from the uploaded one", "again"},
		{failed(fmt.Errorf("open: %w", fs.ErrPermission)), "no permission to read the source", "grant read access"},
		{state.Item{State: state.ItemFailed, Class: "permanent", Error: "something else"}, "other errors", "explain KEY"},
		{because(state.ItemFailed, migrate.ReasonUnreadable), migrate.ReasonUnreadable.Text(), "grant read access"},
		{because(state.ItemFailed, migrate.ReasonTableError), migrate.ReasonTableError.Text(), "correct the rows"},
		{state.Item{State: state.ItemFailed, Error: migrate.ErrorMetadataNotWritten + ": mapping: " + (&mapping.LimitError{Field: "description", Has: 1499, Takes: 1024}).Error()}, "a text is longer than the service allows", "--on-limit"},
		{because(state.ItemFailed, migrate.ReasonMissingAtSource), migrate.ReasonMissingAtSource.Text(), "--files-from"},
		{because(state.ItemRetriesExhausted, migrate.ReasonRetriesExhausted), migrate.ReasonRetriesExhausted.Text(), "--retry-exhausted"},
		{because(state.ItemConflict, migrate.ReasonNameExists), migrate.ReasonNameExists.Text(), "--on-existing"},
		{because(state.ItemRetryScheduled, migrate.ReasonNew), "scheduled for retry", "--wait"},
		{because(state.ItemChanged, migrate.ReasonNew), "changed or deleted at the source", "again"},
		{because(state.ItemUnconfirmed, migrate.ReasonNew), "did not confirm it", "only missing objects"},
	} {
		what, todo := RemedyFor(tc.item)
		if !strings.Contains(what, tc.what) || !strings.Contains(todo, tc.todo) {
			t.Errorf("%s %q (%s): got %q and %q, want %q and %q", tc.item.State, tc.item.Error, tc.item.Class, what, todo, tc.what, tc.todo)
		}
	}
}
