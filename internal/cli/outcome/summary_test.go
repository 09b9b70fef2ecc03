package outcome

import (
	"strings"
	"testing"

	"assetferry/migrate"
	"assetferry/state"
)

// The test verifies that lists are wrapped only between their parts.
func TestWrapped(t *testing.T) {
	long := strings.Repeat("x", 50)
	for list, want := range map[string]string{
		"":                                  "",
		"one":                               "one",
		"one (1); two (2)":                  "one (1); two (2)",
		long + "; " + long[:27] + "; a (1)": long + "; " + long[:27] + ";\n  a (1)",
		long + "; " + long + "; " + long:    long + ";\n  " + long + ";\n  " + long,
		long + long + "; b":                 long + long + ";\n  b",
	} {
		if got := Wrapped(list, "  "); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestBytesSent(t *testing.T) {
	tallies := []state.Tally{
		{Action: state.Create, State: state.ItemDone, Bytes: 1},
		{Action: state.Replace, State: state.ItemDone, Bytes: 2, Reason: string(migrate.ReasonContentChanged)},
		{Action: state.Create, State: state.ItemFailed, Bytes: 4},
		{Action: state.Move, State: state.ItemDone, Bytes: 8},
		{Action: state.Adopt, State: state.ItemDone, Bytes: 16},
		{Action: state.Create, State: state.ItemDone, Bytes: 32, Reason: string(migrate.ReasonUndoTrashed)},
		{Action: state.Replace, State: state.ItemDone, Bytes: 64, Reason: string(migrate.ReasonUndoReplaced)},
	}
	if got := BytesSent(tallies); got != 1+2 {
		t.Errorf("bytesSent = %d, want what was created and replaced: 3", got)
	}
}
