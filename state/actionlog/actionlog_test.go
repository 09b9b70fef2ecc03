package actionlog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// export returns an export of n entries, and their end.
func export(tb testing.TB, n int) (lines []string, head Head) {
	tb.Helper()
	for i := range n {
		r, next, err := head.Append(Entry{
			StateID: "STATE", Time: time.Unix(int64(i), 5e6), Kind: Kinds()[i%len(Kinds())], Account: "ada@host", Host: "host",
			Actor:   Actor{Version: "1", Command: fmt.Sprintf("sync ./photos --max-delete %d", i), Config: First, Overrides: []string{"--accept-rules"}},
			Details: Details{"objects": i, "plan_sha256": First},
		})
		if err != nil {
			tb.Fatal(err)
		}
		lines, head = append(lines, r.Line+"\n"), next
	}
	var b strings.Builder
	if err := WriteTrailer(&b, head); err != nil {
		tb.Fatal(err)
	}
	return append(lines, b.String()), head
}

func check(text []byte) (first int64, head Head, entries int, err error) {
	first, head, err = Check(bytes.NewReader(text), func(Entry, Head) { entries++ })
	return first, head, entries, err
}

func TestCheck(t *testing.T) {
	lines, want := export(t, 5)
	for from := range 5 { // a part of a log is valid, too
		first, head, entries, err := check([]byte(strings.Join(lines[from:], "")))
		if err != nil || head != want || first != int64(from+1) || entries != 5-from {
			t.Errorf("from line %d: first %d, head %v, %d entries, %v", from, first, head, entries, err)
		}
	}
	if first, head, entries, err := check([]byte(strings.Join(lines[5:], ""))); err == nil {
		t.Errorf("without entries: %d, %v, %d", first, head, entries)
	}
	empty, none := export(t, 0)
	if first, head, entries, err := check([]byte(empty[0])); err != nil || first != 0 || head != none || entries != 0 {
		t.Errorf("empty log: %d, %v, %d, %v", first, head, entries, err)
	}
}

// The test changes exports at random. Each change must be found: of a byte, and entries that were
// removed, added, repeated or reordered.
func TestChangesAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(seedtest.Seed(t), 1))
	lines, head := export(t, 12)
	good := strings.Join(lines, "")
	other, _ := export(t, 14)
	changes := longtest.Size(2000, 10000)
	for range changes {
		changed := change(random, lines, other)
		if changed == good {
			continue
		}
		first, got, _, err := check([]byte(changed))
		// A part of a log that begins later is valid. It ends as the whole log does.
		if err == nil && (first == 1 || got != head) {
			t.Fatalf("not found: %s", changed)
		}
		if err != nil && !errors.Is(err, ErrChanged) {
			t.Fatalf("%v: %s", err, changed)
		}
	}
}

// change changes one thing in an export.
func change(random *rand.Rand, lines, other []string) string {
	lines = slices.Clone(lines)
	at, to := random.IntN(len(lines)), random.IntN(len(lines))
	switch random.IntN(6) {
	case 0:
		lines = slices.Delete(lines, at, at+1)
	case 1:
		lines = slices.Insert(lines, at, lines[to])
	case 2:
		lines[at], lines[to] = lines[to], lines[at]
	case 3:
		lines = slices.Insert(lines, at, other[random.IntN(len(other))])
	case 4:
		text := []byte(strings.Join(lines, ""))
		return string(text[:random.IntN(len(text))])
	default:
		text := []byte(strings.Join(lines, ""))
		text[random.IntN(len(text))] ^= 1 << random.IntN(8)
		return string(text)
	}
	return strings.Join(lines, "")
}

// An export is verified without a panic, and what is valid is written again in the same form.
func FuzzCheck(f *testing.F) {
	lines, _ := export(f, 3)
	f.Add([]byte(strings.Join(lines, "")))
	f.Add([]byte(strings.Join(lines[1:], "")))
	f.Add([]byte(lines[0]))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, head, entries, err := check(text)
		if err == nil && first > 0 && int64(entries) != head.Entries-first+1 {
			t.Errorf("%d entries from %d to %d", entries, first, head.Entries)
		}
	})
}

func TestChecksumIsThatOfTheLine(t *testing.T) {
	// printf 'abc\n' | sha256sum
	if got := Checksum("abc"); got != "edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb" {
		t.Error(got)
	}
}
