package statecmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/state/actionlog"
)

// detailsText returns the details of an entry in one line, in the order of their names.
func detailsText(details actionlog.Details) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(details)) {
		value := details[name]
		if inner, ok := value.(map[string]any); ok {
			value = detailsText(inner)
		}
		parts = append(parts, fmt.Sprintf("%s: %v", strings.ReplaceAll(name, "_", " "), value))
	}
	return strings.Join(parts, ", ")
}
