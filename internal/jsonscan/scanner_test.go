package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzScanner verifies that a scanner reads a value exactly if that is valid JSON, unless it is
// nested too deeply, and that it reads a string as encoding/json does. A text that may continue is
// refused as incomplete.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		"", "{}", "[]", ` { "a" : [ 1 , -2.5e+3 , true , false , null ] , "a":{} } `, `"a"`, `"\u00e9\ud83d\ude00\ud800\n\"\\\/"`, "\"\xff\"", `"\x"`, "\"\n\"", `"a`, `"\`, "{", `{"a"`, `{"a":`, `{"a":1`,
		`{"a":1,`, `{"a":1,}`, "[", "[1", "[1,", "[1,]", "[,]", "tru", "trux", "nullx", "null null", "0", "-0", "01", "-", "1.", ".1", "1e", "1e+", "+1", "1-1", "\x00", "\v1", "{1:1}", `{"a":1 "b":2}`,
		strings.Repeat("[", deepest+1), strings.Repeat("[", deepest-1) + strings.Repeat("]", deepest-1),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := New(append(text[:len(text):len(text)], ' '))
		value, ok := s.Value()
		isDeep := strings.Count(string(text), "[")+strings.Count(string(text), "{") >= deepest
		if whole := ok && s.AtEnd(); whole != json.Valid(text) && !isDeep || ok && !json.Valid(value) {
			t.Fatalf("%q: read %q %v, %v, valid %v", text, value, ok, whole, json.Valid(text))
		}
		s = New(text)
		got, ok := s.Text()
		var want string
		if err := json.Unmarshal(s.text[:s.at], &want); ok && (err != nil || string(got) != want) {
			t.Errorf("%q: got %q, want %q, %v", text, got, want, err)
		}
		if !json.Valid(text) {
			return
		}
		for n := range text { // a part of a value is incomplete, or a value itself
			s := New(text[:n])
			if _, ok := s.Value(); ok && !json.Valid(text[:n]) || !ok && !s.cutOff && !isDeep {
				t.Fatalf("%q: read %v, cut off %v", text[:n], ok, s.cutOff)
			}
		}
	})
}
