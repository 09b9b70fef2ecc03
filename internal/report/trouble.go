package report

import (
	"strings"

	"assetferry/internal/flagname"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// hidesObjects reports whether there may be objects behind an item that were not listed.
func hidesObjects(i state.Item) bool { return i.Obstacle.HidesObjects() }

// RemedyFor says what kind of trouble an item has, and what to do about it. The journal
// keeps errors as text, so that is what kinds are told apart by where their class is too
// coarse.
func RemedyFor(i state.Item) (what, todo string) {
	switch {
	case i.State == state.ItemUnconfirmed:
		return "sent, and the answer was lost", "run the same command again when the destination answers: it looks whether they arrived and sends only what did not"
	case i.State == state.ItemRetryScheduled:
		return "to be tried again", "run the same command again; with --wait it stays until they are due"
	case i.State == state.ItemChanged && i.Reason != string(migrate.ReasonChangedSinceApproval):
		return "changed or vanished after they were listed", "run the same command again: it lists the source anew"
	}
	reason := migrate.Reason(i.Reason)
	if i.State == state.ItemConflict || i.State == state.ItemChanged || i.State == state.ItemRetriesExhausted || reason.IsFailure() {
		return i.Reason, flagname.InText(reason.Remedy())
	}
	if migrate.IsTooLong(i) {
		return "a text is longer than the service takes it", flagname.InText(migrate.TooLongRemedy())
	}
	for _, k := range kinds {
		if k.is(i) {
			return k.what, k.todo
		}
	}
	return "failed", "run the same command again; assetferry explain KEY tells of each attempt"
}

// kinds tells failures apart, the first that fits. Statuses stand in errors as
// assets.Error writes them.
var kinds = []struct {
	is         func(state.Item) bool
	what, todo string
}{
	{says("the asset is there, but not described"), "there, but not described", "run the same command again: only the description is missing"},
	{says(": 401 ", ": 403 "), "the service refused our credentials", "check the access key and what its role may do with assetferry doctor, then run the same command again"},
	{says("which stands for another object", "answered with another asset than was sent"), "the service answered with another asset than was sent", "run the same command again; should it happen again, tell whoever runs the service"},
	{says(": 413 "), "larger than the service takes", "ask whoever runs the service for its limits; make them smaller, or leave them out with --exclude"},
	{says(": 400 ", ": 415 ", ": 422 "), "the service does not want them as they are", "see what it says: rename or convert them at the source, or leave them out with --exclude"},
	{says(": 404 "), "where they should go is not there any more", "run the same command again: it looks for categories and folders anew"},
	{says(": 429 "), "the service asked to slow down", "run the same command again, with a smaller --concurrency or with --max-requests"},
	{classed(retry.Throttled), "the service asked to slow down", "run the same command again, with a smaller --concurrency or with --max-requests"},
	{says("permission denied"), "the source does not let them be read", "have whoever owns the source let them be read, then run the same command again"},
	{classed(retry.Transient), "the network or the service failed for a while", "run the same command again"},
}

func says(texts ...string) func(state.Item) bool {
	return func(i state.Item) bool {
		for _, t := range texts {
			if strings.Contains(i.Error, t) {
				return true
			}
		}
		return false
	}
}

func classed(c retry.Class) func(state.Item) bool {
	return func(i state.Item) bool { return i.Class == string(c) }
}
