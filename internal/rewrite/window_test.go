package rewrite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// TestWindows verifies that the result does not depend on where windows of the text end.
func TestWindows(t *testing.T) {
	whole, _ := newRewriter(t, library())
	whole.window = 8 << 20
	small, _ := newRewriter(t, library())
	small.window = lookAhead + lookBehind
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for b.Len() < 60_000 {
			choice := make([]byte, 1+random.IntN(20))
			for i := range choice {
				choice[i] = byte(random.UintN(256))
			}
			text := textOf(choice)
			switch random.IntN(4) {
			case 0:
				text = escaped(wrapped(wrapped(text)))
			case 1:
				text = wrapped(strings.Repeat(text, 1+random.IntN(200)))
			}
			b.WriteString(text)
		}
		want := rewritten(t, whole, strings.NewReader(b.String()))
		got := rewritten(t, small, iotest.HalfReader(strings.NewReader(b.String())))
		if got.String() != want.String() {
			t.Fatalf("seed %d: another text", seed)
		}
		if diff := cmp.Diff(want.spots, got.spots, cmp.AllowUnexported(Spot{})); diff != "" {
			t.Fatalf("seed %d (-whole +small):\n%s", seed, diff)
		}
	}
}

// TestLines verifies the line numbers of spots.
func TestLines(t *testing.T) {
	r, _ := newRewriter(t, library())
	r.window = lookAhead + lookBehind
	text := strings.Repeat("this line has no URL\n", 5000) + "\n\r\nx /files/e.png\n/files/gone.png"
	got := rewritten(t, r, strings.NewReader(text)).spots
	if len(got) != 2 || got[0].Line != 5003 || got[1].Line != 5004 || got[1].Kind != Unknown || got[1].URL != "/files/gone.png" {
		t.Errorf("got %+v", got)
	}
}

// TestTooLong verifies that a serialized string beyond the limit stays unchanged up to its end, and
// that the text after it is rewritten, in every form.
func TestTooLong(t *testing.T) {
	r, _ := newRewriter(t, library())
	r.maxSerialized = 10_000
	r.window = lookAhead + lookBehind
	const url = "https://cdn.example.com/img/a.jpg"
	for name, encode := range map[string]func(string) string{
		"plain":        func(s string) string { return s },
		"in SQL":       escaped,
		"in SQL twice": func(s string) string { return escaped(escaped(s)) },
	} {
		content := strings.Repeat(`It's "quoted"; `+"\n", 2000) + url
		long := encode(wrapped(content))
		text := url + " " + long + " " + url + strings.Repeat(" ", 20_000) + url
		want := asset("a") + " " + long + " " + asset("a") + strings.Repeat(" ", 20_000) + asset("a")
		got := rewritten(t, r, strings.NewReader(text))
		if got.String() != want {
			t.Errorf("%s: got %.200s", name, got.String())
		}
		if s := got.spots; len(s) != 4 || s[1].Kind != Left || s[1].Why != TooLong {
			t.Errorf("%s: %d spots", name, len(s))
		}
	}
	// The length is wrong, so the end of the string is unknown.
	text := `s:20000:"` + strings.Repeat(" ", 30_000) + `"; ` + url
	if got := rewritten(t, r, strings.NewReader(text)); got.String() != text || len(got.spots) != 1 || got.spots[0].Why != TooLong {
		t.Errorf("got %+v", got.spots)
	}
	// A string that just fits is corrected.
	content := strings.Repeat(" ", 10_000-len(url)) + url
	if got := rewritten(t, r, strings.NewReader(wrapped(content))).String(); got != wrapped(strings.Replace(content, url, asset("a"), 1)) {
		t.Errorf("got %.100s", got)
	}
}

// TestDepth verifies that nested strings are corrected up to a depth beyond any real one.
func TestDepth(t *testing.T) {
	r, _ := newRewriter(t, library())
	in, want := "https://cdn.example.com/img/a.jpg ", asset("a")+" "
	for range maxDepth {
		in, want = wrapped(in), wrapped(want)
	}
	if got := rewritten(t, r, strings.NewReader(in)).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	deeper := wrapped(in)
	if got := rewritten(t, r, strings.NewReader(deeper)).String(); got != deeper {
		t.Errorf("too deep: got %s", got)
	}
}

// TestHostile verifies that hostile texts do not take long.
func TestHostile(t *testing.T) {
	r, _ := newRewriter(t, library())
	for name, piece := range map[string]string{
		"headers":     `s:9999999:"`,
		"nested":      `s:999:"s:999:\"`,
		"backslashes": `\`,
		"slashes":     `/`,
		"hosts":       "//cdn.example.com/img/",
		"folders":     "/files/",
		"brackets":    "https://cdn.example.com/img/((((((((((",
		"quoted":      `"https://cdn.example.com/img/`,
		"percent":     "%252F%252Fcdn.example.com%252Fimg",
		"entities":    "&#x2F;&#x2F;cdn.example.com",
	} {
		text := strings.Repeat(piece, 100_000/len(piece))
		if got := rewritten(t, r, strings.NewReader(text)); got.String() != text {
			t.Errorf("%s changed", name)
		}
	}
}

// TestMap verifies that the index of a map with many rows finds each of them.
func TestMap(t *testing.T) {
	rows := func(yield func(Row, error) bool) {
		for n := range 20_000 {
			if !yield(Row{fmt.Sprintf("https://cdn.example.com/img/%d.jpg", n), asset(fmt.Sprint("id", n/2))}, nil) {
				return
			}
		}
	}
	m, err := NewMap(rows)
	must(t, err)
	defer func() { must(t, m.Close()) }()
	if m.Assets().Count() != 10_000 || fmt.Sprint(m.Old()) != "[//cdn.example.com/img/]" || fmt.Sprint(m.Assets().Current()) != "[//ckbox.cloud/env/assets/]" {
		t.Errorf("%d assets, %v -> %v", m.Assets().Count(), m.Old(), m.Assets().Current())
	}
	for n := range 19_990 {
		v, err := m.Find(fmt.Sprintf("//cdn.example.com/img/%d.jpg", n))
		if want := asset(fmt.Sprint("id", n/2)); err != nil || v.New != want || v.Kind != Replaced {
			t.Fatalf("%d: got %+v (%v)", n, v, err)
		}
	}
	if v, err := m.Find("//cdn.example.com/img/20000.jpg"); err != nil || v.Kind != Unknown {
		t.Errorf("got %+v (%v)", v, err)
	}
	if v, err := m.Find("//ckbox.cloud/env/assets/id9995/images/300.webp"); err != nil || v.Kind != Current {
		t.Errorf("got %+v (%v)", v, err)
	}
	var unmet []string
	for r, err := range m.Unmet {
		must(t, err)
		unmet = append(unmet, r.Old)
	}
	if got := fmt.Sprint(unmet); got != "[https://cdn.example.com/img/19992.jpg https://cdn.example.com/img/19994.jpg https://cdn.example.com/img/19996.jpg https://cdn.example.com/img/19998.jpg]" {
		t.Errorf("unmet: %s", got)
	}
}

func TestExcerpts(t *testing.T) {
	r, _ := newRewriter(t, library())
	r.window = lookAhead + lookBehind
	const a = "/files/e.png"
	long := strings.Repeat(" äö", 2000) + " "
	for in, want := range map[string]string{
		"one\ntwo " + a + " three\r\nfour":              "2: two OLD three => two NEW three",
		a + "\n\n" + a:                                  "1: OLD => NEW|3: OLD => NEW",
		long + a + " " + a + long + a + long + "\n" + a: "1: …" + strings.Repeat(" äö", 12)[1:] + " OLD OLD" + strings.Repeat(" äö", 12) + "…",
	} {
		var got []string
		e := NewExcerpts(func(h Hunk) error {
			short := strings.NewReplacer(a, "OLD", asset("e"), "NEW").Replace
			got = append(got, fmt.Sprintf("%d: %s => %s", h.Line, short(h.Old), short(h.New)))
			return nil
		})
		must(t, r.Rewrite(strings.NewReader(in), e))
		must(t, e.Close())
		if text := strings.Join(got, "|"); !strings.HasPrefix(text, want) || len(text) > 2000 {
			t.Errorf("%.50q\n got %s\nwant %s", in, text, want)
		}
	}
}

// TestMostExcerpts verifies that the hunks after the first ones are counted by line. The second half of
// a long line is hidden, too.
func TestMostExcerpts(t *testing.T) {
	r, _ := newRewriter(t, library())
	const a = "/files/e.png"
	for in, want := range map[string]int64{
		a:                                       0,
		a + " " + a:                             0,
		a + "\n\n" + a + "\n" + a + " " + a:     2,
		strings.Repeat(a+" ", 200):              1,
		strings.Repeat(a+" ", 200) + "\n\n" + a: 2,
	} {
		var got []int64
		e := NewExcerpts(func(h Hunk) error {
			got = append(got, h.Line)
			return nil
		})
		e.Most = 1
		must(t, r.Rewrite(strings.NewReader(in), e))
		must(t, e.Close())
		if !slices.Equal(got, []int64{1}) || e.Hidden != want {
			t.Errorf("%.50q: shown %v, hidden %d; want %d", in, got, e.Hidden, want)
		}
	}
}
