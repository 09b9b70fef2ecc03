package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
)

// Stable returns the rules without the parts that differ from run to run: the list of failed objects,
// the day, and the freeze of the wave.
func (r Rules) Stable() Rules {
	r.Wave, r.Day = r.Wave.unfrozen(), ""
	if r.Sync != nil {
		sync := *r.Sync
		sync.Failed, r.Sync = nil, &sync
	}
	return r
}

// Hash returns a hash of the rules.
func (r Rules) Hash() (string, error) {
	text, err := roundTrip(r)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

// Lines returns the rules for people, one a line, as "name: value". Unset rules have no line.
func (r Rules) Lines() []string { return fieldLines(reflect.ValueOf(r)) }

func fieldLines(rules reflect.Value) (lines []string) {
	for i := range rules.NumField() {
		field := rules.Field(i)
		if field.IsZero() {
			continue
		}
		if wave, ok := field.Interface().(*Wave); ok {
			lines = append(lines, "wave: "+wave.Text())
			continue
		}
		if sync, ok := field.Interface().(*SyncRules); ok {
			lines = append(lines, fieldLines(reflect.ValueOf(*sync))...)
			continue
		}
		name, _, _ := strings.Cut(rules.Type().Field(i).Tag.Get("json"), ",")
		text, _ := json.Marshal(field.Interface())
		words := inWords(field, text)
		if field.Kind() == reflect.String {
			words = field.String()
		}
		lines = append(lines, name+": "+words)
	}
	return lines
}
