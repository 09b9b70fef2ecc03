package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"assetferry/internal/oldurl"
)

const withOldURLs = `
old_urls:
  - https://cdn.example.com/${path}
  - {url: "https://cdn.example.com/w_${width}/${path}", widths: [320, 640]}
jobs:
  plain: {source: photos}
  other:
    source: films
    old_urls: /uploads/${folder}/${name}
`

func TestOldURLs(t *testing.T) {
	for _, tt := range []struct{ job, oldURLs, effect string }{
		{"", "[https://cdn.example.com/${path} https://cdn.example.com/w_${width}/${path}]", "2 templates, " + DefaultFile},
		{"plain", "[https://cdn.example.com/${path} https://cdn.example.com/w_${width}/${path}]", "2 templates, " + DefaultFile},
		{"other", "[/uploads/${folder}/${name}]", `1 template, job "other" in ` + DefaultFile},
	} {
		flags := map[string][]string{}
		if tt.job != "" {
			flags["job"] = []string{tt.job}
		}
		s := mustLoad(t, withOldURLs, flags, nil)
		effect := ""
		for _, e := range s.Effects() {
			if e.Name == "old_urls" {
				effect = e.Value + ", " + e.From
			}
		}
		if got := fmt.Sprint(s.OldURLs); got != tt.oldURLs || effect != tt.effect {
			t.Errorf("job %q: old URLs %s, effect %q", tt.job, got, effect)
		}
	}
	want, err := oldurl.ParseTemplate("https://cdn.example.com/w_${width}/${path}", []int{320, 640})
	if err != nil {
		t.Fatal(err)
	}
	if s := mustLoad(t, withOldURLs, nil, nil); !reflect.DeepEqual(s.OldURLs[1], want) {
		t.Errorf("got %+v, want %+v", *s.OldURLs[1], *want)
	}
}

func TestOldURLMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"old_urls:\n  - /files/${key}\n":                                  "assetferry.yaml:2:12: unknown placeholder ${key}",
		"old_urls: /files/${name}\n":                                      "assetferry.yaml:1:11: the folder is missing",
		"old_urls:\n  - widths: [1]\n":                                    "assetferry.yaml:2:5: url is missing",
		"old_urls:\n  - url: /${path}\n    width: 3\n":                    `assetferry.yaml:3:5: unknown key "width"; did you mean "widths"?`,
		"old_urls:\n  - {url: \"/${width}/${path}\", widths: [320, 0]}\n": `:2:46: "0" is not a width`,
		"old_urls:\n  - {url: \"/${width}/${path}\", widths: [32, 32]}\n": `:2:45: the width 32 appears twice`,
		"old_urls:\n  - {url: \"/${width}/${path}\", widths: 320}\n":      `takes a list of numbers`,
		"old_urls:\n  - {url: \"/${width}/${path}\", widths: []}\n":       `takes a list of numbers`,
		"old_urls:\n  - {url: /x/}\n":                                     `:2:11: it does not identify an object`,
		"old_urls:\n  - [a]\n":                                            `a URL is expected here`,
		"old_urls:\n  - /${path}\n  - /${path}\n":                         `:3:5: this URL appears twice`,
		"jobs:\n  j:\n    source: x\n    old_urls: [files]\n":             `:4:16: it must begin with https://`,
		"old_urls:\n  - https://anna:secret@cdn.example.com/${path}\n":    `a user name or password is not allowed`,
		"old_urls:\n  - {url: \"/${path}\", widths: [320]}\n":             `widths need ${width}`,
		"old_urls:\n  - {url: \"/${height}/${path}\"}\n":                  `${height} needs ${width}`,
	} {
		_, err := load(t, text, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
