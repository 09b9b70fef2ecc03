package metadata

import (
	"reflect"
	"testing"
)

func TestFoundByPrecedence(t *testing.T) {
	f := Found{}.With(FromEXIF, Fields{"caption": {"camera"}, "creator": {"Ida"}}).
		With(FromIPTC, Fields{"caption": {" "}}).With(FromXMP, Fields{"caption": {" A quay ", "A quay"}})
	for _, test := range []struct {
		name       string
		precedence []Source
		values     []string
		from       Source
	}{
		{"caption", Precedence(), []string{"A quay"}, FromXMP},
		{"caption", []Source{FromEXIF, FromXMP}, []string{"camera"}, FromEXIF},
		{"creator", Precedence(), []string{"Ida"}, FromEXIF}, // a metadata source without a value has no precedence
		{"creator", []Source{FromXMP}, nil, ""},
		{"title", Precedence(), nil, ""},
	} {
		if values, from := f.First(test.name, test.precedence); !reflect.DeepEqual(values, test.values) || from != test.from {
			t.Errorf("%s by %v: %q from %q, want %q from %q", test.name, test.precedence, values, from, test.values, test.from)
		}
	}
	if _, there := f[FromIPTC]; there {
		t.Error("an origin that says nothing was kept")
	}
}

func TestWithReplacesASource(t *testing.T) {
	before := Found{FromTable: {"title": {"old"}}, FromXMP: {"title": {"x"}}}
	after := before.With(FromTable, nil)
	if _, there := after[FromTable]; there || before[FromTable] == nil || after[FromXMP] == nil {
		t.Errorf("%v became %v", before, after)
	}
}

func TestEncodeFound(t *testing.T) {
	for _, f := range []Found{nil, {}, {FromXMP: {"tags": {"b", "a"}, "alt": {"<quay>"}}, FromTable: {"title": {"é"}}}} {
		back, err := DecodeFound(f.Encode())
		if err != nil || back.Encode() != f.Encode() || back.IsZero() != f.IsZero() {
			t.Errorf("%v came back as %v, %v", f, back, err)
		}
	}
	if _, err := DecodeFound(`{"xmp":`); err == nil {
		t.Error("half a text was read")
	}
}
