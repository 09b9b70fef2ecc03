package answer

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// plain is the style without rules.
var plain Style

// picture returns a PNG of a size, with different colours above and below.
func picture(t testing.TB, width, height int, above, below color.Color) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.Draw(m, m.Rect, image.NewUniform(below), image.Point{}, draw.Src)
	draw.Draw(m, image.Rect(0, 0, width, height*2/3), image.NewUniform(above), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func slateAndSand(t testing.TB) Attachment {
	t.Helper()
	return Attachment{Name: "IMG_1234.png", Type: "image/png", Data: picture(t, 102, 68, color.NRGBA{105, 125, 150, 255}, color.NRGBA{215, 190, 140, 255})}
}

const germanJSON = `Describe the attached picture for people who cannot see it. Write in German (de).
Answer with one JSON object and nothing else: {"alt": string of at most 125 characters, "tags": ["...", "..."], "decorative": true or false}`

func TestReply(t *testing.T) {
	seen := "a landscape picture of 102 by 68 pixels, mostly slate blue and sand"
	report := Attachment{Name: "report.md", Type: "text/markdown", Data: []byte("# Annual report\n\nAll is well.")}
	spacer := Attachment{Name: "spacer.png", Type: "image/png", Data: picture(t, 4, 4, color.Black, color.Black)}
	for name, tt := range map[string]struct {
		prompt  string
		with    []Attachment
		history []string
		want    string
	}{
		"JSON in German": {germanJSON, []Attachment{slateAndSand(t)}, nil,
			`{"alt":"[de] Made up by the sandbox: ` + seen + `.","tags":["[de] made up","[de] landscape","[de] slate blue","[de] sand"],"decorative":false}`},
		"repaired": {"Your last answer was not one JSON object; answer with the JSON object only.", []Attachment{slateAndSand(t)}, []string{germanJSON, `What is in {"this"}?`},
			`{"alt":"[de] Made up by the sandbox: ` + seen + `.","tags":["[de] made up","[de] landscape","[de] slate blue","[de] sand"],"decorative":false}`},
		"decorative": {`Give JSON: {"alt","tags","decorative"}`, []Attachment{spacer}, nil, `{"alt":"","tags":["made up","square","black"],"decorative":true}`},
		"listed keys": {"Answer in JSON with the keys title, language and `width`.", []Attachment{slateAndSand(t)}, nil,
			`{"title":"IMG 1234 (made up by the sandbox)","language":"en","width":102}`},
		"other keys": {`JSON, please: {"mood": text, "people": number, "indoors": true|false, "things": [..]}`, []Attachment{slateAndSand(t)}, nil,
			`{"mood":"Made up by the sandbox: ` + seen + `, in a file called “IMG 1234”.","people":0,"indoors":false,"things":["made up","landscape","slate blue","sand"]}`},
		"no keys":     {"Answer in JSON", nil, nil, `{"answer":"Made up by the sandbox: there is nothing to describe."}`},
		"alt as text": {"Write an alternative text in French.", []Attachment{slateAndSand(t)}, nil, "[fr] Made up by the sandbox: " + seen + "."},
		"summary":     {"Summarise it", []Attachment{report}, nil, "Made up by the sandbox: in short, # Annual report All is well."},
		"chat": {"What  is\nthis?", []Attachment{slateAndSand(t), report}, nil,
			"Made up by the sandbox: this answers “What is this?”. The attachments are " + seen + "; a text that begins “# Annual report All is well.”."},
		"damaged": {`JSON {"alt"}`, []Attachment{{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\nno more")}}, nil, `{"alt":"Made up by the sandbox: a picture that cannot be read."}`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, plain.Reply(tt.prompt, tt.with, tt.history)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAsked(t *testing.T) {
	for prompt, want := range map[string]tongue{
		"Write in German (de).":                           "de",
		"Write alt and tags in the language (pt-BR).":     "pt-br",
		"Add texts in the language de.":                   "de",
		"Use the language: fr-CA":                         "fr-ca",
		"Translate it into Spanish, of a bridge in Paris": "es",
		"Add texts in the language of the document":       "en",
		"Describe it in English (en-GB).":                 "en-gb",
		"A bridge in Paris":                               "en",
	} {
		if got, _ := asked(prompt); got != want {
			t.Errorf("%s: got %s, want %s", prompt, got, want)
		}
	}
}

func TestAltIsShort(t *testing.T) {
	long := Attachment{Type: "text/plain", Data: []byte(strings.Repeat("a very long text ", 50))}
	for _, prompt := range []string{"alt text in German (de)", "alt text", "alt text in Chinese (zh-hant-tw)"} {
		alt := plain.Reply(prompt, []Attachment{long}, nil)
		if n := utf8.RuneCountInString(alt); n > 125 || n < 60 || !strings.Contains(alt, Mark) {
			t.Errorf("%d characters: %s", n, alt)
		}
	}
}

func TestJSONCanBeRead(t *testing.T) {
	text := Attachment{Type: "text/plain", Data: []byte("\"quoted\"\nand <b> \\ \xff\u2028")}
	var got map[string]any
	if err := json.Unmarshal([]byte(plain.Reply(`JSON {"alt", "description", "tags", "text"}`, []Attachment{text}, nil)), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 {
		t.Errorf("got %v", got)
	}
}

func TestAct(t *testing.T) {
	for name, tt := range map[string]struct{ action, language, content, want string }{
		"grammar":            {"fix-grammar", "", "i  recieve the the parcel with teh book", "I receive the parcel with the book."},
		"blanks":             {"fix-grammar", "", "A  b  c , d\nand  \nso  on", "A b c, d\nand  \nso on."},
		"names stay":         {"fix-grammar", "", "iPhone and example.com", "iPhone and example.com"},
		"tags stay":          {"fix-grammar", "", `<P  data-id='1' class=x>a  <B>seperate</B> roof</P ><!-- teh -->`, `<P  data-id='1' class=x>A  <B>separate</B> roof</P ><!-- teh -->`},
		"stops at the end":   {"fix-grammar", "", "<p>a house at the lake </p><h1>Lake</h1>", "<p>A house at the lake. </p><h1>Lake</h1>"},
		"translate":          {"translate", "German", `<p data-id="1">A <em>red</em> car &amp; more</p> <p data-id="2">B</p>`, `<p data-id="1">[de] A <em>red</em> car &amp; more</p> <p data-id="2">[de] B</p>`},
		"translate a text":   {"translate", "pt-BR", "A car\n", "[pt-br] A car\n"},
		"translate again":    {"translate", "fr", "[de] A car", "[fr] A car"},
		"translate nowhere":  {"translate", "", "A car", "[en] A car"},
		"shorter":            {"make-shorter", "", "<p>One is here. Two is there.</p>", "<p>One is here.</p>"},
		"shorter, one":       {"make-shorter", "", "One two three four five six seven, eight nine", "One two three four five."},
		"longer":             {"make-longer", "", "<p>A car</p>", "<p>A car. (Made up by the sandbox: more text would follow here.)</p>"},
		"continue":           {"continue", "", "A red car", "A red car Made up by the sandbox: the text would go on after “A red car”."},
		"continue HTML":      {"continue", "", "<p>A car</p>", "<p>A car</p><p>Made up by the sandbox: the text would go on after “A car”.</p>"},
		"improve":            {"improve-writing", "", "In order to see, utilize it", "To see, use it."},
		"casual":             {"make-tone-casual", "", "It is late.", "It's late."},
		"formal":             {"make-tone-formal", "", "DON'T go.", "DO NOT go."},
		"professional":       {"make-tone-professional", "", "Kids can't.", "Children cannot."},
		"direct":             {"make-tone-direct", "", "Maybe it works.", "It works."},
		"confident":          {"make-tone-confident", "", "It might work.", "It will work."},
		"friendly":           {"make-tone-friendly", "", "Contact us.", "Get in touch."},
		"nothing to correct": {"fix-grammar", "", "Made up by the sandbox: a square picture of 4 by 4 pixels.", "Made up by the sandbox: a square picture of 4 by 4 pixels."},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, plain.Act(tt.action, map[string]string{"language": tt.language}, tt.content)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestActCustom(t *testing.T) {
	for name, tt := range map[string]struct{ prompt, content, format, want string }{
		"capitals":  {"Put it in upper case", "<p>a &amp; b</p>", "html", "<p>A &amp; B</p><p>Made up by the sandbox: changed to capital letters.</p>"},
		"language":  {"Translate into Spanish", "a car", "plainText", "[es] a car\n\nMade up by the sandbox: marked as es."},
		"shorter":   {"Make it shorter", "<p>One. Two.</p>", "plainText", "One.\n\nMade up by the sandbox: cut to the first sentence of each block."},
		"text":      {"Correct it", "a < teh", "html", "<p>A &lt; the</p><p>Made up by the sandbox: corrected only, because no rule matches “Correct it”.</p>"},
		"JSON":      {`As JSON {"text": string}`, "<p>Hello <b>you</b></p>", "plainText", `{"text":"Hello you"}`},
		"expanding": {"Expand it", "Ours.", "plainText", "Ours. (Made up by the sandbox: more text would follow here.)\n\nMade up by the sandbox: made longer."},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, plain.ActCustom(tt.prompt, tt.content, tt.format)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const captions = `<p data-id="a">A good caption.</p>
<p data-id="b">a bad  caption, realy</p>
<p>teh third has no id</p><div data-id="c"><p data-id="d">teh nested one</p></div>
<p data-id="e">never closed, wich is bad<p data-id='f' >Fine</p>`

func TestReview(t *testing.T) {
	want := []Suggestion{
		{"b", `<p data-id="b">A bad caption, really.</p>`},
		{"c", `<div data-id="c"><p data-id="d">The nested one</p></div>`},
		{"e", `<p data-id="e">Never closed, which is bad.`},
	}
	if diff := cmp.Diff(want, plain.Review("correctness", nil, captions)); diff != "" {
		t.Error(diff)
	}
	translated := plain.Review("translate", map[string]string{"language": "fr"}, `<p data-id="x">A car</p><img data-id="y" alt="A">`)
	if diff := cmp.Diff([]Suggestion{{"x", `<p data-id="x">[fr] A car</p>`}}, translated); diff != "" {
		t.Error(diff)
	}
	if got := plain.Review("clarity", nil, `<p data-id="x">Walk in order to see.</p>`); len(got) != 1 || got[0].HTML != `<p data-id="x">Walk to see.</p>` {
		t.Errorf("got %v", got)
	}
}

func TestReviewCustom(t *testing.T) {
	want := []Suggestion{{"b", `<p data-id="b">A BAD CAR (Made up by the sandbox: changed to capital letters.)</p>`}}
	if diff := cmp.Diff(want, plain.ReviewCustom("capitals", `<p data-id="a">A</p><p data-id="b">A bad car</p>`)); diff != "" {
		t.Error(diff)
	}
}

func TestModerate(t *testing.T) {
	if got := Moderate("a sandbox-flag:violence b sandbox-flag:hate"); !cmp.Equal(got, []string{"hate", "violence"}) {
		t.Errorf("got %v", got)
	}
	if got := Moderate("violence in a sandbox-flag:unknown"); got != nil {
		t.Errorf("got %v", got)
	}
	if got := ModerateImage("sandbox-flag-selfHarm.png", []byte("\x89PNG tEXtComment\x00sandbox-flag:sexual")); !cmp.Equal(got, []string{"sexual", "selfHarm"}) {
		t.Errorf("got %v", got)
	}
}

func TestTokens(t *testing.T) {
	if got := Tokens("12345", []Attachment{slateAndSand(t), {Type: "text/plain", Data: []byte("1234")}}); got != 2+10+1 {
		t.Errorf("got %d", got)
	}
}

func TestTitle(t *testing.T) {
	if got := Title(" Describe\nit "); got != "Describe it" {
		t.Errorf("got %q", got)
	}
	if got := Title(strings.Repeat("word ", 50)); utf8.RuneCountInString(got) > 60 {
		t.Errorf("got %q", got)
	}
	if got := Title(""); got != "A conversation" {
		t.Errorf("got %q", got)
	}
}
