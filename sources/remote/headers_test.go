package remote

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestParseHeaders(t *testing.T) {
	h, err := ParseHeaders("# from the browser\n\ncookie: PHPSESSID=hush-hush; lang=en\r\nAuthorization: Bearer quiet-quiet\nX-Two: a\nX-Two: b\n")
	if err != nil {
		t.Fatal(err)
	}
	all := h.all()
	if got := all.Get("Cookie"); got != "PHPSESSID=hush-hush; lang=en" {
		t.Errorf("cookie %q", got)
	}
	if got := all.Values("X-Two"); len(got) != 2 {
		t.Errorf("two headers of a name became %q", got)
	}
	if h.IsZero() || !(Headers{}).IsZero() {
		t.Error("IsZero is wrong")
	}
}

// TestParseHeadersRefuses verifies that an error about a header names its line and never contains
// its text.
func TestParseHeadersRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "there are no headers",
		"# nothing\n":                  "there are no headers",
		"Cookie: a\nhush-hush":         "line 2 must have the form Name: value",
		"hush hush: a":                 "line 1 must have the form Name: value",
		": hush-hush":                  "line 1 must have the form Name: value",
		"Cookie:  ":                    "line 1 has no value",
		"Cookie: hush\x00hush":         "line 1 has a control character in its value",
		"\nrange: bytes=0-hush":        "line 2: the header Range cannot be set",
		"Host: hush.example.com":       "line 1: the header Host cannot be set",
		"Transfer-Encoding: hush-hush": "line 1: the header Transfer-Encoding cannot be set",
	} {
		if _, err := ParseHeaders(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestHeadersAreNotPrinted(t *testing.T) {
	h, err := ParseHeaders("Cookie: hush-hush")
	if err != nil {
		t.Fatal(err)
	}
	encoded, _ := json.Marshal(struct{ H Headers }{h})
	for _, text := range []string{h.String(), fmt.Sprintf("%v %+v %#v %s %x", h, h, h, h, h), fmt.Sprintf("%+v", Options{Headers: h}), fmt.Sprintf("%#v", struct{ h Headers }{h}), string(encoded), h.LogValue().String()} {
		if strings.Contains(text, "hush") {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestWithBasicAuth(t *testing.T) {
	before, err := ParseHeaders("X-A: b\nAuthorization: Bearer other")
	if err != nil {
		t.Fatal(err)
	}
	h := before.WithBasicAuth("jo", "hush hush")
	if got := h.all(); got.Get("X-A") != "b" || len(got["Authorization"]) != 1 || got.Get("Authorization") != "Basic am86aHVzaCBodXNo" {
		t.Errorf("headers are %v", got)
	}
	if before.all().Get("Authorization") != "Bearer other" || (Headers{}).WithBasicAuth("jo", "x").IsZero() {
		t.Error("the headers before changed, or there are none")
	}
}
