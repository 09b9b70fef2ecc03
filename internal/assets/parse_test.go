package assets

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/assets/paging"
	"assetferry/internal/jsonscan"
	"assetferry/internal/outbound"
)

// usualAsset has all fields that are known.
const usualAsset = `{"id":"a1","name":"Übung, 1","extension":"jpg","size":123456789012345678,"mimeType":"image/jpeg","categoryId":"c","folderId":null,
	"uploadedAt":"2024-05-06T07:08:09.123456789Z","lastModifiedAt":"2024-05-06T07:08:09+02:00","tags":["a","","\u00e9\"x"],"url":"https://cdn.example/a1\/file",
	"imageUrls":{"80":"https://cdn.example/80","default":""},"trashedAt":null,"owner":{"id":"o","roles":[1,-0.5e+3,{"a":[]}],"x":true,"y":false,"z":null},
	"metadata":{"description":"a\tb 😀","customAttributes":{"s":"x","n":1e2,"t":true,"z":null,"o":{"a":[1,{}]},"l":["a"]},"width":40,"height":30,"blurHash":"L6",
	"metadataProcessingStatus":"success","analysisProcessingStatus":"skipped","thumbnailMetadata":{"blurHash":"L7","width":4,"height":3,"mimeType":"image/webp","x":0}, "exif" : {} } }`

// parseOne parses the JSON of an asset, and compares a success with encoding/json.
func parseOne(t *testing.T, p *assetParser, text string) (parsed bool) {
	t.Helper()
	var got paging.Page[wireAsset]
	got.Parse = func(s *jsonscan.Scanner, a *wireAsset) bool {
		parsed = p.parse(s, a)
		return parsed
	}
	err := got.Decode(outbound.NewMeter(strings.NewReader("["+text+"]"), outbound.Untyped), nil)
	var want []wireAsset
	if e := json.Unmarshal([]byte("["+text+"]"), &want); e == nil && err == nil {
		if diff := cmp.Diff(want, got.Items, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	} else if e == nil || err == nil || parsed && json.Valid([]byte(text)) {
		t.Errorf("%s: got %v, parsed %v, want %v", text, err, parsed, e)
	}
	return parsed
}

// The test verifies which forms of an asset are parsed, and that encoding/json reads all others.
func TestAssetParserForms(t *testing.T) {
	for text, usual := range map[string]bool{
		usualAsset:                        true,
		`{}`:                              true,
		` { } `:                           true,
		`null`:                            false,
		`[]`:                              false,
		`{"id":"a",}`:                     false,
		`{"id":"a"`:                       false,
		`{"id" "a"}`:                      false,
		`{"\u0069d":"a","n\u0061me":"b"}`: true,
		`{"id":"\ud83d\ude00 \ud83d x"}`:  true,
		"{\"id\":\"\xff\xfe\",\"tags\":[\"\xc3\"]}": true,
		"{\"id\":\"a\nb\"}":                         false,
		"{\"id\":\"a\\\nb\"}":                       false,
		`{"id":"a","ID":"b"}`:                       false,
		`{"ſize":7}`:                                false,
		`{"metadata":{"WIDTH":7}}`:                  false,
		`{"size":1e3}`:                              false,
		`{"size":1.5}`:                              false,
		`{"size":-1}`:                               false,
		`{"size":01}`:                               false,
		`{"size":1234567890123456789}`:              false,
		`{"size":"1"}`:                              false,
		`{"id":"a","id":"a"}`:                       false,
		`{"id":"","id":"a"}`:                        true,
		`{"tags":["a"],"tags":null}`:                false,
		`{"metadata":{"width":1},"metadata":{"width":2}}`:                         false,
		`{"metadata":{"width":1},"metadata":null}`:                                true,
		`{"metadata":{"width":1},"metadata":{"height":2}}`:                        true,
		`{"imageUrls":{"a":"b","a":"c"}}`:                                         true,
		`{"imageUrls":{"a":null}}`:                                                false,
		`{"metadata":{"customAttributes":{"a":1,"a":{"b":1e400}}}}`:               true,
		`{"x":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`:         true,
		`{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`:       false,
		`{"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`: false,
		`{"id":"` + strings.Repeat("x", 20_000) + `"}`:                            false,
	} {
		if got := parseOne(t, new(assetParser), text); got != usual {
			t.Errorf("%.200s: parsed %v, want %v", text, got, usual)
		}
	}
	for n := range usualAsset {
		if p := new(assetParser); parseOne(t, p, usualAsset[:n]) {
			t.Errorf("%s is incomplete, and was parsed", usualAsset[:n])
		}
	}
}

// The test verifies that an asset with any value of any field, or two of them, equals that of
// encoding/json.
func TestAssetParserEqualsJSON(t *testing.T) {
	keys := []string{`id`, `Id`, `size`, `ſize`, `uploadedAt`, `tags`, `imageUrls`, `other`, ``, `-`, `UploadedAt`, `metadata`}
	inner := []string{`description`, `customAttributes`, `width`, `metadataProcessingStatus`, `thumbnailMetadata`, `ThumbnailMetadata`, `other`}
	values := []string{
		`"x"`, `""`, `"2024-05-06T07:08:09Z"`, `"2024-05-06T07:08:09.1234567891+0230"`, `"2024-05-06"`, `"2024-02-30T00:00:00Z"`, `"2024-05-06T7:08:09Z"`,
		`"2024-05-06T07:08:09,5Z"`, `"2024-05-06T07:08:09+25:00"`, `"\u0032024-05-06T07:08:09Z"`, `"\ud800"`, `"\x"`, "\"\xe9\"", `"é"`, "\"\x1f\"", "\"\x7f\"",
		`0`, `-0`, `00`, `1`, `1.0`, `1e2`, `1E+2`, `1.`, `.5`, `+1`, `-`, `999999999999999999`, `9223372036854775808`, `1e400`, `4294967296`,
		`null`, `nul`, `nullx`, `true`, `false`, `True`, `[]`, `[null]`, `["a",null]`, `["a","b"]`, `[1]`, `[,]`, `["a",]`, `[[]]`,
		`{}`, `{"a":null}`, `{"a":"b","A":"c"}`, `{"a":1,"b":{"c":[1e3,"x",{}]}}`, `{"width":3,"Height":null}`, `{"blurHash":"x","mimeType":"y"}`, `{"a"}`, `{1:2}`, ``,
	}
	p := new(assetParser)
	for format, keys := range map[string][]string{`{"%s":%s,"%s":%s}`: keys, `{"metadata":{"%s":%s,"%s":%s}}`: inner, `{"metadata":{"%s":%s},"metadata":{"%s":%s}}`: inner} {
		for _, key := range keys {
			for _, v := range values {
				for _, w := range values {
					parseOne(t, p, fmt.Sprintf(format, key, v, key, w))
				}
				parseOne(t, p, fmt.Sprintf(format, key, v, strings.ToUpper(key), v))
			}
		}
	}
}

// FuzzPageOfAssets verifies that any page is read as if no asset were parsed, with the same error.
func FuzzPageOfAssets(f *testing.F) {
	for _, ends := range [][2]string{
		{"[", "]"}, {`{"items":[`, `],"totalCount":2,"limit":50,"offset":0}`}, {`{"totalCount":7,"items":[`, `],"items":[{"id":"z"}]}`}, {"[", ""}, {"[", ",]"}, {"[", "] x"}, {"[", "."}, {`{"items":[`, `,{"id":7}]}`},
		{`{"items":[`, `}`}, {`{"Items": [`, "\n]\n,\"message\":\"m\"\t}\n"},
	} {
		for _, item := range []string{usualAsset, `{"id":"b"}`, ` {"ID":"b"} `, "null", "", `{"id":"b","size":1e1}`} {
			f.Add(ends[0], item, ends[1], uint16(0))
			f.Add(ends[0], item, ends[1], uint16(300))
		}
	}
	f.Fuzz(func(t *testing.T, begin, item, end string, more uint16) {
		text := begin + strings.Repeat(item+",", int(more%512)) + item + end
		read := func(in io.Reader, parse func(*jsonscan.Scanner, *wireAsset) bool, wanted func([]byte) bool) string {
			got := paging.Page[wireAsset]{Parse: parse, Wanted: wanted}
			var others []string
			err := got.Decode(outbound.NewMeter(in, outbound.Untyped), func(key string, value json.RawMessage) { others = append(others, key, string(value)) })
			total, _ := json.Marshal(got.TotalCount)
			if err != nil {
				got.Items = nil // incomplete
			}
			return fmt.Sprintf("%#v %s %v %v %v %q", got.Items, total, got.Limit, got.Read(), err, others)
		}
		for _, wanted := range []func([]byte) bool{nil, func(item []byte) bool { return len(item)%3 > 0 }} {
			for _, after := range []io.Reader{strings.NewReader(""), iotest.ErrReader(io.ErrNoProgress)} {
				in := func() io.Reader { return io.MultiReader(strings.NewReader(text), after) }
				want, got, slowly := read(in(), nil, wanted), read(in(), new(assetParser).parse, wanted), read(iotest.OneByteReader(in()), new(assetParser).parse, wanted)
				if got != want || slowly != want {
					t.Errorf("%s:\ngot    %s\nslowly %s\nwant   %s", text, got, slowly, want)
				}
			}
		}
	})
}

// The test verifies that all fields are parsed, because an asset with another one takes longer.
func TestAssetParserKnowsAllFields(t *testing.T) {
	for format, keys := range map[string][]string{`{"%s":null}`: assetKeys, `{"metadata":{"%s":null}}`: metadataKeys, `{"metadata":{"thumbnailMetadata":{"%s":null}}}`: thumbnailKeys} {
		for _, key := range keys {
			if text := fmt.Sprintf(format, key); !parseOne(t, new(assetParser), text) {
				t.Errorf("%s is not parsed: assetParser lacks it", text)
			}
		}
	}
}

// FuzzTime verifies that the fast reading of a time equals that by layouts, which an escape leads to.
func FuzzTime(f *testing.F) {
	for _, text := range strings.Split("2024-05-06T07:08:09Z|2024-05-06T07:08:09.1234567891Z|2024-05-06T07:08:09+02:30|2024-05-06T07:08:09.5+0230|2024-05-06|2024-02-30T00:00:00Z|2024-05-06T7:08:09Z|2024-05-06T07:08:09,5Z|2024-05-06T07:08:09+25:00|2024-05-06t07:08:09z|2024-05-06T24:00:00Z|2024-06-30T23:59:60Z|0000-01-01T00:00:00Z|", "|") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		if err != nil || text == "" || text[0] != '2' {
			return
		}
		var got, want isoTime
		err, slow := got.UnmarshalJSON(quoted), want.UnmarshalJSON([]byte(`"\u0032`+string(quoted[2:])))
		if (err == nil) != (slow == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v, want %v, %v", quoted, got, err, want, slow)
		}
	})
}

// TestParseAsset verifies that one asset is parsed only if nothing follows.
func TestParseAsset(t *testing.T) {
	for text, usual := range map[string]bool{
		usualAsset:           true,
		" {\"id\":\"a\"} \n": true,
		`{"id":"a"}}`:        false,
		`{"id":"a"},`:        false,
		"{\"id\":\"a\"}\x00": false,
		`{"id":"a"`:          false,
		`null`:               false,
		``:                   false,
	} {
		got, ok := parseAsset([]byte(text))
		if ok != usual {
			t.Errorf("%q: parsed: %v", text, ok)
		}
		var want wireAsset
		if err := json.Unmarshal([]byte(text), &want); ok && (err != nil || !cmp.Equal(want.asset(), got)) {
			t.Errorf("%q: got %+v, want %+v (%v)", text, got, want.asset(), err)
		}
	}
}

func BenchmarkDecodeAsset(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var a Asset
		if err := decode(201, []byte(usualAsset), &a); err != nil {
			b.Fatal(err)
		}
	}
}
