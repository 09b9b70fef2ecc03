package state

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"assetferry/sources"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const photoURL = "https://ckbox.example/4hXwQzB8TqVnT0dRk2Jm/assets/kq3-Zr8Lw_aT/file"

// imagesOf returns the URLs that the service gives an image of a width: at most ten steps of at
// least 80 pixels each.
func imagesOf(url string, width int) map[string]string {
	base, _ := imageBase(url)
	images := map[string]string{"default": fmt.Sprintf("%s%d.jpeg", base, width)}
	step := max(80, (width+9)/10)
	for w := step; w < width; w += step {
		images[strconv.Itoa(w)] = fmt.Sprintf("%s%d.webp", base, w)
	}
	images[strconv.Itoa(width)] = fmt.Sprintf("%s%d.webp", base, width)
	return images
}

func TestPackImages(t *testing.T) {
	for _, c := range []struct {
		name   string
		url    string
		images map[string]string
		want   any
	}{
		{"none", photoURL, nil, nil},
		{"usual", photoURL, imagesOf(photoURL, 376), `[80,160,240,320,376,"376.jpeg"]`},
		{"no default", photoURL, map[string]string{"80": "https://ckbox.example/4hXwQzB8TqVnT0dRk2Jm/assets/kq3-Zr8Lw_aT/images/80.webp"}, `[80]`},
		{"elsewhere", "https://a.example/1/file", map[string]string{"80": "https://b.example/80.webp", "default": "https://b.example/<1>.png"},
			`[{"80":"https://b.example/80.webp","default":"https://b.example/\u003c1\u003e.png"}]`},
		{"not a file", "https://a.example/1", map[string]string{"80": "https://a.example/1/images/80.webp"}, `[{"80":"https://a.example/1/images/80.webp"}]`},
		{"other names", "https://a.example/1/file", map[string]string{"080": "https://a.example/1/images/80.webp", "90": "https://a.example/1/images/90.avif", "100": "https://a.example/1/images/100.webp"},
			`[100,{"080":"https://a.example/1/images/80.webp","90":"https://a.example/1/images/90.avif"}]`},
	} {
		if got, err := packImages(c.url, c.images); err != nil || got != c.want {
			t.Errorf("%s: got %v (%v), want %v", c.name, got, err, c.want)
		}
	}
}

// TestPackImagesRoundTrip verifies that any URLs that the service returns are unpacked as they were
// packed.
func TestPackImagesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	for range 5000 {
		url := pick(photoURL, "", "/file", "https://a.example/1/file", "https://a.example/file/", "https://å.example/\"1\"/file")
		base, _ := imageBase(url)
		images := map[string]string{}
		for range r.IntN(6) {
			n := strconv.Itoa(r.IntN(3000) - 100)
			name := pick(n, n, "0"+n, "default", "+"+n, "", "99999999999999999999", `"`)
			images[name] = pick(base, base, "https://b.example/", "") + pick(name, n, "") + pick(".webp", ".webp", ".jpeg", "", "/\\\"<&")
		}
		packed, err := packImages(url, images)
		must(t, err)
		text, _ := packed.(string)
		got, err := unpackImages(url, sql.NullString{String: text, Valid: packed != nil})
		must(t, err)
		if !maps.Equal(got, images) {
			t.Fatalf("%q: %q became %v (%s)", url, images, got, text)
		}
	}
}

// TestImagesAreSmall verifies that the URLs of a million images need little space in the state
// database.
func TestImagesAreSmall(t *testing.T) {
	const most = 60
	sum, widths := 0, []int{320, 376, 800, 1024, 1600, 1920, 2048, 3000, 4032, 6000}
	for _, width := range widths {
		packed, err := packImages(photoURL, imagesOf(photoURL, width))
		must(t, err)
		sum += len(packed.(string))
	}
	if average := sum / len(widths); average > most {
		t.Errorf("%d bytes an image, want at most %d", average, most)
	}
}

func TestAssetURLs(t *testing.T) {
	j := begin(t)
	j.apply("a.jpg", "b.jpg", "c.pdf")
	j.take(3)
	photo := done("a.jpg")
	photo.Receipt.URL, photo.Receipt.Images = photoURL, imagesOf(photoURL, 1024)
	must(t, j.record(photo, done("b.jpg")))
	must(t, j.SaveVerification(t.Context(), Verification{Pair: j.pair.ID, Level: "listing"}, nil))
	later := func(d time.Duration) func() time.Time {
		at := time.Now().Add(d)
		return func() time.Time { return at }
	}
	j.now = later(time.Minute)
	must(t, j.SaveVerification(t.Context(), Verification{Pair: j.pair.ID, Level: "listing", Differences: 1}, []Difference{
		{Key: "b.jpg", Asset: "asset of b.jpg", Field: "size"}, {Key: "b.jpg", Asset: "asset of b.jpg", Field: "name"},
	}))
	j.now = later(time.Hour)
	must(t, j.record(done("c.pdf")))

	url := func(key string) AssetURL {
		return AssetURL{As: key, Key: sources.Key(key), Size: 10, Asset: "asset of " + key, Category: "category", URL: "https://example.com/asset of " + key}
	}
	a := url("a.jpg")
	a.URL, a.Verified = photoURL, true
	want := []AssetURL{a, url("b.jpg"), url("c.pdf")}
	for what, run := range map[string]int64{"all": 0, "of the run": j.run.Num} {
		got := collect(t, j.AssetURLs(t.Context(), j.pair.ID, run))
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(AssetURL{})); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
		for n, wanted := range []map[string]string{imagesOf(photoURL, 1024), nil, nil} {
			images, err := got[n].Images()
			must(t, err)
			if diff := cmp.Diff(wanted, images); diff != "" {
				t.Errorf("%s: images of %s (-want +got):\n%s", what, got[n].Key, diff)
			}
		}
	}
	if got := collect(t, j.AssetURLs(t.Context(), j.pair.ID, j.run.Num+1)); len(got) > 0 {
		t.Errorf("of another run: %+v", got)
	}
}

// BenchmarkImages records items with and without images, and reports the difference in the size of
// the state database.
func BenchmarkImages(b *testing.B) {
	const batch, batches = 128, 40
	for name, images := range map[string]map[string]string{"none": nil, "typical": imagesOf(photoURL, 1920)} {
		b.Run(name, func(b *testing.B) {
			var bytes int64
			for b.Loop() {
				b.StopTimer()
				j := begin(b)
				j.apply(numbered(batch * batches)...)
				before := j.pages()
				b.StartTimer()
				for range batches {
					var outcomes []Outcome
					for _, key := range j.take(batch) {
						o := done(key)
						o.Receipt.URL, o.Receipt.Images = photoURL, images
						outcomes = append(outcomes, o)
					}
					must(b, j.record(outcomes...))
				}
				bytes = j.pages() - before
			}
			perSecond(b, batch*batches)
			b.ReportMetric(float64(bytes)/(batch*batches), "state-B/row")
		})
	}
}
