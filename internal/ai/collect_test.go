package ai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func event(name string, fields map[string]any) string {
	data, _ := json.Marshal(fields)
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, data)
}

func text(s string) string { return event("text-delta", map[string]any{"textDelta": s}) }
func modification(s string) string {
	return event("modification-delta", map[string]any{"id": "1", "textDelta": s})
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		reply        string // reply to a message; empty: an error
		action       string
	}{
		{"parts", text("a ") + text("") + text("b"), "a b", "a b"},
		{"modifications", modification("<p>") + modification("x"), "", "<p>x"},
		{"both", text("a") + modification("b"), "a", "ab"},
		{"nothing", "", "", ""},
		{"blank", text(" \n"), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := serve(t, Options{}, events(c.stream))
			got, err := Text(send(t, client))
			if got != c.reply || errors.Is(err, ErrEmpty) != (c.reply == "") || errors.Is(err, ErrMayBeBilled) {
				t.Errorf("reply: got %q, %v", got, err)
			}
			s, err := client.Action(t.Context(), "make-shorter", "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Text(s); got != c.action || (err == nil) != (c.action != "") {
				t.Errorf("action: got %q, %v", got, err)
			}
		})
	}
	_, err := Text(send(t, serve(t, Options{}, events(text("a")+event("error", nil)))))
	if _, ok := errors.AsType[*StreamError](err); !ok {
		t.Errorf("got %v", err)
	}
}

func TestTextTooLong(t *testing.T) {
	part := text(strings.Repeat("x", 1<<20))
	_, err := Text(send(t, serve(t, Options{}, events(strings.Repeat(part, maxText>>20+1)))))
	if !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestSuggestions(t *testing.T) {
	suggest := func(id, text string) string {
		return event("review-delta", map[string]any{"dataId": id, "textDelta": text})
	}
	c := serve(t, Options{}, events(event("review-metadata", map[string]any{"callId": "1"})+
		suggest("1", `<p data-id="1">New `)+suggest("2", "plain")+suggest("1", "text.</p>")+suggest("3", "<p>not the element</p>")))
	s, err := c.Review(t.Context(), "clarity", "<p>", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Suggestions(s)
	want := map[string]string{"1": "New text.", "2": "plain", "3": "<p>not the element</p>"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestInner(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"text":                                 "text",
		`<p data-id="1">a <b>c</b></p>`:        "a <b>c</b>",
		"\n<P class='x' data-id='1'>a</P>\n":   "a",
		`<p data-id="1">a`:                     `<p data-id="1">a`,
		`<p data-id="2">a</p>`:                 `<p data-id="2">a</p>`,
		`<p>a</p>`:                             `<p>a</p>`,
		`<p data-id="1"></p>`:                  "",
		`<p data-id="1">a</p><p>b</p>`:         `<p data-id="1">a</p><p>b</p>`,
		`<div data-id="1"><div>a</div>b</div>`: "<div>a</div>b",
		`<p data-id="1">a</pre>`:               `<p data-id="1">a</pre>`,
		`<p data-id="1">x</p> and more`:        `<p data-id="1">x</p> and more`,
		`</p>`:                                 `</p>`,
	} {
		if got := inner(in, "1"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestStoredText(t *testing.T) {
	m := StoredMessage{Content: []StoredContent{{Type: "text", Content: "a"}, {Type: "url", URL: "u"}, {Type: "modification", Content: "m"}, {Type: "text", Content: "b"}}}
	if got := m.Text(); got != "ab" {
		t.Errorf("got %q", got)
	}
}
