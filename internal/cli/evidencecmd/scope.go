package evidencecmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/certificate"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/verify"
	"assetferry/sources"
	"assetferry/state"
)

// A subject is what a certificate is about: a source, or waves of it.
type subject struct {
	f     *command.Factory
	store *state.Store
	pair  state.Pair
	runs  []state.Run // of the pair, newest first, without plans
	log   *sealedLog
}

// subjectOf returns the subject of the source of a run.
func subjectOf(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) (*subject, error) {
	runs, err := store.RunsOf(ctx, run.Pair.ID, listedRuns)
	if err != nil {
		return nil, err
	}
	log, err := readLog(ctx, store, run.Pair)
	runs = slices.DeleteFunc(runs, func(r state.Run) bool { return r.Command == "plan" })
	return &subject{f, store, run.Pair, runs, log}, err
}

// certify returns a certificate, without assets, log and signer. It is about the wave of --wave, or
// all waves of the configuration, or the source.
func (s *subject) certify(ctx context.Context, run state.Run) (certificate.Certificate, error) {
	waves, err := s.f.Waves()
	if err != nil {
		return certificate.Certificate{}, err
	}
	switch {
	case s.f.Settings.Wave != "":
		c, err := s.certifyWaves(ctx, run, migrate.Waves{waves.Named(s.f.Settings.Wave)})
		c.Scope.Kind = certificate.ScopeWave
		return c, err
	case len(waves) > 0:
		return s.certifyWaves(ctx, run, waves)
	}
	return s.certifySource(ctx, run)
}

func (s *subject) certifySource(ctx context.Context, run state.Run) (certificate.Certificate, error) {
	c, err := s.describe(ctx, run)
	if err != nil {
		return c, err
	}
	c.Scope.Kind = certificate.ScopeSource
	if c.Runs, err = s.runsOf(ctx, nil); err != nil {
		return c, err
	}
	c.URLs = s.log.urls([]string{""})
	if c.Verdict.Complete && run.Pair.Wave != "" {
		c.Verdict = partly(fmt.Sprintf("The last run covered only wave %s. %s", run.Pair.Wave, c.Verdict.Message))
	}
	if c.Verdict.Complete {
		c.Verdict, err = s.asSelected(run, c)
	}
	return c, err
}

// asSelected returns the verdict on a run, which is complete for a part of the source if its rules
// selected objects. A run of objects that failed before completes an earlier whole run.
func (s *subject) asSelected(run state.Run, c certificate.Certificate) (certificate.Verdict, error) {
	rules, err := migrate.ReadRules(run)
	if err != nil || !rules.IsNarrow() {
		return c.Verdict, err
	}
	if rules.Retries() {
		whole, err := s.hasWholeRun(run.Pair.Wave)
		if err != nil || whole {
			return c.Verdict, err
		}
		return partly("No run covered all objects. " + c.Verdict.Message), nil
	}
	if len(rules.Include) > 0 {
		if !skips(c, migrate.ReasonExcluded) { // the globs match all objects
			return c.Verdict, nil
		}
		return partly(fmt.Sprintf("The last run covered only --include %s. %s", strings.Join(rules.Include, " "), c.Verdict.Message)), nil
	}
	return partly("The last run covered only selected objects. " + c.Verdict.Message), nil
}

// partly is the verdict on a migration of which runs covered a part.
func partly(message string) certificate.Verdict {
	return certificate.Verdict{Kind: string(report.Selection), Title: "Complete for part of the source", Message: message}
}

func skips(c certificate.Certificate, why migrate.Reason) bool {
	return slices.ContainsFunc(c.Skipped, func(s certificate.Count) bool { return s.Reason == string(why) })
}

// hasWholeRun reports whether a finished run covered a whole wave, or the whole source ("").
func (s *subject) hasWholeRun(wave string) (bool, error) {
	undone := map[int64]bool{}
	for _, r := range s.runs {
		undone[r.Undoes] = true
		if r.State != state.Finished || r.Undoes != 0 || undone[r.Num] || r.Pair.Wave != wave {
			continue
		}
		rules, err := migrate.ReadRules(r)
		if err != nil {
			return false, err
		}
		if !rules.IsNarrow() {
			return true, nil
		}
	}
	return false, nil
}

// certifyWaves returns a certificate of waves. It is complete if each of them is, as it is defined
// now.
func (s *subject) certifyWaves(ctx context.Context, run state.Run, waves migrate.Waves) (all certificate.Certificate, err error) {
	names, first := waves.Names(), true
	var missing []string
	for _, w := range waves {
		sealed := certificate.Wave{Name: w.Name, Folders: w.Folders, Include: w.Include, Exclude: w.Exclude, Result: "not carried out"}
		at := slices.IndexFunc(s.runs, func(r state.Run) bool { return r.Pair.Wave == w.Name })
		if at < 0 {
			missing = append(missing, fmt.Sprintf("Wave %s: not carried out.", w.Name))
			all.Scope.Waves = append(all.Scope.Waves, sealed)
			continue
		}
		one, err := s.describe(ctx, s.runs[at])
		if err != nil {
			return all, err
		}
		if one.Verdict, err = s.asDefined(s.runs[at], w, one); err != nil {
			return all, err
		}
		if !one.Verdict.Complete {
			missing = append(missing, fmt.Sprintf("Wave %s: %s. %s", w.Name, one.Verdict.Title, one.Verdict.Message))
		}
		sealed.Run, sealed.Result = s.runs[at].ID, one.Verdict.Title
		sealed.Omitted = one.Scope.Exclude
		if scope := append(all.Scope.Waves, sealed); first {
			all, first = one, false
			all.Scope.Waves = scope
		} else {
			join(&all, one)
			all.Scope.Waves = scope
		}
	}
	if first { // no wave has a run
		scope := all.Scope.Waves
		if all, err = s.describe(ctx, run); err != nil {
			return all, err
		}
		all.Scope.Waves = scope
	}
	all.Scope.Kind = certificate.ScopeWaves
	all.URLs = s.log.urls(names)
	all.Runs, err = s.runsOf(ctx, names)
	if len(missing) > 0 && (len(waves) > 1 || first) {
		all.Verdict = certificate.Verdict{Kind: string(report.Incomplete), Title: "Not all waves are complete and verified", Message: strings.Join(missing, " ")}
	}
	if len(missing) == 0 && len(waves) > 1 {
		all.Verdict.Message = fmt.Sprintf("Waves %s. Objects in no wave are not covered. %s", strings.Join(names, ", "), verifiedText(all.Verification))
	}
	return all, err
}

func verifiedText(v certificate.Verification) string {
	return fmt.Sprintf("%s verified by name and size, %s of them by checksum.", ui.Counted(v.Verified, "asset"), ui.Count(v.ByChecksum))
}

// asDefined returns the verdict on a wave, which is not complete if its definition has changed since
// its last run.
func (s *subject) asDefined(run state.Run, w *migrate.Wave, c certificate.Certificate) (certificate.Verdict, error) {
	rules, err := migrate.ReadRules(run)
	switch {
	case err != nil || !c.Verdict.Complete:
		return c.Verdict, err
	case rules.Wave == nil || rules.Wave.Text() != w.Text():
		return certificate.Verdict{Kind: string(report.Incomplete), Title: "Incomplete", Message: fmt.Sprintf("The wave was different in its last run: %s.", rules.Wave.Text())}, nil
	}
	return s.asSelected(run, c)
}

// join adds the numbers of a wave to those of others.
func join(all *certificate.Certificate, one certificate.Certificate) {
	all.Results, all.Problems, all.Skipped = joinCounts(all.Results, one.Results), joinCounts(all.Problems, one.Problems), joinCounts(all.Skipped, one.Skipped)
	all.Listed = joinAmounts(all.Listed, one.Listed)
	all.EarlierFailed += one.EarlierFailed
	v, w := &all.Verification, one.Verification
	v.Differences, v.Verified, v.ByChecksum, v.NotVerified = v.Differences+w.Differences, v.Verified+w.Verified, v.ByChecksum+w.ByChecksum, v.NotVerified+w.NotVerified
	if w.Level != v.Level { // the weaker one of both
		v.Level = weaker(v.Level, w.Level)
	}
	if v.At == nil || w.At == nil || w.At.Before(*v.At) {
		v.At = w.At
	}
	all.Scope.Include, all.Scope.Exclude = nil, nil // each wave has its own
	if one.Undo.Possible && !all.Undo.Possible {
		all.Undo.Possible, all.Undo.Message = true, one.Undo.Message
	}
	if all.Verdict.Complete && !one.Verdict.Complete {
		all.Verdict = one.Verdict
	}
	if u := one.Undo.Until; u != nil && (all.Undo.Until == nil || u.Before(*all.Undo.Until)) {
		all.Undo.Until = u
	}
}

// weaker returns the level of verification that says less.
func weaker(a, b string) string {
	for _, level := range []string{"none", verify.LevelListing, verify.LevelSample} {
		if a == level || b == level {
			return level
		}
	}
	return a
}

func joinAmounts(a, b certificate.Amount) certificate.Amount {
	return certificate.Amount{Objects: a.Objects + b.Objects, Bytes: a.Bytes + b.Bytes}
}

func joinCounts(all, more []certificate.Count) []certificate.Count {
	for _, c := range more {
		at := slices.IndexFunc(all, func(o certificate.Count) bool {
			return o.Action == c.Action && o.State == c.State && o.Reason == c.Reason
		})
		if at < 0 {
			all = append(all, c)
			continue
		}
		all[at].Amount = joinAmounts(all[at].Amount, c.Amount)
	}
	return all
}

// covers returns a function that reports whether a certificate covers an object.
func covers(s certificate.Scope) func(sources.Key) bool {
	if s.Kind == certificate.ScopeSource {
		return func(sources.Key) bool { return true }
	}
	var waves migrate.Waves
	for _, w := range s.Waves {
		waves = append(waves, &migrate.Wave{Name: w.Name, Folders: w.Folders, Include: w.Include, Exclude: w.Exclude})
	}
	return func(key sources.Key) bool {
		return slices.ContainsFunc(waves, func(w *migrate.Wave) bool { return w.HasKey(key) })
	}
}

// scopeText describes what a certificate covers.
func scopeText(s certificate.Scope) string {
	var text string
	switch s.Kind {
	case certificate.ScopeSource:
		text = "the whole source"
		if len(s.Include) > 0 {
			text = "the source, in the last run with"
		}
	case certificate.ScopeWave:
		text = "only " + waveText(s.Waves) + ", and no other object of the source"
	default:
		text = "the waves of the configuration, and no object outside: " + waveText(s.Waves)
	}
	for _, g := range []struct {
		flag  string
		globs []string
	}{{"include", s.Include}, {"exclude", s.Exclude}} {
		for _, glob := range g.globs {
			text += " " + strings.Join(cmdline.WithValue(g.flag, glob), " ")
		}
	}
	return text
}

func waveText(waves []certificate.Wave) string {
	texts := make([]string, len(waves))
	for n, w := range waves {
		texts[n] = "wave " + (&migrate.Wave{Name: w.Name, Folders: w.Folders, Include: w.Include, Exclude: w.Exclude}).Text()
		if len(waves) > 1 {
			for _, glob := range w.Omitted {
				texts[n] += " " + strings.Join(cmdline.WithValue("exclude", glob), " ")
			}
			texts[n] += " (" + w.Result + ")"
		}
	}
	return strings.Join(texts, "; ")
}
