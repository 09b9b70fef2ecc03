package apply

import (
	"context"

	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// joining has objects share assets. Nothing is asked of the service: the journal tells
// whether what they share has arrived.
type joining struct {
	collect.Collector
	run state.Run
}

func (joining) Kind() state.Kind { return state.Joins }

func (j joining) Ask(ctx context.Context, batch []state.Item) ([]state.Outcome, error) {
	outcomes := make([]state.Outcome, len(batch))
	for n, i := range batch {
		remark, err := j.leftUnsaid(ctx, i)
		if err != nil {
			return nil, err
		}
		outcomes[n] = state.Outcome{Key: i.Key, State: state.ItemDone, Joins: i.Origin, Error: remark}
	}
	return outcomes, nil
}

// leftUnsaid tells that somebody wrote down what describes an object, and that it goes
// nowhere, since the asset is described as that of another one.
func (j joining) leftUnsaid(ctx context.Context, i state.Item) (remark string, err error) {
	fields, err := j.InTable(ctx, j.run, i.Key, nil, nil)
	if err != nil {
		return "", err
	}
	beside, remark, err := j.InSidecars(ctx, j.run, i.Key)
	if err == nil && len(fields)+len(beside) > 0 {
		remark = migrate.Joined(string(migrate.LeftUnsaid+": its asset is described as "+i.Origin+" is"), remark)
	}
	return remark, err
}

// Look knows nothing of what was not recorded: that is all there is to it.
func (joining) Look(context.Context, state.Item) (state.Outcome, error) {
	return state.Outcome{}, nil
}
