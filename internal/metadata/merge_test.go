package metadata

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ptr returns a pointer to a description.
func ptr(s string) *string { return &s }

// TestMergeOfAField verifies the result for every combination of base, source and destination:
// write, keep, conflict, or nothing.
func TestMergeOfAField(t *testing.T) {
	want := map[string]string{} // the result under the three policies, if not empty
	for _, c := range []struct{ base, source, destination, keep, overwrite, report string }{
		{"", "a", "", "write", "write", "write"}, // described for the first time
		{"", "a", "b", "kept", "write", "conflict"},
		{"a", "b", "", "kept", "write", "conflict"}, // people emptied it
		{"a", "b", "a", "write", "write", "write"},
		{"a", "b", "c", "kept", "write", "conflict"},
		{"a", "a", "", "", "write", ""}, // people emptied it, and the source has no change
		{"a", "a", "b", "", "write", ""},
		{"a", "a", "c", "", "write", ""},
	} {
		for n, p := range []Policy{Keep, Overwrite, Report} {
			want[fmt.Sprint([]string{c.base, c.source, c.destination, string(p)})] = []string{c.keep, c.overwrite, c.report}[n]
		}
	}
	for _, base := range []string{"", "a"} {
		for _, source := range []string{"", "a", "b"} {
			for _, destination := range []string{"", "a", "b", "c"} {
				if base == "" && (source == "b" || destination == "c") {
					continue // the same as another case under other names
				}
				for _, p := range []Policy{Keep, Overwrite, Report} {
					got := happens(Merge(Metadata{Description: base}, Metadata{Description: source}, Metadata{Description: destination}, p), source, "description")
					again := happens(Merge(attribute(base), attribute(source), attribute(destination), p), source, "place")
					if name := fmt.Sprint([]string{base, source, destination, string(p)}); got != want[name] || again != got {
						t.Errorf("base, source, destination and policy %s: %q, as an attribute %q, want %q", name, got, again, want[name])
					}
				}
			}
		}
	}
}

func attribute(value string) Metadata {
	return Metadata{Attributes: map[string]string{"place": value}}.Normal()
}

// happens returns the result for a field that may be written with the value of the source.
func happens(m Merged, source, field string) string {
	for outcome, is := range map[string]Merged{
		"":         {},
		"write":    {Changes: Changes{Description: ptr(source)}},
		"kept":     {Kept: []string{field}},
		"conflict": {Conflicts: []string{field}},
	} {
		if outcome == "write" && field != "description" {
			is = Merged{Changes: Changes{Attributes: map[string]string{field: source}}}
		}
		if reflect.DeepEqual(m, is) {
			return outcome
		}
	}
	return fmt.Sprintf("%+v", m)
}

func TestMergeUnitesTags(t *testing.T) {
	for _, test := range []struct {
		name                      string
		base, source, destination []string
		keep, overwrite           []string // nil: nothing is written
	}{
		{"new at the source", nil, []string{"a"}, nil, []string{"a"}, []string{"a"}},
		{"people have more", nil, []string{"a"}, []string{"z"}, []string{"z", "a"}, []string{"z", "a"}},
		{"there already", nil, []string{"a"}, []string{"a"}, nil, nil},
		{"there in another form", nil, []string{"é"}, []string{"e\u0301 "}, nil, nil},
		{"removed by people", []string{"a"}, []string{"a", "b"}, nil, []string{"b"}, []string{"a", "b"}},
		{"removed at the source", []string{"a", "b"}, []string{"b"}, []string{"a", "b"}, nil, nil},
		{"the source has none", []string{"a"}, nil, []string{"a", "z"}, nil, nil},
	} {
		for p, want := range map[Policy][]string{Keep: test.keep, Report: test.keep, Overwrite: test.overwrite} {
			got := Merge(Metadata{Tags: test.base}, Metadata{Tags: test.source}, Metadata{Tags: test.destination}, p)
			if !slices.Equal(got.Changes.Tags, want) || len(got.Kept)+len(got.Conflicts) > 0 {
				t.Errorf("%s, %s: got %+v, want the tags %q", test.name, p, got, want)
			}
		}
	}
}

func TestMergeDecidesEachFieldForItself(t *testing.T) {
	base := Metadata{Description: "a", Attributes: map[string]string{"place": "Oslo", "year": "1999"}}
	source := Metadata{Description: "b", Tags: []string{"quay"}, Attributes: map[string]string{"place": "Bergen", "year": "2000", "by": "Ida"}}
	destination := Metadata{Description: "people", Tags: []string{"sea"}, Attributes: map[string]string{"place": "Oslo", "year": "2001", "rights": "free"}}
	got := Merge(base, source, destination, Keep)
	want := Merged{
		Changes: Changes{Tags: []string{"sea", "quay"}, Attributes: map[string]string{"place": "Bergen", "by": "Ida"}},
		Kept:    []string{"description", "year"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestMergeLaws verifies that a merge never erases a value, and that a second merge changes
// nothing.
func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, source := anyMetadata.Draw(t, "base").Normal(), anyMetadata.Draw(t, "source").Normal()
		destination := anyMetadata.Draw(t, "destination")
		p := rapid.SampledFrom([]Policy{Keep, Overwrite, Report}).Draw(t, "policy")
		m := Merge(base, source, destination, p)
		after := applied(m.Changes, destination)
		if after.Description == "" && destination.Description != "" {
			t.Fatalf("the description is gone: %+v", m)
		}
		for _, tag := range destination.Tags {
			if !slices.Contains(after.Tags, tag) {
				t.Fatalf("the tag %q is gone: %+v", tag, m)
			}
		}
		for name, value := range destination.Attributes {
			if value != "" && after.Attributes[name] == "" {
				t.Fatalf("the attribute %q is gone: %+v", name, m)
			}
		}
		if again := Merge(source.Over(base), source, after, p); !again.Changes.IsZero() || len(again.Conflicts)+len(again.Kept) > 0 {
			t.Fatalf("merged %+v, and once more %+v", m, again)
		}
		if crashed := Merge(base, source, after, p); !crashed.Changes.IsZero() {
			t.Fatalf("merged %+v, and after a crash %+v", m, crashed)
		}
		if p == Report && len(m.Kept) > 0 || p == Keep && len(m.Conflicts) > 0 || p == Overwrite && len(m.Kept)+len(m.Conflicts) > 0 {
			t.Fatalf("%s: %+v", p, m)
		}
		if source.IsZero() && !reflect.DeepEqual(m, Merged{}) {
			t.Fatalf("a source that says nothing: %+v", m)
		}
	})
}

// applied returns the metadata of a destination after changes.
func applied(c Changes, m Metadata) Metadata {
	after := Metadata{m.Description, m.Tags, map[string]string{}}
	for name, value := range m.Attributes {
		after.Attributes[name] = value
	}
	for name, value := range c.Attributes {
		after.Attributes[name] = value
	}
	if c.Description != nil {
		after.Description = *c.Description
	}
	if c.Tags != nil {
		after.Tags = c.Tags
	}
	return after
}
