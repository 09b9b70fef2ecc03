package mapping

import (
	"strings"
	"testing"
	"time"

	"assetferry/internal/metadata"
)

// on is the day of these tests. Its time and zone do not matter.
func on() Options {
	return Options{Today: time.Date(2026, 3, 15, 23, 59, 0, 0, time.FixedZone("", 14*3600))}
}

func expiring(text string) Object {
	return Object{Key: "a.jpg", Found: metadata.Found{metadata.FromTable: fields("License end", text)}}
}

func TestDates(t *testing.T) {
	for when, tt := range map[string]struct {
		text string
		want bool
	}{
		`expires < today`:                           {"2026-03-14", true},
		`expires < today and true`:                  {"2026-03-15", false}, // valid on its last day
		`expires < today or false`:                  {"2026:03:14 23:59:59", true},
		`expires<today`:                             {"20260314", true},
		`today > expires`:                           {"2026-03-14T23:00:00-12:00", true},
		`expires >= today && expires < today + 90`:  {"2026-06-12", true},
		`expires >= today and expires < today + 90`: {"2026-06-13", false},
		`expires <= today - 1`:                      {"2026-03-14", true},
		`expires == today`:                          {"2026-03-15T01:00:00+02:00", true},
		`expires != today`:                          {"2026-03-15", false},
		`expires < today or expires >= today or expires != today`: {"", false},
		`not has("expires")`:                                           {"", true},
		`day(expires, "DD.MM.YYYY") < today`:                           {"14.03.2026", true},
		`day(expires, "MM/DD/YY") > day("2026-03-31")`:                 {"04/01/26", true},
		`day(expires, "DD.MM.YYYY") < today ? true : false`:            {"", false},
		`day(field("expires")) + 365 > today`:                          {"2025-03-15", false},
		`any([expires], # < today)`:                                    {"2020-01-01", true},
		`size == 0 and name != "b" and expires + "x" == "2020x" `:      {"2020", true}, // texts and numbers as before
		`len(expires) > 3 and "a" < "b" and size + 1 > size and 1 < 2`: {"2020", true},
	} {
		m := mustMap(t, "columns: {License end: expires}\nrules:\n  - when: '"+when+"'\n    skip: true", on())
		p, _, err := m.Place(expiring(tt.text), Place{Name: "a.jpg"})
		if err != nil || p.Skip != tt.want {
			t.Errorf("%s of %q: got %v, %v, want %v", when, tt.text, p.Skip, err, tt.want)
		}
	}
}

// A date that cannot be read is an error of its object, with the position of the rule.
func TestWrongDates(t *testing.T) {
	for _, text := range []string{"soon", "31.12.2026", "12/31/2026", "2026-13-01", "2026"} {
		m := mustMap(t, "columns: {License end: expires}\nrules:\n  - when: expires < today\n    skip: true", on())
		_, _, err := m.Place(expiring(text), Place{Name: "a.jpg"})
		if err == nil || !strings.Contains(err.Error(), `"`+text+`" is not a date such as 2026-01-31`) || !strings.Contains(err.Error(), "assetferry.yaml:4:") {
			t.Errorf("%s: got %v", text, err)
		}
	}
	m := mustMap(t, "rules:\n  - when: day(field(\"e\"), \"DD.MM.YYYY\") < today\n    skip: true", on())
	o := Object{Key: "a.jpg", Found: metadata.Found{metadata.FromTable: fields("e", "2026-01-31")}}
	if _, _, err := m.Place(o, Place{Name: "a.jpg"}); err == nil || !strings.Contains(err.Error(), `"2026-01-31" is not a date in the form DD.MM.YYYY`) {
		t.Errorf("got %v", err)
	}
}

// Mistakes that concern all objects are found when the configuration is read.
func TestWrongDateRules(t *testing.T) {
	for when, want := range map[string]string{
		`day(expires, "D.M.Y") < today`: "is not the form of a date",
		`today < 3`:                     "mismatched types",
		`today + today < today`:         "mismatched types",
		`__less(today, today)`:          "",
		`expires < todai`:               `unknown name "todai"; did you mean "today"?`,
		`today()`:                       "today is not a function",
	} {
		if _, err := parse("rules:\n  - when: '" + when + "'\n    skip: true"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", when, err, want)
		}
	}
}

func TestToday(t *testing.T) {
	m := mustMap(t, "rules:\n  - attributes: {checked: '${ today }', until: '${ day(field(\"License end\")) + 1 }', none: '${ day(\"\") }'}", on())
	said, _, err := m.Describe(expiring("2026-03-31"))
	if err != nil || said.Attributes["checked"] != "2026-03-15" || said.Attributes["until"] != "2026-04-01" || said.Attributes["none"] != "" {
		t.Errorf("got %v, %v", said.Attributes, err)
	}
	if !m.UsesToday() || mustMap(t, "rules:\n  - add_tags: today", Options{}).UsesToday() || (*Mapping)(nil).UsesToday() {
		t.Error("wrong use of today")
	}
	other := on()
	other.Today = other.Today.AddDate(0, 0, 1)
	if a, b := m.Checksum(), New(&Rules{rules: m.rules}, other).Checksum(); a != b {
		t.Errorf("the checksum depends on the day: %s, %s", a, b)
	}
}
