package rewrite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// pieces lists the parts of the texts of the fuzz target.
var pieces = []string{
	"https:", "http:", "//", "/", `\/\/`, `\/`, `\\/`, `\\\/`, "cdn.example.com", "/img/", `\/img\/`, "a.jpg", "b c.jpg", "b%20c.jpg", "dir/d(1).jpg",
	"https://cdn.example.com/img/a.jpg", `https:\/\/cdn.example.com\/img\/a.jpg`, "https%3A%2F%2Fcdn.example.com%2Fimg%2Fa.jpg", "//cdn.example.com/img/gone.jpg",
	"/wp-content/uploads/a.jpg", "/files/e.png", `\u002F`, "&#x2F;", "&#47;", "%2F", "%252F", "files", "e.png", "static.example.com:8080/a.jpg", "?ver=3", "&amp;x=1", "#top",
	"?id=3&w=4", "show.php", `"`, `\"`, `\\\"`, "'", `\'`, "''", " ", ", ", ";", ")", "(", "[", "]", "<", ">", "\n", `\n`, "é", `\u00e9`, "Åse.jpg", `\u0022`, "&quot;", "%22",
	`\(`, `\)`, `\_`, `\ `, `\:`, `\u003A`, `d\(1\).jpg`, `S:33:"`, `\e9`, "S:",
	"s:", "s%3A", "33", "37", "5", ":", `s:33:"`, `";`, `s:33:\"`, `\";`, "%3B", "a", "z", ".", "srcset=", " 1x, ", "1", "\xff", "%", "\\", "&", "}",
	"https://ckbox.cloud/env/assets/a/file", "https://web.archive.org/",
}

// oddPieces lists the parts of URLs in oddLibrary.
var oddPieces = append(slices.Clone(pieces),
	"/logo.png", `\/logo.png`, "logo.png", "/f/", "/F/", "%2ff%2F", "%252ff%252fe.png", "&sol;f&sol;e.png", `\u002Ff\u002Fe.png`, "/f/e.png", "f/e.png",
	"(old)", "/(old)/e.png", "%28old%29", "/%28old%29/e.png", "%2F%28old%29%2Fe.png", "%2528old%2529", "%252F%2528old%2529%252Fe.png", `/\(old\)/e.png`,
	"/å/", "/%C3%A5/e.png", "%2F%C3%A5%2Fe.png", "/a\u030a/e.png", "å", "//h/", "//h/e.png", "https://h/e.png", "https%3A%2F%2Fh%2Fe.png",
)

// oddLibrary returns old URLs with short words, with words of several spellings, and in the root.
func oddLibrary() (rows []Row) {
	for n, old := range []string{"/logo.png", "/f/e.png", "/(old)/e.png", "/%C3%A5/e.png", "https://h/e.png", "https://cdn.example.com/img/a.jpg"} {
		rows = append(rows, Row{Old: old, New: asset(fmt.Sprint(n))})
	}
	return rows
}

// textOf returns a text of pieces.
func textOf(choice []byte) string { return textWith(pieces, choice) }

func textWith(pieces []string, choice []byte) string {
	var b strings.Builder
	for _, c := range choice {
		b.WriteString(pieces[int(c)%len(pieces)])
	}
	return b.String()
}

// wrapped returns a serialized string with a text as its content.
func wrapped(text string) string {
	return fmt.Sprintf(`a:1:{i:0;s:%d:"%s";}`, len(text), text)
}

// escaped returns a text escaped for SQL.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`, "\n", `\n`).Replace(text)
}

func FuzzRewrite(f *testing.F) {
	c := newChecker(f, library())
	f.Add([]byte("0123456789"), "")
	f.Add([]byte{15, 0}, "https://cdn.example.com/img/a.jpg")
	f.Fuzz(func(t *testing.T, choice []byte, raw string) {
		if len(choice) > 200 || len(raw) > 2000 {
			return
		}
		text := textOf(choice) + raw
		for _, in := range []string{text, wrapped(text), escaped(wrapped(wrapped(text)))} {
			c.check(t, in)
		}
	})
}

// FuzzOdd is FuzzRewrite for URLs that are hard to find.
func FuzzOdd(f *testing.F) {
	c := newChecker(f, oddLibrary())
	f.Add([]byte("0123456789"), "")
	f.Add([]byte{80, 0}, "/(old)/e.png")
	f.Fuzz(func(t *testing.T, choice []byte, raw string) {
		if len(choice) > 200 || len(raw) > 2000 {
			return
		}
		text := textWith(oddPieces, choice) + raw
		for _, in := range []string{text, wrapped(text), escaped(wrapped(wrapped(text)))} {
			c.check(t, in)
		}
	})
}

// A checker checks the rewriter with texts.
type checker struct {
	*Rewriter
	*reference
}

func newChecker(tb testing.TB, rows []Row) checker {
	r, _ := newRewriter(tb, rows)
	return checker{r, newReference(rows)}
}

// check compares the result of the rewriter with that of the reference, with its result for smaller
// parts of the text, and with the result of a second rewrite.
func (c checker) check(t *testing.T, in string) {
	t.Helper()
	r := c.Rewriter
	want := c.reference.rewrite(in, 0)
	got := rewritten(t, r, strings.NewReader(in)).String()
	if got != want {
		t.Errorf("%q\n got %q\nwant %q", in, got, want)
	}
	if again := rewritten(t, r, strings.NewReader(got)).String(); again != got {
		t.Errorf("%q\n     once %q\nand again %q", in, got, again)
	}
	if byBytes := rewritten(t, r, iotest.OneByteReader(strings.NewReader(in))).String(); byBytes != got {
		t.Errorf("%q\n    as one %q\nby bytes %q", in, got, byBytes)
	}
}

// TestReference runs a part of the fuzz targets with random texts.
func TestReference(t *testing.T) {
	for name, of := range map[string]struct {
		rows   []Row
		pieces []string
	}{"library": {library(), pieces}, "odd": {oddLibrary(), oddPieces}} {
		c := newChecker(t, of.rows)
		for seed := range uint64(500) {
			random := rand.New(rand.NewPCG(seed, 0))
			choice := make([]byte, 1+random.IntN(12))
			for i := range choice {
				choice[i] = byte(random.UintN(256))
			}
			text := textWith(of.pieces, choice)
			for _, in := range []string{text, wrapped(text), escaped(wrapped(wrapped(text)))} {
				c.check(t, in)
			}
			if t.Failed() {
				t.Fatalf("%s: seed %d", name, seed)
			}
		}
	}
}
