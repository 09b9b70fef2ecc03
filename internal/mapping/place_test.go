package mapping

import (
	"fmt"
	"strings"
	"testing"
)

// asText shows a place in one line.
func (p Place) asText() string {
	text := fmt.Sprintf("%s: %s/%s", p.Category, p.Folder, p.Name)
	if p.Private != nil {
		text += fmt.Sprintf(" private=%t", *p.Private)
	}
	if p.Skip {
		text = "skip"
	}
	return text
}

func TestPlaceByRules(t *testing.T) {
	long := strings.Repeat("long ", 60)
	for name, c := range map[string]struct{ rules, want, notes string }{
		"otherwise":         {"- description: x", "cat: archive/2019/Old Harbour.JPG", ""},
		"all":               {"- {category: Pictures, folder: a/b, name: quay, private: true}", "Pictures: a/b/quay.JPG private=true", ""},
		"prefix stripped":   {`- folder: ${ trimPrefix(folder, "archive/") }`, "cat: 2019/Old Harbour.JPG", ""},
		"to the top":        {`- folder: ${ trimPrefix(folder, "archive/2019") }`, "cat: /Old Harbour.JPG", ""},
		"flattened":         {"- folder: ${ flatten(folder) }", "cat: archive-2019/Old Harbour.JPG", ""},
		"by date":           {`- folder: ${ date(created, "YYYY/MM") }`, "cat: 2019/08/Old Harbour.JPG", ""},
		"by time":           {`- folder: ${ date(either(field("none"), time), "YYYY-MM-DD") }`, "cat: 2024-05-06/Old Harbour.JPG", ""},
		"by metadata":       {`- category: ${ field("category") }`, "Pictures: archive/2019/Old Harbour.JPG", ""},
		"no category":       {`- category: ${ field("none") }`, "cat: archive/2019/Old Harbour.JPG", ""},
		"slug":              {"- name: ${ slug(name) }", "cat: archive/2019/old-harbour.JPG", ""},
		"with extension":    {"- name: ${ name }.jpg", "cat: archive/2019/Old Harbour.JPG", ""},
		"other extension":   {"- name: a.png", "cat: archive/2019/a.png.JPG", ""},
		"slash in name":     {"- name: AC/DC", "cat: archive/2019/AC-DC.JPG", `name: "/" became "-"`},
		"clean folder":      {"- folder: ' /a // b/./../c/ '", "cat: a/b/c/Old Harbour.JPG", `folder: the segment "." is omitted; folder: the segment ".." is omitted`},
		"control":           {`- name: "a\tb"`, "cat: archive/2019/a b.JPG", "name: control characters became spaces"},
		"long name":         {"- name: " + long, "cat: archive/2019/" + strings.Repeat("long ", 50) + "long….JPG", "name: cut to 255 of 299 characters: the service accepts 256"},
		"skipped":           {"- skip: true", "skip", "skip: rule 1 at assetferry.yaml:3 skips the object"},
		"not skipped":       {"- {when: size > 2000000, skip: false}\n- skip: true", "cat: archive/2019/Old Harbour.JPG", ""},
		"private by text":   {`- private: ${ segment(folder, 1) == "archive" }`, "cat: archive/2019/Old Harbour.JPG private=true", ""},
		"private by nobody": {"- private: ${ headline }", "cat: archive/2019/Old Harbour.JPG", ""},
		"template export":   {"- use: export", "Pictures: /Old Harbour.JPG", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := mustMap(t, "rules:\n"+indented(c.rules), Options{})
			p, notes, err := m.Place(harbour(), Place{Category: "cat", Folder: "archive/2019", Name: "Old Harbour.JPG"})
			if err != nil || p.asText() != c.want {
				t.Errorf("got  %s, %v\nwant %s", p.asText(), err, c.want)
			}
			var shown []string
			for _, n := range notes {
				shown = append(shown, n.String())
			}
			if got := strings.Join(shown, "; "); got != c.notes {
				t.Errorf("notes %q, want %q", got, c.notes)
			}
		})
	}
}

func TestPrivateIsYesOrNo(t *testing.T) {
	m := mustMap(t, "rules:\n  - private: ${ title }", Options{})
	_, _, err := m.Place(harbour(), Place{Name: "x.jpg"})
	if want := `assetferry.yaml:3:16: private must be true or false, not "Harbour"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
