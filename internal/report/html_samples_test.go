package report

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"
	"time"
)

// A sample is the input of a page.
type sample struct {
	Report
	lines   []Line
	folders []Folder
}

// html returns the page of a sample.
func (s sample) html(t testing.TB) string {
	t.Helper()
	p, err := layOut(s.Report, yielding(s.lines), yielding(s.folders), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func yielding[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// none is an empty list.
func none[T any](func(T, error) bool) {}

func part(name string, objects, bytes int64) Part {
	return Part{State: name, Good: isGood(name), Amount: Amount{objects, bytes}}
}

// reportOf returns a report whose objects are all accounted for.
func reportOf(purpose string, v Verdict, all ...Part) Report {
	finished := noon.Add(47*time.Minute + 12*time.Second)
	r := Report{
		Version: 1, MadeAt: noon.Add(3 * time.Hour), Tool: "1.0.0", Verdict: v,
		Run: Run{
			ID: "20251121-120000-7f3a", Command: "migrate", State: "finished", Source: "/srv/cms/uploads",
			Destination: "env-4c1d/ws-main", URL: "https://api.ckbox.io", PlanHash: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
			BeganAt: noon, ListedAt: noon.Add(2 * time.Second), FinishedAt: &finished, Seconds: 2832, ListedAll: true,
			Approval: &Approval{By: "Ada Lovelace <ada@example.com>", StatedBy: "op@build01", At: noon.Add(-20 * time.Hour)}, StartedBy: "op@build01",
		},
		Results: Results{Accounted: true, States: all},
	}
	r.Run.Purpose = purpose
	for _, p := range all {
		r.Results.Total = r.Results.Total.plus(p.Amount)
	}
	r.Results.Listed = r.Results.Total
	r.Results.Message = accountText(r.Results)
	r.Charted = r.Results.Listed
	return r
}

func verifiedSample() sample {
	r := reportOf(production, Verdict{Verified, "Complete and verified", "99,412 assets verified by checksum. 588 objects skipped by your rules.", ""},
		part(created, 98_112, 411_523_998_211), part(adopted, 1_300, 2_345_678_901), part(unchanged, 0, 0), part(skipped, 588, 12_345_678))
	r.Results.Shared = Amount{300, 45_678_901}
	at := noon.Add(2 * time.Hour)
	last := noon.Add(47 * time.Minute)
	r.Destination = Amount{99_412, 413_869_677_112}
	r.Verification = Verification{Level: "checksum", At: &at, Compared: 99_412, ComparedByChecksum: 99_412, Verified: 99_412, ByChecksum: 99_412, Covers: true, LastArrival: &last}
	r.Skipped = []Skipped{
		{Reason: "system_file", Message: "system file", Amount: Amount{412, 3_345_678}, Decides: "rename the file if it is not a system file", Examples: []string{"2019/.DS_Store", "2019/spring/Thumbs.db"}},
		{Reason: "excluded", Message: "excluded by --include or --exclude", Amount: Amount{176, 9_000_000}, Decides: "change --include or --exclude", Examples: []string{"brand/old/logo.ai"}},
	}
	r.Undo = Undo{Created: Amount{98_112, 411_523_998_211}, Command: "assetferry undo --run " + r.Run.ID}
	r.Privacy = Privacy{Public: Amount{90_000, 400_000_000_000}, Private: Amount{9_412, 13_869_677_112}, Categories: []Category{
		{ID: "c1", Name: "Images", Privacy: "public", Amount: Amount{90_000, 400_000_000_000}},
		{ID: "c2", Name: "Contracts", Privacy: "private", Amount: Amount{9_412, 13_869_677_112}}}}
	r.Metadata = Metadata{Objects: 12_000, ContentTypes: 12_000, Fields: 310, Tags: 0}
	r.URLs = URLs{Mapped: 99_412, Public: 90_000, Command: "assetferry urls --run " + r.Run.ID}
	r.Types = slicesOf([]string{".jpg", ".png", ".pdf", ".mp4", ".svg", "no extension", ".docx", ".heic", ".gif", ".webp", ".tif", ".zip", "other"}, 71_000, 3)
	r.Sizes = slicesOf([]string{"empty", "under 10 kB", "10 to 100 kB", "100 kB to 1 MB", "1 to 10 MB", "10 to 100 MB", "100 MB and more"}, 900, 2)
	for n := range 48 {
		items := int64(2000 + 700*math.Sin(float64(n)/5))
		r.Throughput = append(r.Throughput, Point{noon.Add(time.Duration(n) * time.Minute), 1, items, items * 4_200_000})
	}
	return sample{r, nil, []Folder{
		{Name: "2019", Listed: Amount{41_000, 200e9}, States: []Part{part(created, 40_800, 199e9), part(skipped, 200, 1e9)}},
		{Name: "brand", Listed: Amount{59_000, 213e9}, States: []Part{part(created, 57_312, 212e9), part(adopted, 1300, 2e9), part(skipped, 388, 1e6)}},
	}}
}

func slicesOf(names []string, first int64, divisor int64) (all []Slice) {
	n := first
	for _, name := range names {
		all = append(all, Slice{name, Amount{n, n * 4_111_222}})
		n = n*2/divisor + 3
	}
	return all
}

const (
	arabic  = "الصور/ربيع ٢٠٢٤/ميناء الإسكندرية.jpg"
	hostile = "<script>alert(1)</script>/\"><img src=x onerror=alert(1)>/&amp;\u202egpj.exe\x1b[31m"
)

func failedSample() sample {
	long := "archive/" + strings.Repeat("eine-sehr-lange-bezeichnung-ohne-jede-luecke", 12) + ".jpg"
	r := reportOf(production, Verdict{Incomplete, "Incomplete", "203 failed, 6 in conflict, 8 unconfirmed (5,000 objects listed).", "fix the causes in this report, then run the same command again"},
		part(created, 4_700, 21e9), part(failed, 203, 4e9), part(conflict, 6, 1e6), part(unconfirmed, 8, 3e6), part(skipped, 83, 1e6))
	r.Unlistable = 2
	r.Destination = Amount{4_700, 21e9}
	r.Verification = Verification{Level: "sample", Compared: 4_700, ComparedByChecksum: 100, Verified: 4_650, ByChecksum: 97, NotVerified: 47, Differences: 3, First: []Difference{
		{arabic, "a1b2c3", "size", "is 12,345 B at the destination, not 12,346 B"}, {hostile, "a1b2c4", "missing", "is not at the destination"}, {long, "a1b2c5", "content", "has different content"}}}
	at := noon.Add(-time.Hour)
	last := noon
	r.Verification.At, r.Verification.LastArrival = &at, &last
	r.Skipped = []Skipped{{Reason: "archived", Message: "in an archive storage class", Amount: Amount{83, 1e6}, Missed: true, Decides: "have the owner of the bucket restore the object from the archive, then run the same command again", Examples: []string{arabic, hostile, long}}}
	r.Problems = []Problem{
		{State: failed, Reason: "too_large", Message: "too large for the service (413)", Remedy: "ask the operator of the service for a higher limit, make the files smaller, or omit them with --exclude", Amount: Amount{203, 4e9},
			Examples: []Example{{arabic, "POST /assets: 413 Payload Too Large: File exceeds the limit"}, {long, "POST /assets: 413 Payload Too Large"}, {hostile, "<b>no</b>"}}},
		{State: unconfirmed, Reason: "unconfirmed", Message: "the upload was sent, but the service did not confirm it", Remedy: "run the same command again: it checks the destination and uploads only missing objects", Amount: Amount{8, 3e6},
			Examples: []Example{{"2024/a.jpg", "the process ended while sending"}}},
	}
	r.Alterations = []Alteration{{State: replaced, Amount: Amount{12, 1e6}, Examples: []string{"a/b.jpg", arabic}}}
	r.Undo = Undo{Created: Amount{4_700, 21e9}, Command: "assetferry undo --run " + r.Run.ID}
	r.Privacy = Privacy{Unknown: Amount{4_700, 21e9}, Categories: []Category{{ID: "c9", Name: hostile, Privacy: "unknown", Amount: Amount{4_700, 21e9}}}}
	r.Metadata = Metadata{Objects: 12, Fields: 12, NotKept: 4, Pending: 9, EditsKept: 3}
	r.Found = Found{UnmappedFields: 612, Unmapped: []Field{{"lens", "exif", 4_213}, {hostile, "table", 12}}, Positions: 1_204, Times: 4_001, Remarks: []Remark{
		{TooLong, "Texts longer than the service allows were shortened or omitted", 1_017, []Example{{arabic, "description: cut to 1023 of 1207 characters: the service accepts 1024"}, {long, "description: omitted: it has 1207 characters, and the service accepts 1024"}}},
		{BrokenSidecar, "Sidecars could not be read", 1, []Example{{hostile, "sidecar " + hostile + ".json was not read: line 3"}}}}}
	r.Types = []Slice{{hostile, Amount{4000, 20e9}}, {".mp4", Amount{1000, 5e9}}}
	r.Sizes = []Slice{{"empty", Amount{3, 0}}, {"100 MB and more", Amount{4_997, 25e9}}}
	r.Throughput = []Point{{noon, 1, 3000, 10e9}, {noon.Add(26 * time.Hour), 1, 1700, 11e9}}
	s := sample{Report: r}
	for n := range 8 {
		s.lines = append(s.lines, Line{Key: fmt.Sprintf("2024/%04d/%s", n, []string{arabic, hostile, long, "harbour.jpg"}[n%4]), State: failed, Error: "POST /assets: 413 Payload Too Large: File exceeds the limit of 100 MB"})
	}
	s.folders = []Folder{{Name: hostile, Listed: Amount{3000, 2e9}, States: []Part{part(created, 2900, 1e9), part(failed, 100, 1e9)}}, {Name: arabic, Listed: Amount{2000, 3e9}, States: []Part{part(created, 2000, 3e9)}}, {Listed: Amount{1, 1}, States: []Part{part(skipped, 1, 1)}}}
	return s
}

func unverifiedSample() sample {
	s := verifiedSample()
	s.Run.Approval = nil
	s.Run.Purpose = sandbox
	s.Verdict = Verdict{Complete, "Complete", "Not verified yet. 588 objects skipped by your rules.", "verify the content: assetferry verify --content"}
	s.Verification = Verification{Level: "none"}
	return s
}

// syncSample returns a sync of keys that are hard to show.
func syncSample() sample {
	long := "archive/" + strings.Repeat("ohne-jede-luecke-", 20) + ".jpg"
	r := reportOf(production, Verdict{Stopped, "Partly stopped by a safety check", "912 assets would be trashed. 3 failed, 1 in conflict (100,352 objects listed).", "check that the source is complete"},
		part(created, 12, 3e6), part(replaced, 4, 1e6), part(metadataUpdated, 2, 1e5), part(moved, 3, 2e6), part(trashed, 1, 5), part(unchanged, 99_412, 4e11), part(failed, 3, 9), part(conflict, 1, 1), part(skipped, 914, 1e8))
	r.Run.Command, r.Destination = "sync", Amount{99_420, 4e11}
	last, since := noon.Add(-24*time.Hour), noon.Add(-72*time.Hour)
	before := func(n int64) *int64 { return &n }
	r.Sync = &Sync{
		Previous: &PreviousSync{"20251120-120000-ab12", last}, Stopped: "912 assets would be trashed because their objects were deleted at the source, of 99,420 known objects: at most 500 may be; none was",
		Trend: []Measure{{objectsMeasured, 100_352, before(100_340)}, {bytesMeasured, 4e11, before(3e11)}, {created, 12, before(40)}, {replaced, 4, before(4)}, {metadataUpdated, 2, before(0)},
			{moved, 3, before(0)}, {trashed, 1, before(0)}, {deletedAtSource, 914, before(2)}, {failing, 4, before(1)}},
		Changes: []Change{{State: created, Amount: Amount{12, 3e6}, First: []Changed{{Key: arabic}, {Key: hostile}, {Key: long}}}, {State: moved, Amount: Amount{3, 2e6}, First: []Changed{{long, "old/" + long}, {arabic, hostile}, {"b.jpg", "a.jpg"}}}},
		Drift:   []Change{{Reason: "asset_deleted", Message: "a user deleted the asset at the destination; it stays deleted (--repair)", Amount: Amount{1, 3}, First: []Changed{{Key: long}}}},
		Deleted: &Deleted{Amount: Amount{914, 1e8}, New: Amount{912, 1e8}, Kept: Amount{914, 1e8}, InGrace: Amount{2, 10}, GraceEnds: &noon, First: []DeletedObject{
			{Key: hostile, New: true, Since: &noon, State: skipped, Reason: "too_many_deletes", Message: "deleted at the source, but the run would trash more assets than allowed (--accept-deletes)"},
			{Key: long, Since: &since, GraceEnds: &noon, State: skipped, Reason: "grace_period", Message: "deleted at the source; its asset is kept during --grace-period"}}},
		Failing:   Failing{4, []FailingObject{{"x.jpg", failed, &since, 4, "POST /assets: 413 Payload Too Large"}, {long, failed, nil, 1, hostile}, {arabic, conflict, nil, 0, "another user moved the asset"}}},
		Recovered: &Change{Amount: Amount{1, 4}, First: []Changed{{Key: arabic}}},
	}
	r.Alterations = []Alteration{{State: replaced, Amount: Amount{4, 1e6}, Examples: []string{arabic}}, {State: moved, Amount: Amount{3, 2e6}, Examples: []string{arabic, long}, Moves: []Move{{hostile, arabic}, {"old/" + long, long}}}}
	r.Undo = Undo{Created: Amount{12, 3e6}, Changed: Amount{10, 4e6}, Command: "assetferry undo --run " + r.Run.ID}
	return sample{Report: r}
}

func emptySample() sample {
	r := reportOf("", Verdict{Complete, "Nothing to do", "No object had to be uploaded.", ""})
	r.Run.FinishedAt = nil
	r.Verification.Level = "none"
	return sample{Report: r}
}

func samples() map[string]sample {
	return map[string]sample{"verified": verifiedSample(), "failed": failedSample(), "unverified": unverifiedSample(), "empty": emptySample(), "sync": syncSample()}
}
