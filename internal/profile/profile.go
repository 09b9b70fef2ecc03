// Package profile writes the measured behaviour of services: as files, and as rows for people.
package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"
)

// A Row is a part of a profile in words: its name and its value.
type Row [2]string

// Encode returns a profile as YAML. Its head names the service that the profile is of.
func Encode(p any, of string) ([]byte, error) {
	text, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode profile: %w", err)
	}
	return fmt.Appendf(nil, "# Measured behaviour of %s that its documentation does not specify.\n# assetferry help profile explains each line.\n%s", of, text), nil
}

// Rows returns rows for people. A row without a value shows "not known". The properties that could
// not be measured follow at the end, with the reasons.
func Rows(rows []Row, unknown map[string]string) []Row {
	for i, r := range rows {
		rows[i][1] = cmp.Or(r[1], "not known")
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		rows = append(rows, Row{"not measured: " + name, unknown[name]})
	}
	return rows
}

// Number returns a limit in words: empty if it is not known, which is 0; less is none.
func Number(n int) string {
	switch {
	case n < 0:
		return "no limit found"
	case n == 0:
		return ""
	}
	return strconv.Itoa(n)
}
