package report

import (
	"context"
	"fmt"

	"assetferry/internal/ui"
	"assetferry/migrate"
)

// Versions counts the older versions of the objects that a run with --versions uploads, and those that
// it brings. Omitted counts those of them that were refused, or deleted after the plan.
type Versions struct {
	Objects int64  `json:"objects"` // with older versions
	Older   Amount `json:"older"`
	Brought Amount `json:"brought"`
	Omitted int64  `json:"omitted_versions"`
}

// versions counts older versions, if the run brings any.
func (l *lists) versions(ctx context.Context, r *Report) error {
	if l.run.Undoes != 0 || l.isPruned() {
		return nil
	}
	rules, err := migrate.ReadRules(l.run)
	if err != nil || !rules.BringsVersions() {
		return err
	}
	sum, err := l.store.Histories(ctx, l.run.Num)
	r.Versions = &Versions{sum.Objects, Amount{sum.Older, sum.OlderBytes}, Amount{sum.Brought, sum.BroughtBytes}, sum.Omitted}
	return err
}

// Text returns the counts in words.
func (v Versions) Text() string {
	if v.Older.Objects == 0 {
		return "No uploaded object has older versions."
	}
	text := fmt.Sprintf("%s: %s, %s. The run brings %s of them, %s.", ui.CountedAs(v.Objects, "uploaded object has older versions", "uploaded objects have older versions"),
		ui.Counted(v.Older.Objects, "version"), ui.Bytes(v.Older.Bytes), ui.Count(v.Brought.Objects), ui.Bytes(v.Brought.Bytes))
	if v.Omitted > 0 {
		text += fmt.Sprintf(" %s omitted: see the objects.", ui.CountedAs(v.Omitted, "version was", "versions were"))
	}
	return text
}
