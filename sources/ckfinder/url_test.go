package ckfinder_test

import (
	"strings"
	"testing"

	"assetferry/sources/ckfinder"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"ckfinder+https://www.example.com/ckfinder/connector":                     "",
		"ckfinder+http://127.0.0.1:8080/index.php?route=a/b":                      "ckfinder+http://127.0.0.1:8080/index.php?route=a%2Fb",
		"ckfinder+https://WWW.example.com/c":                                      "ckfinder+https://www.example.com/c",
		"ckfinder+https://www.example.com/c?type=Images":                          "ckfinder+https://www.example.com/c?type=Images&currentFolder=%2F",
		"ckfinder+https://www.example.com/c?currentFolder=a b&type=Images":        "ckfinder+https://www.example.com/c?type=Images&currentFolder=%2Fa+b%2F",
		"ckfinder+https://www.example.com/c?type=Images&currentFolder=%2Fa%2Bb/c": "ckfinder+https://www.example.com/c?type=Images&currentFolder=%2Fa%2Bb%2Fc%2F",
	} {
		a, err := ckfinder.ParseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want == "" {
			want = text
		}
		if a.String() != want {
			t.Errorf("%s became %s, want %s", text, a, want)
		}
		if again, err := ckfinder.ParseURL(a.String()); err != nil || again.String() != want {
			t.Errorf("%s is read as %s, %v", a, again, err)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"ckfinder://www.example.com/c":                                     "must begin with ckfinder+https://",
		"https://www.example.com/c":                                        "must begin with ckfinder+https://",
		"ckfinder+https:///c":                                              "the host is missing",
		"ckfinder+https://user:hush@www.example.com/c":                     "a user name or password",
		"ckfinder+https://www.example.com/c?command=Init":                  "the parameter command",
		"ckfinder+https://www.example.com/c?type=a&hash=hush":              "the parameter hash",
		"ckfinder+https://www.example.com/c?currentFolder=/a/":             "no type",
		"ckfinder+https://www.example.com/c?type=a/b":                      "has a slash",
		"ckfinder+https://www.example.com/c?type=a&currentFolder=/b/../c/": `"." or ".." segment`,
		"ckfinder+https://www.example.com/c?type=a&currentFolder=/b//c/":   "an empty",
		"ckfinder+https://www.example.com/c?type=%ff":                      "not valid UTF-8",
		"ckfinder+https://www.example.com/c?type=%zz":                      "invalid parameters",
		"ckfinder+https://www.example.com/c#hush":                          "fragment (#)",
		"ckfinder+https://www.exa mple.com/hush":                           "not valid",
	} {
		_, err := ckfinder.ParseURL(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
