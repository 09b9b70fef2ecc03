package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"assetferry/internal/oldurl"
)

const withOldURLs = `
addresses:
  - https://cdn.example.com/${path}
  - {address: "https://cdn.example.com/w_${width}/${path}", widths: [320, 640]}
jobs:
  plain: {source: photos}
  other:
    source: films
    addresses: /uploads/${folder}/${name}
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
			if e.Name == "addresses" {
				effect = e.Value + ", " + e.From
			}
		}
		if got := fmt.Sprint(s.OldURLs); got != tt.oldURLs || effect != tt.effect {
			t.Errorf("job %q: addresses %s, effect %q", tt.job, got, effect)
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
		"addresses:\n  - /files/${key}\n":                                      "assetferry.yaml:2:12: unknown placeholder ${key}",
		"addresses: /files/${name}\n":                                          "assetferry.yaml:1:12: the folder is missing",
		"addresses:\n  - widths: [1]\n":                                        "assetferry.yaml:2:5: address is missing",
		"addresses:\n  - address: /${path}\n    width: 3\n":                    `assetferry.yaml:3:5: unknown key "width"; did you mean "widths"?`,
		"addresses:\n  - {address: \"/${width}/${path}\", widths: [320, 0]}\n": `:2:50: "0" is no width`,
		"addresses:\n  - {address: \"/${width}/${path}\", widths: [32, 32]}\n": `:2:49: the width 32 is there twice`,
		"addresses:\n  - {address: \"/${width}/${path}\", widths: 320}\n":      `takes a list of numbers`,
		"addresses:\n  - {address: \"/${width}/${path}\", widths: []}\n":       `takes a list of numbers`,
		"addresses:\n  - {address: /x/}\n":                                     `:2:15: it does not identify an object`,
		"addresses:\n  - [a]\n":                                                `an address is expected here`,
		"addresses:\n  - /${path}\n  - /${path}\n":                             `:3:5: this address is there twice`,
		"jobs:\n  j:\n    source: x\n    addresses: [files]\n":                 `:4:17: it must begin with https://`,
		"addresses:\n  - https://anna:secret@cdn.example.com/${path}\n":        `a user name or password is not allowed`,
		"addresses:\n  - {address: \"/${path}\", widths: [320]}\n":             `widths need ${width}`,
		"addresses:\n  - {address: \"/${height}/${path}\"}\n":                  `${height} needs ${width}`,
	} {
		_, err := load(t, text, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
