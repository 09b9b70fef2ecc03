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

// What is wrong with a header is told by its line, and never repeated.
func TestParseHeadersRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "there is no header in it",
		"# nothing\n":                  "there is no header in it",
		"Cookie: a\nhush-hush":         "line 2 is not of the form Name: value",
		"hush hush: a":                 "line 1 is not of the form Name: value",
		": hush-hush":                  "line 1 is not of the form Name: value",
		"Cookie:  ":                    "line 1 has no value",
		"Cookie: hush\x00hush":         "line 1 has a control character in its value",
		"\nrange: bytes=0-hush":        "line 2: Range cannot be set, it belongs to the request",
		"Host: hush.example.com":       "line 1: Host cannot be set, it belongs to the request",
		"Transfer-Encoding: hush-hush": "line 1: Transfer-Encoding cannot be set, it belongs to the request",
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
