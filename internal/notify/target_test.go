package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"strings"
	"testing"
)

// interrupted returns the context of a run that was interrupted.
func interrupted(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]string{
		"https://hooks.example.com/" + secret:                        "all https://hooks.example.com",
		"https://user:" + secret + "@hooks.example.com:8443/?a=b":    "all https://hooks.example.com:8443",
		"failure=https://hooks.example.com/" + secret + "?key=value": "[failure] https://hooks.example.com",
		"start,success=http://localhost/a=b":                         "[start success] http://localhost",
		"":                                                           "the URL does not begin with https:// or http://",
		secret:                                                       "the URL does not begin with https:// or http://",
		"hooks.example.com/" + secret:                                "the URL does not begin with https:// or http://",
		"ftp://hooks.example.com/" + secret:                          "the URL does not begin with https:// or http://",
		"https:///" + secret:                                         "the URL has no host",
		"https://hooks.example.com/%" + secret:                       "the URL is not valid",
		"=https://hooks.example.com/" + secret:                       `the part before "=" is not a list of start, success and failure`,
		secret + "=https://hooks.example.com":                        `the part before "=" is not a list of start, success and failure`,
		"failure,=https://hooks.example.com":                         `the part before "=" is not a list of start, success and failure`,
	} {
		target, err := ParseTarget(text)
		got := "all " + target.String()
		if target.events != nil {
			got = fmt.Sprint(target.events) + " " + target.String()
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestShowsNothing formats a target with every verb, also within other values.
func TestShowsNothing(t *testing.T) {
	target := target(t, "https://user:"+secret+"@hooks.example.com/"+secret+"?"+secret)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, value := range []any{target, &target, []Target{target}, struct{ T Target }{target}} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s shows %s", verb, text)
			}
		}
	}
	for _, err := range []error{
		&url.Error{Op: "Post", URL: target.url.String(), Err: errors.New("no")},
		fmt.Errorf("post %s: no", target.url),
		fmt.Errorf("with %s: no", secret),
	} {
		if text := target.hide(err).Error(); strings.Contains(text, secret) || !strings.HasSuffix(text, "no") {
			t.Errorf("an error shows %s", text)
		}
	}
}
