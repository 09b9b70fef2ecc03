package report

import (
	"cmp"
	"slices"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/internal/pattern"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// hidesObjects reports whether there may be objects behind an item that were not listed.
func hidesObjects(i state.Item) bool { return i.Obstacle.HidesObjects() }

// RemedyFor returns the cause of a problem with an item, and what to do about it.
func RemedyFor(i state.Item) (cause, remedy string) {
	c := causeOf(i)
	return c.message, c.remedy
}

// A cause is why items have a problem.
type cause struct{ code, message, remedy string }

// causeOf returns why an item has a problem. The state database stores errors as text, so causes
// are read from it where the class of the error is too coarse.
func causeOf(i state.Item) cause {
	switch {
	case i.State == state.ItemUnconfirmed:
		return cause{"unconfirmed", "the upload was sent, but the service did not confirm it",
			"run the same command again: it checks the destination and uploads only missing objects"}
	case i.State == state.ItemRetryScheduled:
		return cause{"retry_scheduled", "failed, and scheduled for retry", "run the same command again; with --wait, the run waits until the retries are due"}
	case i.State == state.ItemChanged && i.Reason != string(migrate.ReasonChangedSinceApproval):
		return cause{"changed_during_run", "changed or deleted at the source during the run", "run the same command again: it lists the source again"}
	}
	reason := migrate.Reason(i.Reason)
	if i.State == state.ItemConflict || i.State == state.ItemChanged || i.State == state.ItemRetriesExhausted || reason.IsFailure() {
		return cause{i.Reason, reasonText(i.Reason), flagname.InText(reason.Remedy())}
	}
	if migrate.IsTooLong(i) {
		return cause{"text_too_long", "a text is longer than the service allows", flagname.InText(migrate.TooLongRemedy())}
	}
	if migrate.IsRefused(i) {
		return cause{string(migrate.ReasonScanRefused), "refused by the scan", flagname.InText(migrate.ReasonScanRefused.Remedy())}
	}
	if status := serverError().FindStringSubmatch(i.Error); status != nil {
		return cause{"service_error", status[1] + " errors from the service", "run the same command again"}
	}
	for _, k := range causes {
		if k.is(i) {
			return k.cause
		}
	}
	return cause{"other", "other errors", "run the same command again; to list each attempt, use assetferry explain KEY"}
}

// serverError matches a status of 500 to 599 as assets.Error writes it.
var serverError = pattern.Lazy(`: (5\d\d) `)

// causes distinguishes errors; the first that matches counts. The text of assets.Error contains
// statuses in this form.
var causes = []struct {
	is func(state.Item) bool
	cause
}{
	{says(migrate.ErrorMetadataNotWritten), cause{"metadata_pending", "uploaded, but the metadata could not be updated", "run the same command again: it updates only the metadata"}},
	{begins("scan: "), cause{"scan_failed", "the scanner gave no answer", "check the scanner with assetferry doctor, then run the same command again"}},
	{says(": 401 ", ": 403 "), cause{"credentials_rejected", "the service rejected the credentials (401 or 403)", "check the access key and its permissions with assetferry doctor, then run the same command again"}},
	{says("but it belongs to another object", "created another asset than was uploaded"), cause{"unexpected_asset", "the service returned a different asset from the uploaded one", "run the same command again; if it happens again, report it to the operator of the service"}},
	{says(": 413 "), cause{"too_large", "too large for the service (413)", "ask the operator of the service for a higher limit, make the files smaller, or omit them with --exclude"}},
	{says(": 400 ", ": 415 ", ": 422 "), cause{"rejected", "rejected by the service (400, 415 or 422)", "read the error, then rename or convert the files at the source, or omit them with --exclude"}},
	{says(": 404 "), cause{"destination_missing", "the category or folder no longer exists (404)", "run the same command again: it looks up categories and folders again"}},
	{says(": 429 "), throttled},
	{classed(retry.Throttled), throttled},
	{says("permission denied"), cause{"unreadable", "no permission to read the source", "grant read access to the files, then run the same command again"}},
	{classed(retry.Transient), cause{"network_error", "network errors", "run the same command again"}},
}

var throttled = cause{"throttled", "the service limited the rate of requests (429)", "run the same command again with a lower --concurrency, or with --max-requests"}

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

func begins(text string) func(state.Item) bool {
	return func(i state.Item) bool { return strings.HasPrefix(i.Error, text) }
}

func classed(c retry.Class) func(state.Item) bool {
	return func(i state.Item) bool { return i.Class == string(c) }
}

// A problemKey groups items with the same problem.
type problemKey struct{ state, message string }

// compare orders problems by state and then by text, for equal numbers of objects.
func (k problemKey) compare(other problemKey) int {
	return cmp.Or(cmp.Compare(k.state, other.state), cmp.Compare(k.message, other.message))
}

// A problemSection is a section of a report about objects that need attention.
type problemSection struct {
	ID, Title string
	Amount
	Problems []Problem
}

// problemSections returns the problems by section: failed, conflicts, unconfirmed, and scheduled
// for retry. Empty sections are omitted.
func (r Report) problemSections() []problemSection {
	all := []problemSection{{ID: "failed", Title: "Failed"}, {ID: "conflicts", Title: "Conflicts"},
		{ID: "unconfirmed", Title: "Unconfirmed"}, {ID: "retries", Title: "Scheduled for retry"}}
	for _, p := range r.Problems {
		s := &all[sectionOf(p.State)]
		s.Amount, s.Problems = s.plus(p.Amount), append(s.Problems, p)
	}
	return slices.DeleteFunc(all, func(s problemSection) bool { return len(s.Problems) == 0 })
}

// sectionOf returns the section of a state.
func sectionOf(code string) int {
	switch code {
	case conflict:
		return 1
	case unconfirmed:
		return 2
	case retryScheduled:
		return 3
	}
	return 0
}
