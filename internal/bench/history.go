package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"time"

	"assetferry/migrate"
	"assetferry/state"
)

// The names under which everything is in the journals here.
const (
	sourceName  = "bench"
	environment = "bench"
	identity    = environment + "/" + environment // of the destination, in its default workspace
)

// writeHistory makes a journal that has a finished run which brought a whole library to
// where a service listens, and gives the ID of the run. It does what a run does, without
// the uploads.
func writeHistory(ctx context.Context, file string, l library, address string) (id string, err error) {
	j, err := state.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer func() {
		if err == nil {
			err = j.Close()
		}
	}()
	pair, err := j.Pair(ctx, sourceName, identity, address)
	if err != nil {
		return "", err
	}
	if err := j.SavePurpose(ctx, pair.ID, state.Production); err != nil {
		return "", err
	}
	rules, err := json.Marshal(migrate.DefaultRules())
	if err != nil {
		return "", err
	}
	run, err := j.Begin(ctx, pair, "migrate", rules)
	if err != nil {
		return "", err
	}
	stored, err := time.Parse(time.RFC3339, storedAt)
	if err != nil {
		return "", err
	}
	var items []state.Item
	for n := 0; n < l.objects; n += len(items) {
		items = items[:0]
		for i := n; i < min(n+pageSize, l.objects); i++ {
			items = append(items, state.Item{Key: l.key(i), Size: l.size, Time: stored, VersionTag: l.tag(i)})
		}
		last := n+len(items) == l.objects
		if err := j.Stage(ctx, run.Num, state.Page{Items: items, Cursor: items[len(items)-1].Key, Done: last}); err != nil {
			return "", err
		}
	}
	for n := 0; n < l.objects; n += len(items) {
		items = items[:0]
		for i := n; i < min(n+pageSize, l.objects); i++ {
			items = append(items, l.item(i))
		}
		if err := j.Decided(ctx, run.Num, items); err != nil {
			return "", err
		}
	}
	if err := j.FinishPlan(ctx, run.Num, "", json.RawMessage("[]")); err != nil {
		return "", err
	}
	if err := j.SetRunState(ctx, run.Num, state.Planned, state.Applying); err != nil {
		return "", err
	}
	for n, after := 0, ""; n < l.objects; {
		taken, err := j.Take(ctx, run.Num, after, pageSize, time.Now())
		if err != nil {
			return "", err
		}
		outcomes := make([]state.Outcome, len(taken))
		for i, item := range taken {
			outcomes[i] = l.outcome(n+i, item, address)
		}
		if err := j.Record(ctx, run.Num, pair.ID, outcomes); err != nil {
			return "", err
		}
		n, after = n+len(taken), taken[len(taken)-1].Key
	}
	return run.ID, j.FinishRun(ctx, run.Num)
}

// item is an object as a plan has it.
func (l library) item(n int) state.Item {
	dir, name := path.Split(l.key(n))
	return state.Item{
		Key: l.key(n), Action: state.Create, Reason: string(migrate.ReasonNew), State: state.ItemPlanned,
		Category: theCategory, Folder: path.Clean(dir), Name: name, Slot: int64(n),
	}
}

// orderedID is the ID of an asset in a history. Assets are numbered in order there, since
// indexes in disorder take long to write, and those who read all of it do not mind.
func orderedID(n int) string { return fmt.Sprintf("%020x", n) }

// outcome is that of an object which arrived.
func (l library) outcome(n int, i state.Item, address string) state.Outcome {
	id := orderedID(n)
	digest := fmt.Appendf(nil, "%032x", uint64(n+1)*0x9e3779b97f4a7c15)
	return state.Outcome{Key: i.Key, State: state.ItemDone, Receipt: &state.Receipt{
		Key: i.Key, Size: i.Size, Time: i.Time, VersionTag: i.VersionTag, Digest: digest, Asset: id,
		Name: i.Name[:len(i.Name)-len(".jpg")], Extension: "jpg", Category: theCategory, Folder: l.folderID(n),
		URL: address + "/assets/" + id + "/file", Slot: i.Slot, Modified: time.Now(),
	}}
}
