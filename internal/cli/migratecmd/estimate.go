package migratecmd

import (
	"context"
	"iter"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/clock"
	"assetferry/internal/estimate"
	"assetferry/internal/event"
	"assetferry/internal/rehearsal"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// recentMinutes is the number of minutes of earlier runs that an estimate uses: one day.
const recentMinutes = 24 * 60

// printEstimate prints the requests and the duration of a plan, and returns its items. Plans
// that do nothing, or are blocked, have no estimate. The source is listed again, which takes the time
// of listing.
func printEstimate(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, listing time.Duration) (items int64, err error) {
	work, err := work(ctx, f, s, plan)
	if err != nil || work.Items == 0 || plan.Blocked(s.rules) {
		return 0, err
	}
	measured, err := s.store.Rates(ctx, s.pair.Destination, recentMinutes)
	if err != nil {
		return 0, err
	}
	now := clock.Now()
	bounds := estimate.Bounds{Calls: f.Settings.MaxRequests, Bandwidth: f.Settings.Bandwidth}
	if end, limited := f.Settings.WindowEnd(now); limited {
		bounds.Window = end.Sub(now)
	}
	line := &event.PlanEstimate{Requests: work.Calls}
	f.Summary.PlanEstimate = line
	r, known := estimate.Time(work, measured, bounds, now)
	predicted := false
	if !known {
		if r, predicted, err = fromProfile(f, s, work, bounds, now); err != nil {
			return 0, err
		}
	}
	if !known && !predicted {
		f.Out.Printf("Estimate: %s. The first run measures the rate.", ui.EstimateText(line))
		return work.Items, nil
	}
	r.Low, r.High = r.Low+listing, r.High+listing
	line.Low, line.High = new(event.Seconds(r.Low)), new(event.Seconds(r.High))
	f.Out.Printf("Estimate: %s.", ui.EstimateText(line))
	if predicted {
		f.Out.Printf("The estimate is from the service profile. The first run measures the rate.")
	} else {
		printOtherSizes(f, work, measured)
	}
	if bounds.Window > 0 && r.High > bounds.Window {
		f.Out.Printf("This assumes one run a day of at most %s.", ui.Duration(bounds.Window))
	}
	return work.Items, nil
}

// simulated is the maximum number of items that an estimate simulates.
const simulated = 20_000

// fromProfile estimates the duration of a plan from the profile of the service, if there is one. It
// simulates a part of the items, all with the average size.
func fromProfile(f *command.Factory, s *endpoints, w estimate.Work, b estimate.Bounds, now time.Time) (r estimate.Range, known bool, err error) {
	service := measuredService(s.dest.Profile)
	if service == (rehearsal.Service{}) {
		return r, false, nil
	}
	n := min(w.Items, simulated)
	item := rehearsal.Item{Size: w.Bytes / w.Items, After: int(max(0, w.Calls/w.Items-1))}
	p, err := rehearsal.Predict(service, rehearsalRun(f), func() iter.Seq2[rehearsal.Item, error] {
		return func(yield func(rehearsal.Item, error) bool) {
			for range n {
				if !yield(item, nil) {
					return
				}
			}
		}
	})
	p = p.Extrapolate(float64(w.Items) / float64(n))
	return estimate.Within(w, estimate.Range{Low: p.Low, High: p.High}, b, now), err == nil, err
}

// ownTime is the time of this program for an upload, on a machine with two processors.
const ownTime = 400 * time.Microsecond

func rehearsalRun(f *command.Factory) rehearsal.Run {
	return rehearsal.Run{Workers: f.Settings.Concurrency, OwnTime: ownTime, Seed: 1}
}

// measuredService returns the durations and limits of a profile; zero if it has none.
func measuredService(p profile.Profile) rehearsal.Service {
	return rehearsal.Service{
		Latency: p.Latency, LatencyP95: p.LatencyP95, UploadLatency: p.UploadLatency, UploadLatencyP95: p.UploadLatencyP95,
		UploadBandwidth: p.UploadBandwidth, UploadBandwidthTotal: p.UploadBandwidthTotal,
		Rate: p.Rate, RetryAfter: retry.ParseRetryAfter(p.RetryAfter, time.Now()),
	}
}

// alike is the ratio of object sizes up to which a measured rate is reliable.
const alike = 4

// printOtherSizes warns if the objects are much larger or smaller than the measured ones: the
// rate then depended on something else.
func printOtherSizes(f *command.Factory, w estimate.Work, measured []state.Rate) {
	var items, bytes int64
	for _, m := range measured {
		items, bytes = items+m.Items, bytes+m.Bytes
	}
	was, is := bytes/items, w.Bytes/w.Items
	if w.Bytes > 0 && (is > alike*was || was > alike*is) {
		f.Out.Printf("It may take less time: measured objects had %s on average, these have %s.", ui.Bytes(was), ui.Bytes(is))
	}
}

// work adds up a plan. Its requests are those of planning, which the run repeats, one for each
// upload and adoption, two for each metadata update, and those for categories and folders.
// Retries are not included.
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
	if s.rules.BringsVersions() {
		older, err := s.store.Histories(ctx, plan.Run.Num)
		if err != nil {
			return w, err
		}
		w.Items, w.Bytes, w.Calls = w.Items+older.Brought, w.Bytes+older.BroughtBytes, w.Calls+older.Brought
	}
	missing, around, err := s.store.MissingFolders(ctx, plan.Run.Num, s.pair.Destination)
	w.Calls += s.dest.Limiter.Begun() + 2*int64(len(plan.Categories)) + missing + around
	return w, err
}
