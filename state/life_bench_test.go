package state

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assetferry/state/ownership"

	"assetferry/sources"
)

// lifeItems are how many items the benchmark of their life has.
const lifeItems = 20_000

// The source and the destination of the migration.
const (
	lifeSource      = "s3://bucket/prefix"
	lifeDestination = "0123456789abcdef0123"
	lifeURL         = "https://assets.example.com"
)

// lifeBatch is the number of items that a fast run takes, and records, at a time.
const lifeBatch = 128

// BenchmarkLife measures a migration from the listing to the receipts. Keys, version tags, IDs and
// URLs have the lengths that they have with S3. It reports the time, the transactions and the space
// in the finished state database for each asset.
func BenchmarkLife(b *testing.B) {
	var size, transactions int64
	for b.Loop() {
		b.StopTimer()
		path := filepath.Join(b.TempDir(), "state.db")
		b.StartTimer()
		transactions += liveThrough(b, path)
		b.StopTimer()
		info, err := os.Stat(path)
		must(b, err)
		size += info.Size()
		b.StartTimer()
	}
	assets := float64(b.N * lifeItems)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/assets, "ns/asset")
	b.ReportMetric(float64(size)/assets, "bytes/asset")
	b.ReportMetric(1000*float64(transactions)/assets, "tx/1000")
	b.ReportMetric(0, "ns/op")
}

// liveThrough creates a state database with a finished run and closes it. It returns the number of
// transactions.
func liveThrough(b *testing.B, path string) (transactions int64) {
	j, err := Open(b.Context(), path)
	must(b, err)
	pair, err := j.Pair(b.Context(), lifeSource, lifeDestination, lifeURL)
	must(b, err)
	run, err := j.Begin(b.Context(), pair, "migrate", json.RawMessage("{}"))
	must(b, err)
	for n := 0; n < lifeItems; n += benchBatch {
		must(b, j.Stage(b.Context(), run.Num, lifePage(n)))
	}
	for n := 0; n < lifeItems; n += benchBatch {
		must(b, j.Decided(b.Context(), run.Num, lifeDecisions(n)))
	}
	must(b, j.FinishPlan(b.Context(), run.Num, "hash", json.RawMessage("[]")))
	must(b, j.SetRunState(b.Context(), run.Num, Planned, Applying))
	var outcomes []Outcome
	for next := (Next{N: lifeBatch, Time: modified}); ; {
		taken, err := j.Advance(b.Context(), run.Num, pair.ID, outcomes, next)
		must(b, err)
		if len(taken) == 0 {
			break
		}
		next.After, outcomes = taken[len(taken)-1].Key, outcomes[:0]
		for _, i := range taken {
			outcomes = append(outcomes, Outcome{Key: i.Key, State: ItemDone, Receipt: lifeReceipt(i)})
		}
	}
	must(b, j.FinishRun(b.Context(), run.Num))
	h, err := ownership.Read(b.Context(), j.r.DB)
	must(b, err)
	must(b, j.Close())
	return h.Seq
}

func lifeItem(n int) Item {
	return Item{
		Object: sources.Object{Key: sources.Key(fmt.Sprintf("pictures/folder%04d/photo-%06d.jpg", n/500, n)), Size: 20 << 10, Time: modified,
			VersionTag: fmt.Sprintf("%032x", n)},
	}
}

func lifePage(from int) Page {
	p := Page{Done: from+benchBatch == lifeItems}
	for n := from; n < from+benchBatch; n++ {
		p.Items = append(p.Items, lifeItem(n))
	}
	p.Cursor = p.Items[len(p.Items)-1].Key
	return p
}

func lifeDecisions(from int) (items []Item) {
	for n := from; n < from+benchBatch; n++ {
		i := lifeItem(n)
		i.Action, i.Reason, i.State = Create, "new", ItemPlanned
		i.Category, i.Folder, i.Name = "d0c7c1a4-8a55-4a4e-9f5c-0d6b5f1c2a3b", fmt.Sprintf("pictures/folder%04d", n/500), fmt.Sprintf("photo-%06d.jpg", n)
		i.Slot = int64(uint64(n+1) * 0x9e3779b97f4a7c15) // scattered, as a hash is
		items = append(items, i)
	}
	return items
}

func lifeReceipt(i Item) *Receipt {
	checksum := make([]byte, 32)
	_, _ = rand.Read(checksum) // never fails
	asset := rand.Text()[:20]
	return &Receipt{
		Object: i.Object, Checksum: checksum, Asset: asset,
		Name: i.Name[:len(i.Name)-len(".jpg")], Extension: "jpg", Category: i.Category,
		Folder: "7c9e6679-7425-40de-944b-" + i.Folder[len(i.Folder)-4:] + "fc1f90ae",
		URL:    "https://assets.example.com/0123456789abcdef0123/assets/" + asset + "/file",
		Slot:   i.Slot, Modified: time.Now(),
	}
}

// BenchmarkCollisions measures a plan that checks the place of one new object against many
// receipts, all of which it reads. The baseline is the reading of receipts in every plan.
func BenchmarkCollisions(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.db")
	liveThrough(b, path)
	j, err := Open(b.Context(), path)
	must(b, err)
	defer func() { must(b, j.Close()) }()
	pair, err := j.Pair(b.Context(), lifeSource, lifeDestination, lifeURL)
	must(b, err)
	run, err := j.Begin(b.Context(), pair, "migrate", json.RawMessage("{}"))
	must(b, err)
	item := lifeItem(lifeItems)
	item.Action, item.State, item.Slot = Create, ItemPlanned, lifeDecisions(0)[0].Slot
	must(b, j.Stage(b.Context(), run.Num, Page{Items: []Item{item}}))
	perReceipt := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lifeItems), "ns/receipt")
	}
	b.Run("collisions", func(b *testing.B) {
		for b.Loop() {
			if found, err := j.Collisions(b.Context(), run.Num, pair.ID); err != nil || len(found) != 1 {
				b.Fatalf("%d collisions (%v)", len(found), err)
			}
		}
		perReceipt(b)
	})
	b.Run("fingerprints", func(b *testing.B) {
		for b.Loop() {
			for _, err := range j.Fingerprints(b.Context(), pair.ID, "") {
				must(b, err)
			}
		}
		perReceipt(b)
	})
}
