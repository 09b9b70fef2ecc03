package state

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/test/holdings"
)

// The test verifies that package erasure handles every table with personal data, except tables whose
// rows are not about an object.
func TestForgetHandlesTables(t *testing.T) {
	source, err := os.ReadFile("erasure/delete.go")
	must(t, err)
	general := strings.Fields(`action_log audits calls categories choices conversations enrichment_runs folders intents ours owner`)
	for _, kind := range holdings.Kinds() {
		if kind.Text == "" {
			continue
		}
		for table := range kind.Columns {
			if !slices.Contains(general, table) && !regexp.MustCompile(`\b`+table+`\b`).Match(source) {
				t.Errorf("state forget keeps the rows of %s", table)
			}
		}
	}
}
