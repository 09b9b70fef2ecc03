package assets

import (
	"encoding/json"
	"reflect"
	"testing"
)

const usualAnswer = `{"id":"0123456789ab00000001","name":"photo-0000001","extension":"jpg","size":20480,"mimeType":"image/jpeg","categoryId":"c1",` +
	`"folderId":"f1","uploadedAt":"2026-01-02T03:04:05.678Z","lastModifiedAt":"2026-01-02T03:04:05Z","tags":[],"url":"https://cdn.example/a/file",` +
	`"imageUrls":{},"metadata":{"metadataProcessingStatus":"queued"}}`

// checkPlain verifies that an answer in the usual form is decoded as encoding/json decodes it.
func checkPlain(t *testing.T, data []byte) (usual bool) {
	t.Helper()
	got, ok := readPlain(data)
	if !ok {
		return false
	}
	var wire wireAsset
	if err := json.Unmarshal(data, &wire); err != nil {
		t.Errorf("%s: encoding/json refuses it: %v", data, err)
	} else if want := wire.asset(); !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\ngot  %+v\nwant %+v", data, got, want)
	}
	return true
}

func TestUsualAnswers(t *testing.T) {
	for text, usual := range map[string]bool{
		usualAnswer:                             true,
		` { "id" : "a" , "size" : 0 } ` + "\n":  true,
		`{"id":"a","metadata":{}}`:              true,
		`{"id":"a","ID":"b"}`:                   false,
		`{"id":"a","id":"b"}`:                   false,
		`{"id":"\u0061"}`:                       false,
		`{"id":"ä"}`:                            false,
		`{"id":null}`:                           false,
		`{"id":"a","size":1e3}`:                 false,
		`{"id":"a","size":-1}`:                  false,
		`{"id":"a","size":01}`:                  false,
		`{"id":"a","size":1.5}`:                 false,
		`{"id":"a","size":1234567890123456789}`: false,
		`{"id":"a","tags":["b"]}`:               false,
		`{"id":"a","uploadedAt":"2026-01-02"}`:  false,
		`{"id":"a","more":1}`:                   false,
		`{"id":"a"`:                             false,
		`{"id":"a"}}`:                           false,
		`{"id":"a",}`:                           false,
		`{}`:                                    false,
		`null`:                                  false,
		``:                                      false,
	} {
		if got := checkPlain(t, []byte(text)); got != usual {
			t.Errorf("%s: %t, want %t", text, got, usual)
		}
	}
}

func FuzzUsualAnswers(f *testing.F) {
	f.Add([]byte(usualAnswer))
	f.Add([]byte(` { "id" : "a" , "metadata" : { } , "size" : 0 } `))
	f.Add([]byte(`{"id":"a","size":12,"uploadedAt":"2026-01-02T03:04:05+01:00","tags":[ ]}`))
	f.Fuzz(func(t *testing.T, data []byte) { checkPlain(t, data) })
}

func BenchmarkDecodeAsset(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var a Asset
		if err := decode(201, []byte(usualAnswer), &a); err != nil {
			b.Fatal(err)
		}
	}
}
