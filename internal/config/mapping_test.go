package config

import (
	"strings"
	"testing"

	"assetferry/internal/mapping"
)

const mapped = `
unsupported: skip
mapping:
  rules:
    - when: ext == "jpg"
      folder: pictures
jobs:
  plain: {source: photos}
  other:
    source: films
    mapping:
      rules:
        - folder: films
        - skip: true
`

// folderUnder returns the folder of an object under the effective mapping.
func folderUnder(t *testing.T, flags map[string][]string) (folder, effect string) {
	t.Helper()
	s := mustLoad(t, mapped, flags, nil)
	p, _, err := s.NewMapping().Place(mapping.Object{Key: "a.jpg"}, mapping.Place{Name: "a.jpg"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Effects() {
		if e.Name == "mapping" {
			effect = e.Value + ", " + e.From
		}
	}
	return p.Folder, effect
}

func TestMapping(t *testing.T) {
	for _, tt := range []struct{ job, folder, effect string }{
		{"", "pictures", "1 rule, " + DefaultFile},
		{"plain", "pictures", "1 rule, " + DefaultFile},
		{"other", "", `2 rules, job "other" in ` + DefaultFile},
	} {
		flags := map[string][]string{}
		if tt.job != "" {
			flags["job"] = []string{tt.job}
		}
		if folder, effect := folderUnder(t, flags); folder != tt.folder || effect != tt.effect {
			t.Errorf("job %q: folder %q, effect %q", tt.job, folder, effect)
		}
	}
}

// TestMappingMistakes verifies that an error in a mapping is reported even if no job uses the
// mapping. Otherwise a scheduled run would be the first to report it.
func TestMappingMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"mapping:\n  rules:\n    - folder: ${ captoin }\n":                              `assetferry.yaml:3:18: unknown name "captoin"; did you mean "caption"?`,
		"jobs:\n  j:\n    source: x\n    mapping:\n      rules:\n        - fodler: x\n": `assetferry.yaml:6:11: unknown key "fodler"; did you mean "folder"?`,
		"gps: maybe\n":              `gps: "maybe" is not one of keep, drop`,
		"precedence: [exif, xpm]\n": `precedence: unknown metadata source "xpm": use table`,
	} {
		_, err := load(t, text, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
