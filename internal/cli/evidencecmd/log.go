package evidencecmd

import (
	"context"
	"encoding/json"
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
		if e.Kind == actionlog.URLsChecked && e.Details["source"] == pair.Source && e.Details["destination"] == pair.Destination {
			wave, _ := e.Details["wave"].(string)
			l.checks[wave] = &certificate.URLCheck{At: e.Time, Checked: number(e.Details["checked"]), Wrong: number(e.Details["wrong"]), Readable: number(e.Details["readable"])}
		}
		return nil
	})
	return l, err
}

// isOfRun reports whether an entry is about the changes of a run: its overrides are those of the run.
func isOfRun(k actionlog.Kind) bool { return k == actionlog.RunStarted || k == actionlog.UndoStarted }

func number(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}

// urls returns the last check of the URLs of all given waves: one of the whole source, or the sum of
// one for each wave, whose time is that of the oldest. It is nil if URLs of a wave were not checked.
func (l *sealedLog) urls(waves []string) *certificate.URLCheck {
	var sum *certificate.URLCheck
	for _, wave := range waves {
		c, whole := l.checks[wave], l.checks[""]
		switch {
		case c == nil || whole != nil && whole.At.After(c.At):
			return whole
		case sum == nil:
			first := *c
			sum = &first
		default:
			sum.Checked, sum.Wrong, sum.Readable = sum.Checked+c.Checked, sum.Wrong+c.Wrong, sum.Readable+c.Readable
			if c.At.Before(sum.At) {
				sum.At = c.At
			}
		}
	}
	return sum
}
