package statecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
	"assetferry/state/actionlog"
)

// runsOfWaves is how many runs of a source are searched for those of waves.
const runsOfWaves = 10_000

// commandOf returns the command of a run, with its wave.
func commandOf(r state.Run) string {
	if r.Pair.Wave == "" {
		return r.Command
	}
	return r.Command + " --wave " + r.Pair.Wave
}

// A waveStatus is a wave with its runs and its assets.
type waveStatus struct {
	*migrate.Wave
	runs                      []state.Run // newest first
	objects, bytes            int64
	verified, changedInFreeze int64
	verification              state.Verification // the last one of its assets; zero if there was none
	urls                      urlCheck
	certificate               certificate
}

// A urlCheck is a result of urls --check; its time is zero if there was none.
type urlCheck struct {
	at    time.Time
	wrong int64
}

// A certificate is the last one of a wave; its time is zero if there is none.
type certificate struct {
	at   time.Time
	file string
}

// waveTime is the format of times in tables of waves.
const waveTime = "2006-01-02 15:04"

// showWaves shows all waves of a source on one screen, if its runs have waves: first what each wave
// has, then when it came to each stage, and the command that helps after a run that was stopped or is
// incomplete. That of the newest run of the source follows below.
func showWaves(ctx context.Context, f *command.Factory, store *state.Store, p state.Pair, newest state.Run, atWork bool) error {
	all, err := wavesOf(ctx, f, store, p)
	if err != nil || len(all) == 0 {
		return err
	}
	for is, err := range store.Standings(ctx, p.ID) {
		if err != nil {
			return err
		}
		for _, w := range all {
			w.add(is)
		}
	}
	if err := addChecks(ctx, store, p, all); err != nil {
		return err
	}
	var rows, stages [][]string
	for _, w := range all {
		e, err := w.event(ctx, store, p, atWork)
		if err != nil {
			return err
		}
		f.Out.Event("wave", e)
		rows, stages = append(rows, w.row(e)), append(stages, w.stages(e))
	}
	printTable(f, []ui.Column{
		{Title: "Wave"}, {Title: "Stage"}, {Title: "Assets", Right: true}, {Title: "Size", Right: true}, {Title: "Last run"}, {Title: "Verified", Right: true},
		{Title: "Freeze"}, {Title: "Changed since", Right: true},
	}, rows, 6)
	printTable(f, []ui.Column{
		{Title: "Wave"}, {Title: "Planned"}, {Title: "Approved"}, {Title: "Migrated"}, {Title: "Verification"}, {Title: "Redirects checked"}, {Title: "Certificate"},
	}, stages, 2)
	if atWork {
		return nil
	}
	for _, w := range all {
		if len(w.runs) == 0 || w.runs[0].Num == newest.Num {
			continue
		}
		if err := w.showNext(ctx, f, store); err != nil {
			return err
		}
	}
	return nil
}

// showNext shows the command that helps after the last run of the wave, if there is one.
func (w *waveStatus) showNext(ctx context.Context, f *command.Factory, store *state.Store) error {
	tallies, err := store.Tallies(ctx, w.runs[0].Num)
	if err != nil {
		return err
	}
	next, err := afterNewest(ctx, f, store, w.runs[0], tallies)
	if err == nil && next.Command != "" {
		f.Out.Printf("  Wave %s. %s\n    %s", w.Name, next.Why, next.Command)
	}
	return err
}

// printTable prints a table without those of its last columns, from one on, that are empty.
func printTable(f *command.Factory, columns []ui.Column, rows [][]string, from int) {
	for n := len(columns) - 1; n >= from; n-- {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[n] != "" && row[n] != "0" }) {
			columns = slices.Delete(columns, n, n+1)
			for at := range rows {
				rows[at] = slices.Delete(rows[at], n, n+1)
			}
		}
	}
	if len(columns) > 1 {
		f.Out.Printf("  %s", strings.ReplaceAll(strings.TrimSuffix(ui.Table(columns, rows), "\n"), "\n", "\n  "))
	}
}

// row returns what the wave has.
func (w *waveStatus) row(e event.Wave) []string {
	last := time.Time{}
	if len(w.runs) > 0 {
		last = w.runs[0].StartedAt
	}
	return []string{w.Name, strings.ReplaceAll(e.Stage, "_", " "), ui.Count(w.objects), ui.Bytes(w.bytes), shortTime(last), ui.Count(w.verified), shortTime(w.Freeze), ui.Count(w.changedInFreeze)}
}

// stages returns when the wave came to each stage.
func (w *waveStatus) stages(e event.Wave) []string {
	planned, approved, migrated := w.times()
	approval := shortTime(approved.ApprovedAt)
	if approval != "" {
		approval += " by " + ui.Sanitize(e.ApprovedBy)
	}
	verification := shortTime(w.verification.At)
	if verification != "" {
		verification += " " + w.verification.Level
	}
	if w.verification.Differences > 0 {
		verification += ", " + outcome.Differences(w.verification)
	}
	checked := shortTime(w.urls.at)
	if w.urls.wrong > 0 {
		checked += fmt.Sprintf(", %s wrong", ui.Count(w.urls.wrong))
	}
	certified := strings.TrimSpace(shortTime(w.certificate.at) + " " + ui.Sanitize(w.certificate.file))
	return []string{w.Name, shortTime(planned), approval, shortTime(migrated), verification, checked, certified}
}

// times returns when the objects of the wave were listed last, the run that was approved last, and
// when the last run was finished. Runs that were undone do not count.
func (w *waveStatus) times() (planned time.Time, approved state.Run, migrated time.Time) {
	undone := map[int64]bool{}
	for _, r := range w.runs { // the newest first
		if r.Undoes != 0 {
			undone[r.Undoes] = undone[r.Undoes] || r.State == state.Finished
		}
		if r.Undoes != 0 || undone[r.Num] {
			continue
		}
		if planned.IsZero() {
			planned = r.ListedAt
		}
		if approved.Num == 0 && r.Approver.Name != "" {
			approved = r
		}
		if migrated.IsZero() && r.Command != "plan" && r.State == state.Finished {
			migrated = r.FinishedAt
		}
	}
	return planned, approved, migrated
}

// shortTime returns a time in local time; empty for the zero time.
func shortTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(waveTime)
}

// addChecks reads the last verification of each wave, the last check of its URLs and its last certificate.
func addChecks(ctx context.Context, store *state.Store, p state.Pair, all []*waveStatus) error {
	for _, w := range all {
		p.Wave = w.Name
		v, err := store.LastVerificationOf(ctx, p)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return err
		}
		w.verification = v
	}
	var chain actionlog.Chain
	_, err := store.ReadLog(ctx, 0, func(line string) error {
		e, err := chain.Add(line)
		if err != nil || e.Details["source"] != p.Source || e.Details["destination"] != p.Destination {
			return err
		}
		for _, w := range all {
			w.addEntry(e)
		}
		return nil
	})
	if errors.Is(err, actionlog.ErrChanged) { // state check reports it
		return nil
	}
	return err
}

// addEntry notes an entry of the action log. Entries about the whole source count for each wave.
func (w *waveStatus) addEntry(e actionlog.Entry) {
	d := e.Details
	waves, _ := d["waves"].([]any)
	checked, _ := d["wave"].(string)
	switch {
	case e.Kind == actionlog.CertificateCreated && d["complete"] == true && (len(waves) == 0 || slices.Contains(waves, any(w.Name))):
		w.certificate.at = e.Time
		w.certificate.file, _ = d["file"].(string)
	case e.Kind == actionlog.URLsChecked && d["run"] == nil && (checked == "" || checked == w.Name):
		w.urls = urlCheck{e.Time, d.Number("wrong") + d.Number("readable")}
	}
}

// wavesOf returns the waves that the runs of a pair have, and the others of the configuration. A wave
// is defined by the configuration, or else by its last run.
func wavesOf(ctx context.Context, f *command.Factory, store *state.Store, p state.Pair) (all []*waveStatus, err error) {
	runs, err := store.RunsOf(ctx, p.ID, runsOfWaves)
	if err != nil {
		return nil, err
	}
	configured, err := f.Waves()
	if err != nil {
		return nil, err
	}
	for _, w := range configured {
		all = append(all, &waveStatus{Wave: w})
	}
	known, undos := 0, map[string][]state.Run{} // of waves that are not in the configuration
	for _, r := range runs {
		if r.Pair.Wave == "" || r.Undoes != 0 && r.Command == "plan" {
			continue
		}
		known++
		at := slices.IndexFunc(all, func(w *waveStatus) bool { return w.Name == r.Pair.Wave })
		if at < 0 {
			rules, err := migrate.ReadRules(r)
			if err != nil {
				return nil, err
			}
			if rules.Wave == nil { // an undo; the undone run is older
				undos[r.Pair.Wave] = append(undos[r.Pair.Wave], r)
				continue
			}
			at = len(all)
			all = append(all, &waveStatus{Wave: rules.Wave, runs: undos[r.Pair.Wave]})
		}
		all[at].runs = append(all[at].runs, r)
	}
	if known == 0 { // another source than that of the waves
		return nil, nil
	}
	return all, nil
}

// add counts an object if it belongs to the wave.
func (w *waveStatus) add(is state.Standing) {
	if !w.HasKey(is.Key) {
		return
	}
	w.objects, w.bytes = w.objects+1, w.bytes+is.Size
	if is.Verified {
		w.verified++
	}
	if w.IsFrozen(is.Object) {
		w.changedInFreeze++
	}
}

func (w *waveStatus) event(ctx context.Context, store *state.Store, p state.Pair, atWork bool) (e event.Wave, err error) {
	planned, approved, migrated := w.times()
	e = event.Wave{
		Wave: w.Name, Source: p.Source, Objects: w.objects, Bytes: w.bytes, Verified: w.verified, ChangedAfterFreeze: w.changedInFreeze,
		ApprovedBy: approved.Approver.Name, Level: w.verification.Level, Differences: w.verification.Differences, URLsWrong: w.urls.wrong, Certificate: w.certificate.file,
	}
	for field, at := range map[*string]time.Time{
		&e.Freeze: w.Freeze, &e.PlannedAt: planned, &e.ApprovedAt: approved.ApprovedAt, &e.MigratedAt: migrated, &e.VerifiedAt: w.verification.At, &e.URLsCheckedAt: w.urls.at, &e.CertifiedAt: w.certificate.at,
	} {
		if !at.IsZero() {
			*field = at.UTC().Format(time.RFC3339)
		}
	}
	if len(w.runs) > 0 {
		e.Run = w.runs[0].ID
	}
	e.Stage, err = w.stage(ctx, store, atWork)
	return e, err
}

// stage returns the stage of the wave, by its newest run that is more than a plan.
func (w *waveStatus) stage(ctx context.Context, store *state.Store, atWork bool) (string, error) {
	at := slices.IndexFunc(w.runs, func(r state.Run) bool { return r.Command != "plan" })
	switch {
	case len(w.runs) == 0:
		return "not_planned", nil
	case at < 0:
		return "planned", nil
	}
	last := w.runs[at]
	tallies, err := store.Tallies(ctx, last.Num)
	if err != nil {
		return "", err
	}
	switch {
	case isStopped(last, atWork):
		return "stopped", nil
	case last.Open():
		return "running", nil
	case last.Undoes != 0:
		return "undone", nil
	case outcome.ExitOf(tallies) != exit.CodeDone || last.State != state.Finished:
		return "incomplete", nil
	case w.objects > 0 && w.verified == w.objects && w.certificate.at.After(last.FinishedAt):
		return "certified", nil
	case w.objects > 0 && w.verified == w.objects:
		return "verified", nil
	}
	return "migrated", nil
}
