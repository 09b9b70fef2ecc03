package metadata

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestNormal(t *testing.T) {
	got := Metadata{
		Description: " Caf\u0065\u0301\r\nat the quay ", Tags: []string{"quay", " sea ", "quay", "", "Sea"},
		Attributes: map[string]string{" place ": " Oslo", "empty": "  "},
	}.Normal()
	want := Metadata{Description: "Café\nat the quay", Tags: []string{"Sea", "quay", "sea"}, Attributes: map[string]string{"place": "Oslo"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestEncodeIsStable(t *testing.T) {
	for _, test := range []struct {
		is   Metadata
		text string
	}{
		{Metadata{}, ""},
		{Metadata{Tags: []string{" "}, Attributes: map[string]string{"a": ""}}, ""},
		{Metadata{Description: "<a>"}, `{"description":"\u003ca\u003e"}`},
		{Metadata{Tags: []string{"b", "a"}, Attributes: map[string]string{"y": "2", "x": "1"}}, `{"tags":["a","b"],"attributes":{"x":"1","y":"2"}}`},
	} {
		n := test.is.Normal()
		if got := n.Encode(); got != test.text {
			t.Errorf("%+v encodes to %s, want %s", test.is, got, test.text)
		}
		if back, err := Decode(test.text); err != nil || back.Encode() != test.text || n.IsZero() != (test.text == "") {
			t.Errorf("%s decodes to %+v, %v", test.text, back, err)
		}
	}
}

func TestDecodeRefusesWhatIsNoMetadata(t *testing.T) {
	if m, err := Decode(`{"tags":`); err == nil || !m.IsZero() {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestOver(t *testing.T) {
	before := Metadata{Description: "old", Tags: []string{"a"}, Attributes: map[string]string{"x": "1", "y": "2"}}
	for _, test := range []struct{ m, want Metadata }{
		{Metadata{}, before},
		{Metadata{Description: "new"}, Metadata{Description: "new", Tags: before.Tags, Attributes: before.Attributes}},
		{Metadata{Tags: []string{"b"}}, Metadata{Description: "old", Tags: []string{"b"}, Attributes: before.Attributes}},
		{Metadata{Attributes: map[string]string{"y": "3", "z": "4"}}, Metadata{Description: "old", Tags: before.Tags,
			Attributes: map[string]string{"x": "1", "y": "3", "z": "4"}}},
	} {
		if got := test.m.Over(before); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%+v over %+v is %+v, want %+v", test.m, before, got, test.want)
		}
	}
	if before.Attributes["y"] != "2" {
		t.Error("what was before has changed")
	}
}

// few generates texts that are often equal, or equal in normal form only.
var few = rapid.SampledFrom([]string{"", " ", "a", "a ", "b", "e\u0301", "é", "x\r\ny", "\xff"})

var anyMetadata = rapid.Custom(func(t *rapid.T) Metadata {
	return Metadata{few.Draw(t, "description"), rapid.SliceOfN(few, 0, 3).Draw(t, "tags"), rapid.MapOfN(few, few, 0, 3).Draw(t, "attributes")}
})

func TestNormalFormIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMetadata.Draw(t, "metadata")
		once := m.Normal()
		if twice := once.Normal(); !reflect.DeepEqual(once, twice) {
			t.Fatalf("%+v becomes %+v and then %+v", m, once, twice)
		}
	})
}
