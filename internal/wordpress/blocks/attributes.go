package blocks

import (
	"encoding/json"
	"slices"
	"strings"
)

// isObject reports whether a text is a JSON object.
func isObject(text string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &fields) == nil
}

// stringField returns a string of a JSON object, or "".
func stringField(object, name string) string {
	var fields map[string]json.RawMessage
	var value string
	if json.Unmarshal([]byte(object), &fields) != nil || json.Unmarshal(fields[name], &value) != nil {
		return ""
	}
	return value
}

// without returns a JSON object without some of its fields, and how many it had. The other fields
// keep their bytes. An object without fields becomes "", as WordPress writes it.
func without(object string, names []string) (text string, removed int) {
	decoder := json.NewDecoder(strings.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return object, 0
	}
	var kept []string
	from := int(decoder.InputOffset())
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return object, 0
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return object, 0
		}
		to := int(decoder.InputOffset())
		if name, _ := key.(string); slices.Contains(names, name) {
			removed++
		} else {
			kept = append(kept, strings.TrimLeft(object[from:to], ", \t\r\n"))
		}
		from = to
	}
	switch {
	case removed == 0:
		return object, 0
	case len(kept) == 0:
		return "", removed
	}
	return "{" + strings.Join(kept, ",") + object[strings.LastIndexByte(object, '}'):], removed
}
