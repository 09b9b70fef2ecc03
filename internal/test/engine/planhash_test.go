package engine

import (
	"testing"
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// TestPlanHash verifies that the hash covers everything that a person approves, and nothing else.
func TestPlanHash(t *testing.T) {
	type plan struct {
		head  migrate.PlanHead
		items []state.Item
	}
	base := func() plan {
		return plan{
			migrate.PlanHead{Source: "photos", SourceLocation: "/photos", Destination: "e/w", Rules: migrate.DefaultRules(),
				Categories: []migrate.NewCategory{{Name: "New", Extensions: []string{"a", "b"}}}, Unchanged: 1, UnchangedBytes: 2},
			[]state.Item{{Object: sources.Object{Key: "a", Size: 1, Time: time.Unix(1, 1), VersionTag: "v"}, Action: state.Create, Reason: "r",
				Category: "c", Folder: "f", Name: "n", Asset: "x"}, {Object: sources.Object{Key: "b"}}},
		}
	}
	hash := func(p plan) string {
		h := migrate.NewPlanHash()
		for _, i := range p.items {
			h.Add(&i)
		}
		sum, err := h.Sum(p.head)
		must(t, err)
		return sum
	}
	seen := map[string]string{hash(base()): "nothing"}
	for name, change := range map[string]func(*plan){
		"source":             func(p *plan) { p.head.Source = "others" },
		"URL of the source":  func(p *plan) { p.head.SourceLocation = "/others" },
		"destination":        func(p *plan) { p.head.Destination = "e/x" },
		"rules":              func(p *plan) { p.head.Rules.Limit = 1 },
		"no categories":      func(p *plan) { p.head.Categories = nil },
		"name of a category": func(p *plan) { p.head.Categories[0].Name = "Newer" },
		"extensions":         func(p *plan) { p.head.Categories[0].Extensions = []string{"ab"} },
		"unchanged":          func(p *plan) { p.head.Unchanged++ },
		"their bytes":        func(p *plan) { p.head.UnchangedBytes++ },
		"an item less":       func(p *plan) { p.items = p.items[:1] },
		"order":              func(p *plan) { p.items[0], p.items[1] = p.items[1], p.items[0] },
		"key":                func(p *plan) { p.items[0].Key = "aa" },
		"size":               func(p *plan) { p.items[0].Size++ },
		"time":               func(p *plan) { p.items[0].Time = time.Unix(1, 2) },
		"no time":            func(p *plan) { p.items[0].Time = time.Time{} },
		"1970":               func(p *plan) { p.items[0].Time = time.Unix(0, 0) },
		"version tag":        func(p *plan) { p.items[0].VersionTag = "" },
		"action":             func(p *plan) { p.items[0].Action = state.Adopt },
		"reason":             func(p *plan) { p.items[0].Reason = "" },
		"category":           func(p *plan) { p.items[0].Category = "" },
		"folder":             func(p *plan) { p.items[0].Folder = "" },
		"name":               func(p *plan) { p.items[0].Name = "" },
		"asset":              func(p *plan) { p.items[0].Asset = "" },
		"two fields as one":  func(p *plan) { p.items[0].Folder, p.items[0].Name = "fn", "" },
	} {
		p := base()
		change(&p)
		if other, same := seen[hash(p)]; same {
			t.Errorf("with another %s the hash is that of another %s", name, other)
		}
		seen[hash(p)] = name
	}
	p := base()
	p.items[0].State, p.items[0].Slot, p.items[0].Checksum, p.items[0].Time = state.ItemDone, 7, []byte("d"), time.Unix(1, 1).UTC()
	if _, same := seen[hash(p)]; !same {
		t.Error("what nobody approves changes the hash")
	}
}
