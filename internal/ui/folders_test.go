package ui

import (
	"strings"
	"testing"
	"time"
)

// TestProgressOfFolders verifies that a listing without a known number of objects has an estimate from
// its folders, which ends with the phase.
func TestProgressOfFolders(t *testing.T) {
	_, got := run(t, Options{Progress: "plain"}, func(p *Progress) {
		begun := time.Now()
		p.StartPhase("scan", -1, -1)
		p.CountFolders(func() (listed, known int64) { return int64(time.Since(begun) / time.Second), 40 })
		steadily(p, 25, 5, 0)
		p.EndPhase()
		p.StartPhase("upload", -1, -1)
		steadily(p, 12, 5, 0)
		p.EndPhase()
	})
	want := `scan: 50 objects so far, 10 of 40 folders, 5.0/s, at least 30s
scan: 100 objects so far, 20 of 40 folders, 5.0/s, at least 20s
scan: 125 objects, 5.0/s, in 25s
upload: 50 objects so far, 5.0/s
upload: 60 objects, 5.0/s, in 12s
`
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
