package evidencecmd

import (
	"context"
	"encoding/hex"
	"slices"
	"time"

	"assetferry/internal/certificate"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/clock"
	"assetferry/internal/report"
	"assetferry/migrate"
	"assetferry/state"
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

// describe returns what a run says for a certificate: without runs, waves, assets, log and signer.
func (s *subject) describe(ctx context.Context, run state.Run) (c certificate.Certificate, err error) {
	r, err := report.Read(ctx, s.store, run)
	if err != nil {
		return c, err
	}
	rules, err := migrate.ReadRules(run)
	if err != nil {
		return c, err
	}
	v := r.Verification
	c = certificate.Certificate{
		Tool: cmdline.Version(), CreatedAt: clock.Now(), Source: run.Pair.Source, Destination: run.Pair.Destination, DestinationURL: run.Pair.URL,
		Sandbox: r.Run.Purpose == "sandbox", Listed: amount(r.Results.Listed), EarlierFailed: r.MissingFromEarlier,
		Verdict: verdictOf(r), Scope: certificate.Scope{Include: rules.Include, Exclude: rules.Exclude},
		Verification: certificate.Verification{Level: v.Level, At: v.At, Differences: v.Differences, Verified: v.Verified,
			ByChecksum: v.ByChecksum, NotVerified: v.NotVerified},
		Results: []certificate.Count{}, Problems: []certificate.Count{}, Skipped: []certificate.Count{}, Undo: undoOf(run, r, s.f.Settings.KeepRuns),
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
	return c, nil
}

func verdictOf(r report.Report) certificate.Verdict {
	v := certificate.Verdict{Complete: r.Verdict.Kind == report.Verified, Kind: string(r.Verdict.Kind), Title: r.Verdict.Title, Message: r.Verdict.Message}
	if v.Complete {
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

// runsOf returns the runs of some waves and of the whole source, oldest first; nil selects all.
func (s *subject) runsOf(ctx context.Context, waves []string) ([]certificate.Run, error) {
	runs := []certificate.Run{}
	for _, r := range slices.Backward(s.runs) {
		if waves != nil && r.Pair.Wave != "" && !slices.Contains(waves, r.Pair.Wave) {
			continue
		}
		c := certificate.Run{
			ID: r.ID, Command: r.Command, Wave: r.Pair.Wave, State: string(r.State), PlanHash: r.PlanHash, StartedBy: r.StartedBy, StartedAt: r.StartedAt, FinishedAt: orNone(r.FinishedAt),
			Approver: r.Approver.Name, Key: r.Approver.Key, StatedBy: r.Approver.StatedBy, ApprovedAt: orNone(r.ApprovedAt), Overrides: s.log.overrides[r.ID], Counts: []certificate.Count{},
		}
		if r.Undoes != 0 {
			undone, err := s.store.UndoneRun(ctx, r)
			if err != nil {
				return nil, err
			}
			c.Undoes = undone.ID
		}
		tallies, err := s.store.Tallies(ctx, r.Num)
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
