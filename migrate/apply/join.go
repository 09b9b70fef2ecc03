package apply

import (
	"context"

	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// joinMethod makes objects share assets. It sends no requests: the state database knows whether the
// owners were uploaded.
type joinMethod struct {
	*collect.Collector
	run state.Run
}

func (joinMethod) Kind() state.Kind { return state.Joins }

func (j joinMethod) Ask(ctx context.Context, batch []state.Item) ([]state.Outcome, error) {
	outcomes := make([]state.Outcome, len(batch))
	for n, i := range batch {
		remark, err := j.unusedMetadata(ctx, i)
		if err != nil {
			return nil, err
		}
		outcomes[n] = state.Outcome{Key: i.Key, State: state.ItemDone, Joins: i.PreviousKey, Error: remark}
	}
	return outcomes, nil
}

// unusedMetadata returns a remark if a table or sidecar has metadata of the object, because the
// shared asset has the metadata of another one.
func (j joinMethod) unusedMetadata(ctx context.Context, i state.Item) (remark string, err error) {
	fields, err := j.TableFields(ctx, j.run, i.Key, nil, nil)
	if err != nil {
		return "", err
	}
	beside, remark, err := j.SidecarFields(ctx, j.run, i.Key)
	if err == nil && len(fields)+len(beside) > 0 {
		remark = migrate.JoinTexts(string(migrate.RemarkCopyMetadata+": its asset has the metadata of "+i.PreviousKey+" is"), remark)
	}
	return remark, err
}

// Look does nothing: a join has no effect besides its record.
func (joinMethod) Look(context.Context, state.Item) (state.Outcome, error) {
	return state.Outcome{}, nil
}
