package repeat

import (
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFilter verifies that no repetition is missed, and that few values of a million are mistaken
// for one.
func TestFilter(t *testing.T) {
	const many = 1_000_000
	numbers, texts := NewFilter(), NewFilter()
	mistakes := 0
	for n := range int64(many) {
		if numbers.AddNumber(n) {
			mistakes++
		}
		if n%10 == 0 && texts.AddText(strconv.FormatInt(n, 10), n%7) {
			mistakes++
		}
	}
	if mistakes > 10 {
		t.Errorf("%d new values count as repeated", mistakes)
	}
	for n := range int64(many) {
		if !numbers.AddNumber(n) {
			t.Fatalf("%d is new, although it was added", n)
		}
		if n%10 == 0 && !texts.AddText(strconv.FormatInt(n, 10), n%7) {
			t.Fatalf("the text %d is new, although it was added", n)
		}
	}
}

// TestTextAndNumber verifies that equal texts with different numbers are different values.
func TestTextAndNumber(t *testing.T) {
	f := NewFilter()
	f.AddText("a", 1)
	if f.AddText("a", 2) || f.AddText("b", 1) || !f.AddText("a", 1) {
		t.Error("text and number do not both count")
	}
}

func BenchmarkAddNumber(b *testing.B) {
	f := NewFilter()
	for n := int64(0); b.Loop(); n++ {
		f.AddNumber(n)
	}
}
