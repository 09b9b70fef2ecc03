package evidencecmd

import (
	"context"
	"maps"
	"slices"

	"assetferry/internal/certificate"
	"assetferry/state"
	"assetferry/state/actionlog"
)

// A sealedLog is what the action log has about a source and a destination, for a certificate.
type sealedLog struct {
	checks    map[string]*certificate.URLCheck // the last one of each wave, "" for the whole source
	overrides map[string][]string              // of each run
}

func readLog(ctx context.Context, store *state.Store, pair state.Pair) (*sealedLog, error) {
	l := &sealedLog{map[string]*certificate.URLCheck{}, map[string][]string{}}
	var chain actionlog.Chain
	_, err := store.ReadLog(ctx, 0, func(line string) error {
		e, err := chain.Add(line)
		if err != nil {
			return err
		}
		for _, o := range e.Overrides {
			if isOfRun(e.Kind) && !slices.Contains(l.overrides[e.Run], o) {
				l.overrides[e.Run] = append(l.overrides[e.Run], o)
			}
		}
		if e.Kind == actionlog.URLsChecked && e.Details["run"] == nil && e.Details["source"] == pair.Source && e.Details["destination"] == pair.Destination {
			wave, _ := e.Details["wave"].(string)
			l.checks[wave] = &certificate.URLCheck{At: e.Time, Checked: e.Details.Number("checked"), Wrong: e.Details.Number("wrong"), Readable: e.Details.Number("readable")}
		}
		return nil
	})
	return l, err
}

// isOfRun reports whether an entry is about the changes of a run: its overrides are those of the run.
func isOfRun(k actionlog.Kind) bool { return k == actionlog.RunStarted || k == actionlog.UndoStarted }

// urls returns the last checks of the URLs of the given waves, or of all ("" for the source): one of the
// whole source, and those of waves after it. Its time is that of the oldest. It is nil if URLs of a wave
// were not checked.
func (l *sealedLog) urls(waves []string) *certificate.URLCheck {
	whole, source := l.checks[""], slices.Contains(waves, "")
	if source {
		waves = slices.Sorted(maps.Keys(l.checks))
	}
	var sum *certificate.URLCheck
	checked := 0
	for _, wave := range waves {
		if c := l.checks[wave]; wave != "" && c != nil && (whole == nil || c.At.After(whole.At)) {
			sum, checked = plus(sum, *c), checked+1
		}
	}
	switch {
	case whole == nil && (checked < len(waves) || source):
		return nil
	case whole == nil, checked == len(waves): // all were checked again
		return sum
	}
	return plus(sum, *whole)
}

func plus(sum *certificate.URLCheck, c certificate.URLCheck) *certificate.URLCheck {
	if sum != nil {
		c.Checked, c.Wrong, c.Readable = c.Checked+sum.Checked, c.Wrong+sum.Wrong, c.Readable+sum.Readable
		if sum.At.Before(c.At) {
			c.At = sum.At
		}
	}
	return &c
}
