package enrich

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestProposalOf(t *testing.T) {
	many := `"` + strings.Join(strings.Fields("a b c d e f g h i j k l m n o p q r s t u v"), `","`) + `"`
	for _, tt := range []struct {
		name, reply, text string
		tags              []string
		problem           string // in the error
	}{
		{"plain", `{"alt": "A dog", "tags": ["dog", "beach"], "decorative": false}`, "A dog", []string{"dog", "beach"}, ""},
		{"a fence", "Here:\n```json\n{\"alt\": \"A dog\"}\n```\nDone {really}.", "A dog", nil, ""},
		{"another object before", `{"thought": {"alt": 1}} {"alt": "A dog"}`, "", nil, "alt is not a string"},
		{"braces before", `{ not json } {{{"alt": "A dog"}`, "A dog", nil, ""},
		{"braces within", `{"alt": "A {curly} dog", "tags": []}`, "A {curly} dog", nil, ""},
		{"capitals", `{"Alt": "A dog", "TAGS": ["Dog"]}`, "A dog", []string{"Dog"}, ""},
		{"tags as a text", `{"alt": "A dog", "tags": "dog, beach,,dog"}`, "A dog", []string{"dog", "beach"}, ""},
		{"tags twice", `{"alt": "A dog", "tags": ["Dog", "dog", " #dog "]}`, "A dog", []string{"Dog"}, ""},
		{"many tags", `{"alt": "A dog", "tags": [` + many + `]}`, "A dog", strings.Fields("a b c d e f g h i j k l m n o p q r s t"), ""},
		{"lines", `{"alt": " A\n dog\t\u0007 ", "tags": null}`, "A dog", nil, ""},
		{"decorative", `{"alt": "", "decorative": true}`, "", nil, ""},
		{"decorative in quotes", `{"alt": null, "decorative": "True"}`, "", nil, ""},
		{"decorative all the same", `{"alt": "A line", "decorative": "true"}`, "", nil, ""},
		{"empty", `{"alt": " "}`, "", nil, "alt is empty"},
		{"too long", `{"alt": "` + strings.Repeat("é", 126) + `"}`, strings.Repeat("é", 126), nil, "alt has 126 characters"},
		{"wrong alt", `{"alt": ["A dog"]}`, "", nil, "alt is not a string"},
		{"wrong tags", `{"alt": "A dog", "tags": [1]}`, "A dog", nil, "tags is not a list of strings"},
		{"wrong decorative", `{"alt": "A dog", "decorative": 1}`, "A dog", nil, "decorative is not true or false"},
		{"cut off", `{"alt": "A dog", "tags": ["do`, "", nil, "no JSON"},
		{"nothing", ``, "", nil, "no JSON"},
		{"a list", `[{"alt": "A dog"}]`, "A dog", nil, ""},
		{"huge", strings.Repeat("{", maxReply+1), "", nil, "bytes"},
		{"nested", strings.Repeat("{", maxReply), "", nil, "no JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := proposalOf(tt.reply)
			if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
			if tt.problem == "" && (p.Text != tt.text || !slices.Equal(p.Tags, tt.tags)) {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func FuzzProposalOf(f *testing.F) {
	for _, seed := range []string{`{"alt": "A dog", "tags": ["dog"], "decorative": false}`, "```json\n{\"alt\":\"x\"}\n```", `{{"alt": `, `{"alt": "` + strings.Repeat("x ", 90) + `"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		p, err := proposalOf(reply)
		if long, ok := errors.AsType[*tooLongError](err); ok {
			if p = shortened(p); !strings.Contains(p.Note, "shortened from") || long.characters <= MaxAlt {
				t.Errorf("%q is shortened silently", p.Text)
			}
		} else if err != nil {
			return
		}
		if utf8.RuneCountInString(p.Text) > MaxAlt || !utf8.ValidString(p.Text) || p.Text != clean(p.Text) || p.Text == "" && !p.Decorative {
			t.Errorf("got %q of %q", p.Text, reply)
		}
		for _, tag := range p.Tags {
			if tag == "" || utf8.RuneCountInString(tag) > maxTagLength || len(p.Tags) > maxTags {
				t.Errorf("got tags %q", p.Tags)
			}
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}
