package apply

import (
	"context"
	"errors"
	"fmt"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/state"
)

// A run may bring older versions of an object, the oldest first. Its item then stands for one version
// after the other: the first creates the asset, and the others replace its content. For each of them,
// the intent is stored before the upload, together with the outcome of the previous one. So an
// interrupted version is checked at the destination like any other upload, and none is uploaded twice.

// nextVersions lets items stand for the next version of their objects, if the run brings versions.
func (a *Applier) nextVersions(ctx context.Context, items []state.Item) error {
	if !a.rules.BringsVersions() {
		return nil
	}
	for n := range items {
		if err := a.nextVersion(ctx, &items[n]); err != nil {
			return migrate.NewStateError(err)
		}
	}
	return nil
}

func (a *Applier) nextVersion(ctx context.Context, i *state.Item) error {
	if i.Whole != nil || i.State == state.ItemSent || i.Action != state.Create && i.Action != state.Replace {
		return nil
	}
	older, num, asset, err := a.State.NextVersion(ctx, a.run.Num, i.Key)
	if err != nil {
		return err
	}
	whole := *i
	i.Whole, i.VersionNum = &whole, num
	if asset != "" {
		i.Action, i.Asset, i.PreviousKey = state.Replace, asset, ""
	}
	if num > 0 {
		i.Object, i.Checksum = older, nil
	}
	return nil
}

// asPlanned returns an item as the plan has it.
func asPlanned(i state.Item) state.Item {
	if i.Whole == nil {
		return i
	}
	whole := *i.Whole
	whole.State, whole.Attempts, whole.IntentAt = i.State, i.Attempts, i.IntentAt
	return whole
}

// ofVersion completes the outcome of an attempt at a version.
func (d *dispatcher) ofVersion(i state.Item, o *state.Outcome) {
	if i.Whole == nil {
		return
	}
	o.Version, o.KeepsRevision = i.VersionNum, true
	if i.VersionNum == 0 {
		return
	}
	switch o.State {
	case state.ItemChanged: // only this version is missing
		if !o.Unclear && o.Receipt == nil {
			o.State, o.Class, o.Error = state.ItemDone, "", "not readable any more: "+o.Error
		}
	case state.ItemFailed, state.ItemRetryScheduled, state.ItemUnconfirmed:
		o.Error = fmt.Sprintf("older version %d, changed %s: %s", i.VersionNum, i.Time.Format("2006-01-02 15:04:05"), o.Error)
	}
	if o.State == state.ItemDone && !d.stopping && !d.confirmOnly {
		o.NextIntent = d.Now()
	}
}

// goOn prepares the items of a written commit for their next versions.
func (d *dispatcher) goOn(ctx context.Context, c *commit) error {
	for n, o := range c.outcomes {
		if !o.GoesOn() {
			continue
		}
		i := *c.items[n].Whole
		i.State, i.Attempts, i.IntentAt = state.ItemSending, 1, o.NextIntent
		if !o.NextIntent.IsZero() {
			c.goesOn = append(c.goesOn, i)
		}
	}
	if len(c.goesOn) > 0 {
		faultpoint.Hit(faultpoint.VersionRecorded)
	}
	return errors.Join(d.nextVersions(ctx, c.goesOn), d.nextVersions(ctx, c.taken))
}
