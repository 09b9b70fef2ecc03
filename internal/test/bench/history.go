package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// Names in the state databases of the bench.
const (
	sourceName  = "bench"
	environment = "bench"
	identity    = environment + "/" + environment // identifies the destination with its default workspace
)

// writeHistory creates a state database with a finished run that uploaded a whole library to the
// service at rawURL, and returns the ID of the run. It makes the same calls as a run, without
// uploads.
func writeHistory(ctx context.Context, file string, l library, rawURL string) (id string, err error) {
	j, err := state.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	pair, err := j.Pair(ctx, sourceName, identity, rawURL)
	if err != nil {
		return "", err
	}
	if err := j.SavePurpose(ctx, pair.ID, state.Production); err != nil {
		return "", err
	}
	if err := j.SaveCategories(ctx, pair.Destination, []state.Category{{ID: theCategory, Name: theCategoryName}}); err != nil {
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
	if err := l.plan(ctx, j, run); err != nil {
		return "", err
	}
	if err := l.apply(ctx, j, run, rawURL); err != nil {
		return "", err
	}
	return run.ID, j.FinishRun(ctx, run.Num)
}

// plan writes the plan of a run that creates every asset.
func (l library) plan(ctx context.Context, j *state.Store, run state.Run) error {
	for n := 0; n < l.objects; n += pageSize {
		var p state.Page
		for i := n; i < min(n+pageSize, l.objects); i++ {
			p.Items = append(p.Items, l.item(i))
		}
		p.Cursor, p.Done = p.Items[len(p.Items)-1].Key, n+pageSize >= l.objects
		if err := j.Stage(ctx, run.Num, p); err != nil {
			return err
		}
	}
	return j.FinishPlan(ctx, run.Num, "", json.RawMessage("[]"))
}

// apply records that every object was uploaded.
func (l library) apply(ctx context.Context, j *state.Store, run state.Run, rawURL string) error {
	if err := j.SetRunState(ctx, run.Num, state.Planned, state.Applying); err != nil {
		return err
	}
	var outcomes []state.Outcome
	for n, next := 0, (state.Next{N: pageSize, Time: time.Now()}); ; {
		taken, err := j.Advance(ctx, run.Num, run.Pair.ID, outcomes, next)
		if err != nil || len(taken) == 0 {
			return err
		}
		outcomes = outcomes[:0]
		for i, item := range taken {
			outcomes = append(outcomes, l.outcome(n+i, item, rawURL))
		}
		n, next.After = n+len(taken), taken[len(taken)-1].Key
	}
}

// item returns the planned item of an object.
func (l library) item(n int) state.Item {
	dir, name := path.Split(l.key(n))
	return state.Item{
		Object: sources.Object{Key: sources.Key(l.key(n)), Size: l.size, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), VersionTag: l.tag(n)}, // as the bucket lists it
		Action: state.Create, Reason: string(migrate.ReasonNew), State: state.ItemPlanned,
		Category: theCategory, Folder: path.Clean(dir), Name: name, Slot: int64(n),
	}
}

// orderedID returns the ID of an asset in a history. IDs ascend there, because random ones make
// indexes slow to write, and the readers of the whole database are not affected.
func orderedID(n int) string { return fmt.Sprintf("%020x", n) }

// outcome returns the outcome of an uploaded object.
func (l library) outcome(n int, i state.Item, rawURL string) state.Outcome {
	id := orderedID(n)
	checksum := fmt.Appendf(nil, "%032x", uint64(n+1)*0x9e3779b97f4a7c15)
	return state.Outcome{Key: i.Key, State: state.ItemDone, Receipt: &state.Receipt{
		Object: i.Object, Checksum: checksum, Asset: id,
		Name: i.Name[:len(i.Name)-len(".jpg")], Extension: "jpg", Category: theCategory, Folder: l.folderID(n),
		URL: rawURL + "/assets/" + id + "/file", Slot: i.Slot, Modified: time.Now(),
	}}
}
