package proposals

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

func TestMarkedWords(t *testing.T) {
	show := func(all []piece) string {
		var b strings.Builder
		for _, p := range all {
			if p.Changed {
				fmt.Fprintf(&b, "[%s]", p.Text)
			} else {
				b.WriteString(p.Text)
			}
		}
		return b.String()
	}
	long := strings.Repeat("a ", mostWords)
	for _, test := range [][4]string{
		{"A boat in a harbour", "A red boat in the harbour", "A boat in [a] harbour", "A [red ]boat in [the] harbour"},
		{"", "A quay.", "", "[A quay.]"},
		{"A quay.", "", "[A quay.]", ""},
		{"same", "same", "same", "same"},
		{"one, two", "one; two", "one[,] two", "one[;] two"},
		{"der Kai", "der Käi", "der [Kai]", "der [Käi]"},
		{long, long, "[" + long + "]", "[" + long + "]"}, // too much to compare
	} {
		before, after := marked(test[0], test[1])
		if show(before) != test[2] || show(after) != test[3] {
			t.Errorf("%.30q to %.30q: %.60q, %.60q", test[0], test[1], show(before), show(after))
		}
	}
}

func TestPageForbidsWhatItDoesNotNeed(t *testing.T) {
	page := htmlOf(t, samples())
	for _, want := range []string{
		"default-src &#39;none&#39;", "img-src data: https://assets.example.com;", "style-src &#39;sha256-", "script-src &#39;sha256-",
		"&lt;script&gt;alert(1)&lt;/script&gt;.png", `data-file="decisions-20260102-030405.jsonl"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, not := range []string{`"javascript:`, "unsafe-inline", "<script>alert"} {
		if strings.Contains(page, not) {
			t.Errorf("there is %s", not)
		}
	}
	inline := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(inline) != 1 || inline[0][1] != script {
		t.Errorf("%d scripts, or another one than the policy allows", len(inline))
	}
}

func TestPageTakesItsPicturesFromImagesOnly(t *testing.T) {
	for url, want := range map[string]bool{
		"data:image/png;base64,AAAA": true, "https://a.example/b.png": true, "http://127.0.0.1:8080/b.png": true,
		"data:text/html,x": false, "javascript:alert(1)": false, "file:///etc/passwd": false, "//a.example/b.png": false, "https://a;b/c": false, "": false,
	} {
		if got := pictureURL(url) != ""; got != want {
			t.Errorf("%q: %v", url, got)
		}
	}
}

func TestPageIsOfLimitedLength(t *testing.T) {
	many := make([]Row, MostOnPage+3)
	for i := range many {
		many[i] = Row{ID: fmt.Sprint(i), Name: "n", State: proposed, New: Text{Description: "d"}}
	}
	page := htmlOf(t, many)
	if got := strings.Count(page, "<article "); got != MostOnPage || !strings.Contains(page, `<data value="3">3</data> more proposals are not on this page`) {
		t.Errorf("%d proposals", got)
	}
	if page := htmlOf(t, nil); !strings.Contains(page, "There are no proposals.") {
		t.Error("an empty page does not say so")
	}
}

func BenchmarkWriteHTML(b *testing.B) {
	many := make([]Row, MostOnPage)
	for i := range many {
		many[i] = samples()[i%len(samples())]
	}
	for b.Loop() {
		if err := WriteHTML(io.Discard, head(), each(many)); err != nil {
			b.Fatal(err)
		}
	}
}
