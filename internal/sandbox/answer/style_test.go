package answer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStyleOf(t *testing.T) {
	for _, test := range []struct {
		texts []string
		want  Style
	}{
		{nil, Style{}},
		{[]string{"Be brief."}, Style{}},
		{[]string{"Alternative texts have at most 90 characters.", "No more than 60 characters, please."}, Style{most: 60}},
		{[]string{`Begin every text with "Photo:". Never begin with "Image of". End it with "(c)".`}, Style{begin: "Photo: ", end: "(c)"}},
		{[]string{`Do not begin with "Image of".`}, Style{}},
		{[]string{"We write in German.", "We write in French."}, Style{in: "de"}},
	} {
		if got := StyleOf(test.texts); got != test.want {
			t.Errorf("%q: got %+v, want %+v", test.texts, got, test.want)
		}
	}
}

func TestHouseStyle(t *testing.T) {
	s := StyleOf([]string{`Begin every text with "Photo: " and write in German, at most 60 characters.`})
	const page = `<p data-id="a">A boat that is lying in the harbour at dusk, with a red sail &amp; two people on it.</p><p data-id="b">A <b>dog</b>.</p>`
	alts := s.Process("Give each img an alt.", []string{`<img src="a.jpg"><p>Boats</p>`}, nil)[0].Document
	var reviewed []string
	for _, suggestion := range s.Review("correctness", nil, page) {
		reviewed = append(reviewed, suggestion.HTML)
	}
	for what, got := range map[string]string{
		"a reply":         s.Reply("What is this?", nil, nil),
		"an alt":          s.Reply("Answer with a JSON object with the key alt.", []Attachment{{Type: "text/plain", Data: []byte("Boats.")}}, nil),
		"an action":       s.Act("fix-grammar", nil, page),
		"a custom action": s.ActCustom("Make it nicer.", page, "html"),
		"a review":        strings.Join(reviewed, ""),
		"a document":      alts,
	} {
		if !strings.Contains(got, "[de] Photo: ") {
			t.Errorf("%s is %q", what, got)
		}
	}
	if got := s.Reply("What is this?", nil, nil); utf8.RuneCountInString(got) > 60 || !strings.Contains(got, Mark) {
		t.Errorf("got %q", got)
	}
	if got := s.Act("translate", map[string]string{"language": "French"}, page); !strings.Contains(got, "[fr] Photo: A boat") || strings.Contains(got, "[de]") {
		t.Errorf("a translation names its language: got %q", got)
	}
	if want := `<p data-id="b">[de] Photo: A <b>dog</b>.</p>`; !strings.Contains(s.Act("fix-grammar", nil, page), want) {
		t.Errorf("got %q, want %q in it", s.Act("fix-grammar", nil, page), want)
	}
	if got := s.Act("fix-grammar", nil, s.Act("fix-grammar", nil, page)); got != s.Act("fix-grammar", nil, page) {
		t.Errorf("once more: got %q", got)
	}
	if got := StyleOf([]string{"At most 5 characters."}).Reply("What is this?", nil, nil); !strings.Contains(got, Mark) {
		t.Errorf("nothing says that %q is made up", got)
	}
}
