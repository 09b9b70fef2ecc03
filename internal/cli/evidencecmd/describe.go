package evidencecmd

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"assetferry/internal/certificate"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/clock"
	"assetferry/internal/report"
	"assetferry/state"
	"assetferry/state/actionlog"
)

// listedRuns is the maximum number of runs in a certificate, the newest ones: years of scheduled
// runs.
const listedRuns = 5000

// recordOf returns the record of a receipt.
func recordOf(r state.Receipt) (c certificate.Record) {
	c.SetKey(string(r.Key), r.VersionTag)
	c.Size, c.SHA256, c.Asset, c.URL, c.Name, c.Category, c.Folder = r.Size, hex.EncodeToString(r.Checksum), r.Asset, r.URL, r.Filename(), r.Category, r.Folder
	if !r.Modified.IsZero() {
		modified := r.Modified.UTC()
		c.Modified = &modified
	}
	return c
}

// describe returns a certificate of the source and destination of a run, without assets, log and
// signer.
func describe(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) (c certificate.Certificate, err error) {
	r, err := report.Read(ctx, store, run)
	if err != nil {
		return c, err
	}
	v := r.Verification
	c = certificate.Certificate{
		Tool: cmdline.Version(), CreatedAt: clock.Now(), Source: run.Pair.Source, Destination: run.Pair.Destination, DestinationURL: run.Pair.URL,
		Sandbox: r.Run.Purpose == "sandbox", Listed: amount(r.Results.Listed), EarlierFailed: r.MissingFromEarlier,
		Verdict: verdictOf(run, r),
		Verification: certificate.Verification{Level: v.Level, At: v.At, Differences: v.Differences, Verified: v.Verified,
			ByChecksum: v.ByChecksum, NotVerified: v.NotVerified},
		Results: []certificate.Count{}, Problems: []certificate.Count{}, Skipped: []certificate.Count{}, Undo: undoOf(run, r, f.Settings.KeepRuns),
	}
	for _, p := range r.Results.States {
		c.Results = append(c.Results, certificate.Count{State: p.State, Amount: amount(p.Amount)})
	}
	for _, p := range r.Problems {
		c.Problems = append(c.Problems, certificate.Count{State: p.State, Reason: p.Reason, Amount: amount(p.Amount)})
	}
	for _, s := range r.Skipped {
		c.Skipped = append(c.Skipped, certificate.Count{Reason: s.Reason, Amount: amount(s.Amount)})
	}
	if c.Runs, err = runsOf(ctx, store, run.Pair.ID); err != nil {
		return c, err
	}
	c.URLs, err = lastURLCheck(ctx, store, run.Pair)
	return c, err
}

// verdictOf returns the verdict on the migration of a source. A run of a wave says nothing about the
// objects of other waves and of no wave, so it does not make the migration complete.
func verdictOf(run state.Run, r report.Report) certificate.Verdict {
	v := certificate.Verdict{Complete: r.Verdict.Kind == report.Verified, Kind: string(r.Verdict.Kind), Title: r.Verdict.Title, Message: r.Verdict.Message}
	switch {
	case !v.Complete:
	case run.Pair.Wave != "":
		v.Complete, v.Kind, v.Title = false, string(report.Selection), "Complete for part of the source"
		v.Message = fmt.Sprintf("The last run covered only wave %s. %s", run.Pair.Wave, v.Message)
	default:
		v.Title = "Complete and verified" // also after a sync that changed nothing
	}
	return v
}

func amount(a report.Amount) certificate.Amount { return certificate.Amount(a) }

// undoOf returns how long a run can be undone.
func undoOf(run state.Run, r report.Report, keep time.Duration) certificate.Undo {
	switch {
	case r.Undo.Command == "" || !run.PrunedAt.IsZero():
		return certificate.Undo{Message: "The last run has nothing that can be undone."}
	case keep == 0 || run.FinishedAt.IsZero():
		return certificate.Undo{Possible: true, Message: "The data for an undo of the last run has no time limit (keep_runs). The service may empty its trash earlier."}
	}
	until := run.FinishedAt.Add(keep).UTC()
	return certificate.Undo{Possible: true, Until: &until, Message: "The data for an undo of the last run is kept until then (keep_runs). The service may empty its trash earlier."}
}

// runsOf returns the runs of a source and a destination, oldest first.
func runsOf(ctx context.Context, store *state.Store, pair int64) ([]certificate.Run, error) {
	found, err := store.RunsOf(ctx, pair, listedRuns)
	if err != nil {
		return nil, err
	}
	runs := []certificate.Run{}
	for _, r := range slices.Backward(found) {
		if r.Command == "plan" {
			continue
		}
		c := certificate.Run{
			ID: r.ID, Command: r.Command, Wave: r.Pair.Wave, State: string(r.State), PlanHash: r.PlanHash, StartedBy: r.StartedBy, StartedAt: r.StartedAt, FinishedAt: orNone(r.FinishedAt),
			Approver: r.Approver.Name, Key: r.Approver.Key, StatedBy: r.Approver.StatedBy, ApprovedAt: orNone(r.ApprovedAt), Counts: []certificate.Count{},
		}
		if r.Undoes != 0 {
			undone, err := store.UndoneRun(ctx, r)
			if err != nil {
				return nil, err
			}
			c.Undoes = undone.ID
		}
		tallies, err := store.Tallies(ctx, r.Num)
		if err != nil {
			return nil, err
		}
		for _, t := range tallies {
			c.Counts = append(c.Counts, certificate.Count{Action: string(t.Action), State: string(t.State), Reason: t.Reason,
				Amount: certificate.Amount{Objects: t.Objects, Bytes: t.Bytes}})
		}
		runs = append(runs, c)
	}
	return runs, nil
}

// orNone returns a time, or nil for none.
func orNone(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// lastURLCheck returns the last result of urls --check for a source and a destination in the action
// log; nil if there is none.
func lastURLCheck(ctx context.Context, store *state.Store, pair state.Pair) (last *certificate.URLCheck, err error) {
	var chain actionlog.Chain
	_, err = store.ReadLog(ctx, 0, func(line string) error {
		e, err := chain.Add(line)
		if err != nil || e.Kind != actionlog.URLsChecked || e.Details["source"] != pair.Source || e.Details["destination"] != pair.Destination {
			return err
		}
		last = &certificate.URLCheck{At: e.Time, Checked: number(e.Details["checked"]), Wrong: number(e.Details["wrong"]), Readable: number(e.Details["readable"])}
		return nil
	})
	return last, err
}

func number(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}
