package metadata

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/tabular"
)

func TestReadSidecar(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       Fields
	}{
		{"a.jpg.json", `{"Description": "A quay ", "keywords": ["quay", "sea", ""], "altText": "Boats", "Alt-Text": "Ships", "rating": 4, "private": true, "Rights holder": "Ida", "none": null,
			"gps": {"lat": 59.91, "deep": [{"er": "x"}, {"er": "y"}]}}`,
			Fields{"description": {"A quay"}, "tags": {"quay", "sea"}, "alt": {"Boats", "Ships"}, "rating": {"4"}, "private": {"true"}, "Rights holder": {"Ida"}, "gps.lat": {"59.91"}, "gps.deep.er": {"x", "y"}}},
		{"a.jpg.JSON", "\ufeff" + `{"description": "A", "tags": ["b"], "attributes": {"Title": "T", "keywords": "k", "category": "c", "a": {"b": "d"}}, "category": "Photos", "folder": "2019/07", "name": "a"}`,
			Fields{"description": {"A"}, "tags": {"b"}, "Title": {"T"}, "keywords": {"k"}, "attributes.category": {"c"}, "a.b": {"d"}, "category": {"Photos"}, "folder": {"2019/07"}, "name": {"a"}}},
		{"a.jpg.supplemental-metadata.json", `{"title": "IMG_1.JPG", "description": "", "imageViews": "3", "creationTime": {"timestamp": "1"}, "photoTakenTime": {"timestamp": "1563710602", "formatted": "21 Jul 2019"},
			"geoData": {"latitude": 59.9, "longitude": -10.7, "altitude": 0.0}, "people": [{"name": "Ida"}, {"name": "Ole"}], "url": "https://photos.example/1"}`,
			Fields{"name": {"IMG_1.JPG"}, "created": {"2019-07-21T12:03:22Z"}, "latitude": {"59.9"}, "longitude": {"-10.7"}, "people": {"Ida", "Ole"}, "url": {"https://photos.example/1"}}},
		{"a.jpg.json", `{"title": "a.jpg", "photoTakenTime": {"timestamp": "-1000"}, "geoData": {"latitude": 0.0, "longitude": 0.0}}`, Fields{"name": {"a.jpg"}, "created": {"1969-12-31T23:43:20Z"}}},
		{"a.jpg.json", `{"name": "a.jpg", "assetferry": {"id": "x", "size": 1, "values": {"a": [1]}}}`, Fields{"name": {"a.jpg"}}},
		{"a.jpg.json", "{}", nil},
		{"a.jpg.yaml", "# of a picture\ndescription: |\n  A quay\n  at night\nKeywords: [quay, sea]\nyear: 2019\nprivate: false\nattributes:\n  Rights: Ida\nnone:\nmore:\n- a: 1\n- a: 2.50\n",
			Fields{"description": {"A quay\nat night"}, "tags": {"quay", "sea"}, "year": {"2019"}, "private": {"false"}, "Rights": {"Ida"}, "more.a": {"1", "2.50"}}},
		{"a.jpg.yml", "# nothing\n", nil},
		{"a.xmp", sampleXMP, wantXMP().Normal()},
		{"a.jpg.XMP", sampleXMP, wantXMP().Normal()},
	} {
		got, err := ReadSidecar(test.name, iotest.OneByteReader(strings.NewReader(test.text)))
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", test.text, err, diff)
		}
	}
}

func TestReadSidecarReportsMistakes(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a.json", "", "line 1, column 1: not JSON: unexpected end of JSON input"},
		{"a.json", "{\n  \"description\": \"A\n\"}", "line 2, column 20: not JSON: invalid character '\\n' in string literal"},
		{"a.json", `{"a": 1,}`, `line 1, column 9: not JSON: invalid character '}' looking for beginning of object key string`},
		{"a.json", `{"a": 1} x`, "line 1, column 10: not JSON: invalid character 'x' after top-level value"},
		{"a.json", "\n [1]", `line 1, column 1: not a JSON object such as {"description": "A quay"}`},
		{"a.json", "{\"a\": 1,\n \"a\": 2}", `line 2, column 4: duplicate key "a"`},
		{"a.json", "{\"a\": \"\xff\"}", "line 1, column 1: the sidecar is not UTF-8"},
		{"a.json", `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}", "line 1, column 37: values are nested more than 32 levels deep"},
		{"a.json", `{"a":"` + strings.Repeat("x", maxSidecar) + `"}`, "line 1, column 1: the sidecar is larger than 1024 KiB"},
		{"a.json", `{"a":"` + strings.Repeat("x", maxText+1) + `"}`, "line 1, column 1: the sidecar exceeds a limit: 64 KiB for a value, 1 KiB for a name, 2000 values"},
		{"a.json", `{"a": {"` + strings.Repeat("x", maxUnmapped) + `": 1}}`, "line 1, column 1: the sidecar exceeds a limit: 64 KiB for a value, 1 KiB for a name, 2000 values"},
		{"a.yaml", "a: b: c", `line 1, column 4: a second ":" in this line; put quotes around the value`},
		{"a.yaml", "a: 1\na: 2", `line 2, column 1: "a" appears twice, first in line 1`},
		{"a.yaml", "- a", `line 1, column 1: lines such as "key: value" are required here`},
		{"a.yaml", "x: 1\na: *b", "line 2, column 4: a text, a number or a list of these is required here"},
		{"a.yaml", strings.Repeat("[", 40), "line 1, column 1: it is nested too deeply"},
		{"a.xmp", "<a>\n<b></a>", "line 2, column 8: not XML: element <b> closed by </a>"},
		{"a.xmp", "no XML at all", "line 1, column 1: it is not XMP: there is no rdf:RDF element"},
		{"a.xmp", "<rdf:RDF xmlns:rdf='" + rdfSpace + "'>\n", "line 2, column 1: not XML: unexpected EOF"},
	} {
		fields, err := ReadSidecar(test.name, strings.NewReader(test.text))
		if m, ok := errors.AsType[*tabular.Mistake](err); !ok || fields != nil || m.Error() != test.want {
			t.Errorf("%.40q: %v, %v, want %s", test.text, fields, err, test.want)
		}
	}
	failure := errors.New("the disk fails")
	if _, err := ReadSidecar("a.json", iotest.ErrReader(failure)); !errors.Is(err, failure) {
		t.Error(err)
	}
}

func TestFieldName(t *testing.T) {
	for written, want := range map[string]string{
		"Description": "description", "KEYWORDS": "tags", "alt_text": "alt", "altText": "alt", "Alt Text": "alt", "By-line": "creator", "byline": "creator", "Sub-location": "location",
		"Country": "country", "Lng": "longitude", "Rights holder": "Rights holder", "shootId": "shootId", "": "",
	} {
		if got := FieldName(written); got != want || FieldName(got) != got {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}

func TestOwnerOf(t *testing.T) {
	for _, test := range []struct {
		sidecar string
		keys    []string
		begin   string
	}{
		{"a/photo.jpg.json", []string{"a/photo.jpg"}, ""},
		{"a/photo.jpg.YaML", []string{"a/photo.jpg"}, ""},
		{"photo.jpg.yml", []string{"photo.jpg"}, ""},
		{"photo.jpg.supplemental-metadata.json", []string{"photo.jpg", "photo.jpg.supplemental-metadata"}, ""},
		{"photo.jpg.xmp", []string{"photo.jpg"}, "photo.jpg."},
		{"photo.XMP", []string{"photo"}, "photo."},
		{"photo.jpg(2).json", []string{"photo.jpg(2)", "photo(2).jpg"}, ""},
		{"a/photo.jpg.supplemental-metadata(12).json", []string{"a/photo(12).jpg", "a/photo.jpg.supplemental-metadata(12)", "a/photo.jpg(12).supplemental-metadata"}, ""},
		{"PXL_20230922_190227567.jpg.supplemental-metada.json", []string{"PXL_20230922_190227567.jpg", "PXL_20230922_190227567.jpg.supplemental-metada"}, "PXL_20230922_190227567.jpg"},
		{"PXL_20230922_190227567.jpg.supplemental-meta.json", []string{"PXL_20230922_190227567.jpg.supplemental-meta"}, ""}, // there was place for more
		{"data.json.json", []string{"data.json"}, ""},
		{".json", nil, ""}, {"a/.xmp", nil, ""}, {"photo.jpg", nil, ""}, {"json", nil, ""}, {"", nil, ""}, {".supplemental-metadata.json", []string{".supplemental-metadata"}, ""},
	} {
		got, ok := OwnerOf(test.sidecar)
		if !slices.Equal(got.Keys, test.keys) || got.Begin != test.begin || ok != (test.keys != nil) {
			t.Errorf("%s: got %+v, %t", test.sidecar, got, ok)
		}
	}
}

func TestOwnerDescribes(t *testing.T) {
	for _, test := range []struct {
		sidecar, key string
		want         bool
	}{
		{"photo.jpg.json", "photo.jpg", true}, {"photo.jpg.json", "photo.JPG", false}, {"photo.json", "photo.jpg", false}, {"photo.json", "photo", true},
		{"photo.xmp", "photo.jpg", true}, {"photo.xmp", "photo.tar.gz", false}, {"photo.tar.xmp", "photo.tar.gz", true}, {"photo.xmp", "photo", true},
		{"photo.xmp", "photo.json", false}, {"photo.xmp", "photo.xmp", false}, {"photo.xmp", "photo.", false}, {"a/photo.xmp", "a/photo/x.jpg", false}, {"a.xmp", "a.b/c.jpg", false},
		{"photo.jpg.xmp", "photo.jpg", true}, {"photo.jpg.xmp", "photo.jpg.gz", true}, {"photo.jpg", "photo", false},
		{"photo.jpg(2).json", "photo(2).jpg", true}, {"photo.jpg(2).json", "photo.jpg", false}, {"photo(2).jpg.json", "photo(2).jpg", true},
		{"photo.jpg(2).yaml", "photo(2).jpg", false}, {"photo.jpg().json", "photo().jpg", false}, {"(2).json", "(2)", true}, {"a/.jpg(2).json", "a/(2).jpg", false},
		{"Screenshot_20220207_102421_com.snapchat.androi.json", "Screenshot_20220207_102421_com.snapchat.android.jpg", true},
		{"Screenshot_20220207_102421_com.snapchat.androi(1).json", "Screenshot_20220207_102421_com.snapchat.android(1).jpg", true},
		{"Screenshot_20220207_102421_com.snapchat.androi.json", "Screenshot_20220207_102421_com.snapchat.android(1).jpg", false},
		{"Screenshot_20220207_102421_com.snapchat.androi.json", "Screenshot_20220207_102421_com.snapchat.androi.json", false},
		{"Screenshot_2017-07-05-10-05-26.png.supplementa.json", "Screenshot_2017-07-05-10-05-26.png", true},
		{"D7157814-D2D5-4A62-AFCE-9CF465CB7D66.jpeg.supp.json", "D7157814-D2D5-4A62-AFCE-9CF465CB7D66.jpeg", true},
		{"a/Urlaub in Knaufspesch in der Schneifel (38).JP.json", "a/Urlaub in Knaufspesch in der Schneifel (38).JPG", true}, // the number is part of its name
	} {
		o, _ := OwnerOf(test.sidecar)
		if got := o.Describes(test.key); got != test.want {
			t.Errorf("%s describes %s: %t", test.sidecar, test.key, got)
		}
	}
}

func TestSidecarsOf(t *testing.T) {
	want := []string{"a/p.jpg.json", "a/p.jpg.supplemental-metadata.json", "a/p.jpg.yaml", "a/p.jpg.yml", "a/p.jpg.xmp", "a/p.xmp"}
	if got := SidecarsOf("a/p.jpg"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := SidecarsOf("a.b/p"); len(got) != 5 {
		t.Errorf("of an object without an ending: %q", got)
	}
}

// FuzzSidecarNames verifies that both directions agree: an object is a possible owner of a sidecar
// if, and only if, the key is a possible sidecar of the object.
func FuzzSidecarNames(f *testing.F) {
	for _, key := range []string{"photo.jpg", "a/photo.XMP", "a.b/c", ".json", "photo.jpg.supplemental-metadata.json", "p.", "/", "p.json", "p(1).jpg", "p.jpg(1).json",
		"Screenshot_20220207_102421_com.snapchat.android.jpg", "a/Screenshot_20220207_102421_com.snapchat.androi(1).json", "PXL_20230922_190227567.jpg.supplemental-metada.json"} {
		f.Add(key, "photo.xmp")
		f.Add("photo.jpg", key)
	}
	f.Fuzz(func(t *testing.T, key, other string) {
		for _, sidecar := range SidecarsOf(key) {
			if folded, ok := FoldSidecar(sidecar); !isEndOfFolder(key) && (!ok || folded != sidecar) {
				t.Errorf("%q may have the sidecar %q, which is none", key, sidecar)
			}
			if o, _ := OwnerOf(sidecar); !isEndOfFolder(key) && !o.Describes(key) {
				t.Errorf("%q may have the sidecar %q, which describes %+v", key, sidecar, o)
			}
			if o, _ := OwnerOf(sidecar); !isEndOfFolder(key) && !slices.Contains(o.Keys, key) && (o.Begin == "" || !strings.HasPrefix(key, o.Begin)) {
				t.Errorf("%q may have the sidecar %q, whose owner is looked for among %q and what begins with %q", key, sidecar, o.Keys, o.Begin)
			}
			if path.Dir(sidecar) != path.Dir(key) && !isEndOfFolder(key) {
				t.Errorf("%q has the sidecar %q in another folder", key, sidecar)
			}
		}
		o, ok := OwnerOf(other)
		folded, _ := FoldSidecar(other)
		if describes := o.Describes(key); describes != (ok && slices.Contains(SidecarsOf(key), folded) && !isEndOfFolder(key)) {
			t.Errorf("%q describes %q: %t, and that may have %q", other, key, describes, SidecarsOf(key))
		}
	})
}

// FuzzSidecar verifies that any sidecar is read, or has an error with a place.
func FuzzSidecar(f *testing.F) {
	f.Add("json", `{"description": "A", "attributes": {"a": ["b", 1, true, null]}}`)
	f.Add("json", `{"photoTakenTime": {"timestamp": "1563710602"}, "geoData": {"latitude": 1}}`)
	f.Add("yaml", "description: A\ntags: [a, b]\nattributes:\n  a: 1\n")
	f.Add("xmp", sampleXMP)
	f.Add("xmp", "&\n")
	f.Fuzz(func(t *testing.T, ending, text string) {
		fields, err := ReadSidecar("a."+ending, strings.NewReader(text))
		m, wrong := errors.AsType[*tabular.Mistake](err)
		switch {
		case err == nil:
			if diff := cmp.Diff(fields, fields.Normal()); diff != "" {
				t.Error(diff)
			}
		case !wrong || fields != nil || m.What == "" || m.Line < 1 || m.Column < 1 || m.Line > 1+strings.Count(strings.ReplaceAll(text, "\r", "\n"), "\n"):
			t.Errorf("%v, %v", fields, err)
		}
	})
}
