package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"assetferry/migrate"
)

// A broken journal says of no asset whose it is, as often as it was told to.
type brokenJournal struct {
	migrate.Journal
	holds, owns int
}

var errNoDisk = errors.New("input/output error")

func (j *brokenJournal) HoldsAsset(ctx context.Context, pair int64, asset string) (bool, error) {
	if j.holds--; j.holds >= 0 {
		return false, errNoDisk
	}
	return j.Journal.HoldsAsset(ctx, pair, asset)
}

func (j *brokenJournal) OwnsAsset(ctx context.Context, destination, asset string) (bool, error) {
	if j.owns--; j.owns >= 0 {
		return false, errNoDisk
	}
	return j.Journal.OwnsAsset(ctx, destination, asset)
}

// A look is not the last one until the service has had its time, and ends the run as well.
func TestNothingIsSettledLaterWithoutTheJournal(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
	w.put("a.jpg", "a")
	d := w.deps()
	d.Journal = &brokenJournal{Journal: d.Journal, holds: 1}
	_, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *migrate.Applier) { a.Settle, a.Answer = time.Second, time.Second })
	if !errors.Is(err, errNoDisk) {
		t.Errorf("got %v, want the error of the journal", err)
	}
	w.migrate(migrate.DefaultRules())
	w.wantAssets([]placed{{"Images", "", "a.jpg", digest("a")}})
}

// A run ends with the journal, also where that fails while it finds out about what is in
// doubt, and however often: another look would not tell whose an asset is.
func TestNothingIsSettledWithoutTheJournal(t *testing.T) {
	for n, j := range []brokenJournal{{holds: 1}, {owns: 1}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
			w.put("a.jpg", "a")
			d := w.deps()
			j.Journal, d.Journal = d.Journal, &j
			if _, err := w.tryWith(t.Context(), d, migrate.DefaultRules()); !errors.Is(err, errNoDisk) {
				t.Errorf("got %v, want the error of the journal", err)
			}
			w.migrate(migrate.DefaultRules())
			w.wantAssets([]placed{{"Images", "", "a.jpg", digest("a")}})
		})
	}
}
