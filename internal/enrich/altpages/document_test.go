package altpages

import (
	"slices"
	"strings"
	"testing"
)

func mustParse(t testing.TB, text string) document {
	t.Helper()
	d, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParseFindsImagesWithoutAlt(t *testing.T) {
	for text, want := range map[string]int{
		`<p>no image</p>`: 0, `<img src=a>`: 1, `<IMG SRC="a"/>`: 1, `<img>`: 1, `<svg><img src="a"/></svg>`: 1, "<img\n\tsrc='a'\n>": 1,
		`<img src="a" alt="A quay">`: 0, `<img src="a" alt="">`: 0, `<img alt src=a>`: 0, `<img src="a" ALT='x'>`: 0,
		`<img src="a" role="presentation">`: 0, `<img src="a" role=none>`: 0, `<img src="a" aria-hidden="true">`: 0, `<img src="a" role="img">`: 1,
		`<!-- <img src=a> --><script>"<img src=a>"</script><noscript><img src=a></noscript><textarea><img src=a></textarea><template><img src=b></template>`: 1,
		`<img src="a" data-alt="x" title="alt=''">`: 1, `<image src="a">`: 0, `<imgs>`: 0,
	} {
		if got := mustParse(t, text).lacking(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]error{"caf\xe9": errNotUTF8, "<p>a</p><img src=\"a": errCut} {
		if _, err := parse(text); err != want {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

const page = "<!doctype html>\r\n<html><!-- a &amp; b -->\r\n<body class=x><h1>Caf&eacute; &nbsp;</h1>\r\n<img src=\"a.jpg\" width=3><IMG src='b.jpg' alt=\"The old one\"/>\r\n<p>And<br/>this: <img title=\"a > b\" src=\"c.jpg\" /></p></body></html>\r\n"

func TestAddedTakesAltsOnly(t *testing.T) {
	want := []Alt{{0, 4, "a.jpg", `A "quay" & more`}, {2, 5, "c.jpg", ""}}
	answered := strings.NewReplacer(`<img src="a.jpg" width=3>`, "<img alt='A \"quay\"\n &amp; more' src=a.jpg width=\"3\" />", `src="c.jpg" />`, `src="c.jpg" alt>`).Replace(page)
	d := mustParse(t, page)
	for name, answer := range map[string]string{
		"as it was sent": answered, "other ends of lines": strings.ReplaceAll(answered, "\r\n", "\n"), "without the last end": strings.TrimSpace(answered), "another alt that was there": strings.Replace(answered, "The old one", "A new one", 1),
	} {
		got, err := d.added(d.with(nil), answer)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	filled := d.fill(want)
	wantPage := strings.NewReplacer(`<img src="a.jpg"`, `<img alt="A &#34;quay&#34; &amp; more" src="a.jpg"`, `<img title=`, `<img alt="" title=`).Replace(page)
	if filled != wantPage {
		t.Errorf("got %q, want %q", filled, wantPage)
	}
}

func TestAddedRefusesEverythingElse(t *testing.T) {
	d := mustParse(t, page)
	replaced := func(old, new string) string {
		if !strings.Contains(page, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(page, old, new, 1)
	}
	for answer, want := range map[string]string{
		replaced("Caf&eacute;", "Café"):             "line 3: the answer changes more than alternative texts",
		replaced("<!-- a &amp; b -->", ""):          "line 2: the answer changes more",
		replaced("class=x", `class="x"`):            "line 3: the answer changes more",
		replaced("a.jpg", "d.jpg"):                  `line 4: the answer changes more than alternative texts: "<img src=\"a.jpg\" width=3>" became`,
		replaced("width=3", "width=3 onload=x()"):   "line 4: the answer changes more",
		replaced("<img src=\"a.jpg\" width=3>", ""): "line 4: the answer changes more",
		page + "<p>more":                            "the answer has additional content at the end",
		"```html\n" + page + "\n```":                "line 1: the answer changes more",
		page[:len(page)-20]:                         "the rest of the page is missing",
		page[:strings.Index(page, "<IMG")+5]:        "the answer cannot be parsed: the page ends within a tag",
		"":                                          "line 1: the rest of the page is missing",
		replaced("a.jpg\"", "a.jpg\" alt=\""+strings.Repeat("a", 1025)+`"`): "line 4: the answer has an alternative text of 1025 characters",
	} {
		if got, err := d.added(d.with(nil), answer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, %v, want %s", answer, got, err, want)
		}
	}
}

func TestWithOtherSources(t *testing.T) {
	d := mustParse(t, byteOrderMark+page)
	sent := d.with(map[int]string{2: "data:image/png;base64,AA=="})
	if want := strings.Replace(page, `<img title="a > b" src="c.jpg" />`, `<img title="a &gt; b" src="data:image/png;base64,AA=="/>`, 1); sent != want {
		t.Errorf("got %q, want %q", sent, want)
	}
	got, err := d.added(sent, strings.Replace(sent, `src="data`, `alt="C" src="data`, 1))
	if err != nil || !slices.Equal(got, []Alt{{2, 5, "c.jpg", "C"}}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if filled := d.fill(got); filled != byteOrderMark+strings.Replace(page, "<img title", `<img alt="C" title`, 1) {
		t.Errorf("got %q", filled)
	}
}

func FuzzAdded(f *testing.F) {
	f.Add(page, strings.Replace(page, "<img", "<img alt='A quay'", 1))
	f.Add("<img><img alt=x>", "<img alt=\x00><img>")
	f.Add("<p><img", "")
	f.Fuzz(func(t *testing.T, text, answer string) {
		d, err := parse(text)
		if err != nil {
			return
		}
		alts, err := d.added(d.with(nil), answer)
		if err != nil {
			return
		}
		filled := mustParse(t, d.fill(alts))
		if filled.lacking() != d.lacking()-len(alts) || len(filled.images) != len(d.images) {
			t.Fatalf("%q: %d images lack a text, %d did, %d were added", filled.text, filled.lacking(), d.lacking(), len(alts))
		}
		for _, a := range slices.Backward(alts) { // without the new texts it is the original page
			img := filled.images[a.Image]
			if got, _ := attribute(img.tag, "alt"); got != a.Text {
				t.Errorf("%q is %q in the page", a.Text, got)
			}
			tag := filled.text[img.start:img.end]
			_, rest, _ := strings.Cut(tag, `"`)
			_, rest, _ = strings.Cut(rest, `"`)
			filled.text = filled.text[:img.start] + tag[:len("<img")] + rest + filled.text[img.end:]
		}
		if filled.text != text {
			t.Errorf("got %q of %q", filled.text, text)
		}
	})
}
