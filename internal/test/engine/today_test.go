package engine

import (
	"testing"
	"time"

	"assetferry/internal/mapping"
	"assetferry/internal/strictyaml"
	"assetferry/migrate"
)

// dated returns dependencies and rules of a sync on a day. A rule describes the object a.txt from
// the day after its date.
func (w *world) dated(day string) (migrate.Deps, migrate.Rules) {
	w.Helper()
	f, err := strictyaml.Parse("assetferry.yaml", []byte("mapping:\n  rules:\n"+
		"    - when: key == \"a.txt\" and day(\"2026-03-10\") < today\n      description: expired\n"))
	must(w, err)
	entries, err := f.Entries(f.Root)
	must(w, err)
	parsed, err := mapping.Parse(f, entries[0].Value)
	must(w, err)
	today, err := time.Parse(time.DateOnly, day)
	must(w, err)
	d, r := w.deps(), syncRules("keep")
	d.Mapping = mapping.New(parsed, mapping.Options{Today: today})
	r.Mapping, r.Day = d.Mapping.Checksum(), day
	return d, r
}

// TestNextDayUpdatesMetadata verifies that rules with the current day change metadata on the day,
// although no object changed, and that a second sync on the day sends nothing. No safety check of
// changed rules stops the sync.
func TestNextDayUpdatesMetadata(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "a", "b.txt", "b")
	w.syncWith(w.dated("2026-03-10"))
	w.wantDescriptions(map[string]string{"a.txt": "", "b.txt": ""})
	w.wantStates(w.syncWith(w.dated("2026-03-11")), map[string]int64{"update_metadata done": 1, "unchanged skipped": 1})
	w.wantDescriptions(map[string]string{"a.txt": "expired", "b.txt": ""})
	for _, day := range []string{"2026-03-11", "2026-03-12"} {
		if asked := w.during(func() { w.wantStates(w.syncWith(w.dated(day)), map[string]int64{"unchanged skipped": 2}) }); len(asked) > 0 {
			t.Errorf("the sync on %s sent %v", day, asked)
		}
	}
}
