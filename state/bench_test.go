package state

import (
	"testing"
	"time"
)

const benchBatch = 1000

func perSecond(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// benchPage returns the n-th page of a listing.
func benchPage(n int) Page {
	var p Page
	for _, key := range numbered(benchBatch) {
		p.Items = append(p.Items, staged(string(rune('a'+n%26))+time.Duration(n).String()+"/"+key))
	}
	return p
}

func BenchmarkStage(b *testing.B) {
	j := begin(b)
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		p := benchPage(n)
		b.StartTimer()
		must(b, j.Stage(background, j.run.Num, p))
	}
	perSecond(b, benchBatch)
}

func BenchmarkDecided(b *testing.B) {
	j := begin(b)
	keys := numbered(benchBatch)
	j.stage(keys...)
	var items []Item
	for _, key := range keys {
		items = append(items, decided(key, Create, ItemPlanned))
	}
	for b.Loop() {
		must(b, j.Decided(background, j.run.Num, items))
	}
	perSecond(b, benchBatch)
}

// BenchmarkTakeAndRecord takes 128 items and records them as done: two
// transactions that are on the disk before they return.
func BenchmarkTakeAndRecord(b *testing.B) {
	const batch = 128
	for b.Loop() {
		b.StopTimer()
		j := begin(b)
		j.apply(numbered(10 * batch)...)
		b.StartTimer()
		for range 10 {
			items, err := j.Take(background, j.run.Num, Next{After: "", N: batch, Time: modified})
			must(b, err)
			outcomes := make([]Outcome, len(items))
			for n, i := range items {
				outcomes[n] = done(string(i.Key))
			}
			must(b, j.Record(background, j.run.Num, j.pair.ID, outcomes))
		}
	}
	perSecond(b, 10*batch)
}

// BenchmarkItems reads decided items.
func BenchmarkItems(b *testing.B) {
	j := begin(b)
	const pages = 20
	for n := range pages {
		p := benchPage(n)
		for k := range p.Items {
			p.Items[k] = decided(string(p.Items[k].Key), Create, ItemPlanned)
		}
		must(b, j.Stage(background, j.run.Num, p))
	}
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		for _, err := range j.Items(background, j.run.Num) {
			must(b, err)
			rows++
		}
		if rows != pages*benchBatch {
			b.Fatalf("%d rows", rows)
		}
	}
	perSecond(b, pages*benchBatch)
}
