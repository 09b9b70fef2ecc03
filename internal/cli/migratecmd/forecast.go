package migratecmd

import (
	"context"
	"strconv"

	"assetferry/internal/cli/command"
	"assetferry/internal/clock"
	"assetferry/internal/estimate"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// recentPaces is how many minutes of former runs a forecast looks at: a day's.
const recentPaces = 24 * 60

// pilot is how many assets a pilot is made of; fewer are no migration to plan for.
const pilot = 500

// printEstimate tells what carrying out a plan takes, if there is anything to do and the
// plan may be carried out.
func printEstimate(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, source string) error {
	work, err := work(ctx, f, s, plan)
	if err != nil || work.Items == 0 || plan.Blocked(s.rules) {
		return err
	}
	measured, err := s.store.Rates(ctx, s.pair.Destination, recentPaces)
	if err != nil {
		return err
	}
	now := clock.Now()
	bounds := estimate.Bounds{Calls: f.Settings.MaxRequests, Bandwidth: f.Settings.Bandwidth}
	if end, limited := f.Settings.WindowEnd(now); limited {
		bounds.Window = end.Sub(now)
	}
	told := &event.PlanEstimate{Requests: work.Calls}
	f.Summary.PlanEstimate = told
	r, known := estimate.Time(work, measured, bounds, now)
	if !known {
		f.Out.Printf("Forecast: %s; no rate is measured yet.", ui.EstimateText(told))
		if work.Items > pilot {
			f.Out.Printf("A pilot measures it: %s", f.Again(s.command(), f.SourceArgument(source), "--limit", strconv.Itoa(pilot)))
		}
		return nil
	}
	told.Low, told.High = new(event.Seconds(r.Low)), new(event.Seconds(r.High))
	f.Out.Printf("Forecast: %s.", ui.EstimateText(told))
	printOtherSizes(f, work, measured)
	if bounds.Window > 0 && r.High > bounds.Window {
		f.Out.Printf("That is with one run a day of at most %s.", ui.Duration(bounds.Window))
	}
	return nil
}

// alike is how many times larger objects may be for a measurement to be of any use.
const alike = 4

// printOtherSizes says so where objects are much larger or smaller than those that were
// measured: then the number of items, or of bytes, was not what took the time.
func printOtherSizes(f *command.Factory, w estimate.Work, measured []state.Rate) {
	var items, bytes int64
	for _, m := range measured {
		items, bytes = items+m.Items, bytes+m.Bytes
	}
	was, is := bytes/items, w.Bytes/w.Items
	if is > alike*was || was > alike*is {
		f.Out.Printf("It may be quicker: what was measured had %s on average, this has %s.", ui.Bytes(was), ui.Bytes(is))
	}
}

// work adds up what is planned. Requests are those of this plan, which is made again
// before it is carried out, one for each upload and adoption, two for each description,
// and what it takes to find and make categories and folders. Retries come on top.
func work(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan) (w estimate.Work, err error) {
	perUpload := int64(1)
	if f.Settings.Provenance == "always" {
		perUpload = 2
	}
	for _, t := range plan.Tallies {
		if t.State != state.ItemPlanned {
			continue
		}
		switch t.Action {
		case state.Create:
			w.Items, w.Bytes, w.Calls = w.Items+t.Objects, w.Bytes+t.Bytes, w.Calls+perUpload*t.Objects
		case state.Adopt:
			w.Items, w.Calls = w.Items+t.Objects, w.Calls+t.Objects
		case state.UpdateMetadata:
			w.Items, w.Calls = w.Items+t.Objects, w.Calls+2*t.Objects
		}
	}
	missing, around, err := s.store.MissingFolders(ctx, plan.Run.Num, s.pair.Destination)
	w.Calls += s.dest.Limiter.Begun() + 2*int64(len(plan.Categories)) + missing + around
	return w, err
}
