package rights

import (
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	today := time.Date(2026, 3, 15, 23, 0, 0, 0, time.FixedZone("", -12*3600))
	for text, want := range map[string]State{
		"": NoDate, "  ": NoDate, "soon": Unreadable, "31.12.2026": Unreadable,
		"2026-03-14": Expired, "2026-03-15": Expiring, "2026:03:15 00:00:00": Expiring, "2026-06-12": Expiring, "2026-06-13": Valid, "20991231": Valid,
	} {
		if got := Of(text, today, 90); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if got := Of("2026-03-15", today, 0); got != Valid {
		t.Errorf("within no day: got %s", got)
	}
}
