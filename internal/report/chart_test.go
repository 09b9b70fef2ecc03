package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// draw renders a chart, fails unless it is well-formed, and returns it with its text.
func draw(t rapid.TB, form string, chart any) (svg string, text []string) {
	t.Helper()
	var b bytes.Buffer
	if err := template.Must(template.ParseFiles("chart.html")).ExecuteTemplate(&b, form, chart); err != nil {
		t.Fatal(err)
	}
	svg = b.String()
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return svg, text
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.CharData:
			if s := strings.TrimSpace(string(token)); s != "" {
				text = append(text, s)
			}
		case xml.StartElement:
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("%s=%q in\n%s", a.Name.Local, a.Value, svg)
				}
			}
		}
	}
}

func TestBars(t *testing.T) {
	svg, text := draw(t, "bars", drawBars("types", "Types", "Two of them.", []bar{{".jpg", 200, "200 objects"}, {".png", 50, "50 objects"}, {"none", 0, "0"}}))
	want := []string{"Types", "Two of them.",
		".jpg: 200 objects", ".jpg", "200 objects", ".png: 50 objects", ".png", "50 objects", "none: 0", "none", "0"}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{`aria-labelledby="types-title types-desc"`, `height="78"`,
		`<rect y="0" width="100%"`, `<rect y="26" width="25%"`, `<rect y="52" width="0%"`} {
		if !strings.Contains(svg, part) {
			t.Errorf("there is no %s in\n%s", part, svg)
		}
	}
}

func TestBarsAreSeen(t *testing.T) {
	c := drawBars("x", "", "", []bar{{"huge", math.MaxInt64, "a lot"}, {"one", 1, "1"}, {"nothing", 0, "0"}})
	got := []string{c.Rows[0].Length, c.Rows[1].Length, c.Rows[2].Length}
	if diff := cmp.Diff([]string{"100%", "0.4%", "0%"}, got); diff != "" {
		t.Error(diff)
	}
	draw(t, "bars", drawBars("x", "", "", nil))
	draw(t, "bars", drawBars("x", "", "", []bar{{"nothing at all", 0, "0"}}))
}

// TestBarsEscape verifies that labels are escaped, because they contain file names.
func TestBarsEscape(t *testing.T) {
	const hostile = "\x00\x1b[31m</text><script>alert(1)</script>\u202e\xff&amp;"
	svg, text := draw(t, "bars", drawBars("x", hostile, hostile, []bar{{hostile, 1, hostile}, {strings.Repeat("long ", 1000), 1, "1"}}))
	if strings.Contains(svg, "<script") || strings.Contains(svg, "\u202e") {
		t.Errorf("a label is not escaped in\n%s", svg)
	}
	if got := text[3]; got != `\x00\x1b[31m<...` {
		t.Errorf("the label beside the bar is %q", got)
	}
	if got := text[6]; got != "long long lon..." {
		t.Errorf("the long label beside the bar is %q", got)
	}
}

func TestScale(t *testing.T) {
	for largest, want := range map[float64]string{
		0: "0 1", 0.3: "0 0.1 0.2 0.3", 1: "0 0.5 1", 7: "0 2 4 6 8", 99: "0 50 100", 100: "0 50 100", 101: "0 50 100 150",
		12_345: "0 5,000 10,000 15,000", 3.1e6: "0 1 M 2 M 3 M 4 M", 9.2e18: "0 5 E 10 E", 1e6: "0 500,000 1 M",
	} {
		var labels []string
		for _, m := range scale(largest) {
			labels = append(labels, short(m))
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("up to %v the marks are %s, want %s", largest, got, want)
		}
	}
}

func TestScaleHoldsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		largest := rapid.Float64Range(1e-6, math.MaxInt64).Draw(t, "largest")
		marks := scale(largest)
		if n := len(marks); n < 3 || n > 6 || marks[n-1] < largest {
			t.Fatalf("%v", marks)
		}
		seen := map[string]bool{}
		for _, m := range marks {
			seen[short(m)] = true
		}
		if len(seen) != len(marks) {
			t.Fatalf("marks read alike: %v", seen)
		}
	})
}

// minutes returns a span of one minute for each rate.
func minutes(begin time.Time, rates ...float64) (all []span) {
	for n, rate := range rates {
		from := begin.Add(time.Duration(n) * time.Minute)
		all = append(all, span{from, from.Add(time.Minute), rate})
	}
	return all
}

var noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)

func TestRates(t *testing.T) {
	all := minutes(noon, 10, 30)
	all = append(all, minutes(noon.Add(3*time.Minute), 40)...) // after a pause
	c := drawRates("speed", "Objects", "Up to 40.", all, short)
	if want := "M0 100V75.00H250.00V25.00H500.00V100H750.00V0.00H1000.00V100"; c.Line != want {
		t.Errorf("the line is\n%s, want\n%s", c.Line, want)
	}
	if diff := cmp.Diff([]mark{{160, "0"}, {123, "10"}, {85, "20"}, {48, "30"}, {10, "40"}}, c.Marks); diff != "" {
		t.Error(diff)
	}
	_, text := draw(t, "rates", c)
	want := []string{"Objects", "Up to 40.", "0", "10", "20", "30", "40", "12:00", "12:01", "12:02", "12:03", "12:04"}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

func TestRatesOfLittle(t *testing.T) {
	draw(t, "rates", drawRates("x", "", "", nil, short))
	draw(t, "rates", drawRates("x", "", "", minutes(noon, 0), short))
	c := drawRates("x", "", "", minutes(noon, math.MaxInt64), short)
	draw(t, "rates", c)
	if !strings.HasSuffix(c.Line, "H1000.00V100") {
		t.Errorf("one minute does not fill the chart: %s", c.Line)
	}
}

func TestTimes(t *testing.T) {
	for _, test := range []struct {
		begin time.Time
		whole time.Duration
		want  string
	}{
		{noon, time.Minute, "12:00 12:01"},
		{noon.Add(3 * time.Minute), 55 * time.Minute, "12:10 12:20 12:30 12:40 12:50"},
		{noon.Add(-12 * time.Hour), day, "00:00 06:00 12:00 18:00 00:00"},
		{noon, 24 * time.Hour, "21 Nov 12:00, 22 Nov 00:00, 22 Nov 12:00"},
		{noon, 4 * day, "22 Nov 23 Nov 24 Nov 25 Nov"},
		{noon, 60 * day, "11 Dec 2025, 31 Dec 2025, 20 Jan 2026"},
		{noon, 1000 * day, "5 Apr 2027, 17 Aug 2028"},
	} {
		var labels []string
		for _, tick := range timeTicks(test.begin, test.begin.Add(test.whole)) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != strings.ReplaceAll(test.want, ",", "") {
			t.Errorf("%v from %s: %s, want %s", test.whole, test.begin.Format(time.DateTime), got, test.want)
		}
	}
}

// Labels never touch, whenever a run began and however long it took.
func TestTimesKeepApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("somewhere", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
		begin := time.Unix(rapid.Int64Range(0, 6e7).Draw(t, "begin")*60, 0).In(zone)
		exponent := rapid.Float64Range(0, 6.7).Draw(t, "length")
		whole := time.Duration(math.Pow(10, exponent)) * time.Minute
		all := timeTicks(begin, begin.Add(whole))
		end := -1e9
		for n, tick := range all {
			half := float64(len(tick.Label)) * digitWidth / 2
			if tick.at < 0 || tick.at > 1 || tick.at*narrowest-half < end {
				t.Fatalf("%v from %s: label %d overlaps: %v", whole, begin, n, all)
			}
			end = tick.at*narrowest + half
		}
		if len(all) == 0 {
			t.Fatalf("%v from %s: no label", whole, begin)
		}
		draw(t, "rates", drawRates("x", "", "", []span{{begin, begin.Add(whole), 1}}, func(f float64) string { return fmt.Sprint(f) }))
	})
}
