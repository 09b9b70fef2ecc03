package standin

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"time"
)

// An Object contains the members of a JSON object, such as the claims of a token, by their exact
// names. encoding/json would match struct fields in any case.
type Object map[string]json.RawMessage

// DecodePart decodes the header or the claims of a token.
func DecodePart(s string) (Object, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, false
	}
	return DecodeObject(b)
}

// DecodeObject decodes a JSON object; null is not one.
func DecodeObject(b []byte) (c Object, ok bool) {
	return c, json.Unmarshal(b, &c) == nil && c != nil
}

// Text returns a member that must be a string and not empty.
func (c Object) Text(name string) (string, bool) {
	var s *string
	if json.Unmarshal(c[name], &s) != nil || s == nil {
		return "", false
	}
	return *s, *s != ""
}

// Seconds returns a member that must be a time in seconds.
func (c Object) Seconds(name string) (time.Time, bool) {
	var n *float64
	if json.Unmarshal(c[name], &n) != nil || n == nil || *n < 0 || *n > 1e15 {
		return time.Time{}, false
	}
	whole, part := math.Modf(*n)
	return time.Unix(int64(whole), int64(part*1e9)).UTC(), true
}
