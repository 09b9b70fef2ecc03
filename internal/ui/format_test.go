package ui

import (
	"math"
	"testing"
	"time"
	"unicode"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234567: "1.2 MB", 999_949: "999.9 kB", 999_950: "1.0 MB",
		123_456_789: "123.5 MB", 5e9: "5.0 GB", math.MaxInt64: "9.2 EB", -1: "-1 B", -1234567: "-1.2 MB", math.MinInt64: "-9.2 EB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -123: "-123", -1234: "-1,234", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 0: "0.0s", 1234 * time.Millisecond: "1.2s", 9970 * time.Millisecond: "10s",
		34 * time.Second: "34s", 59600 * time.Millisecond: "1m00s", 5*time.Minute + 6*time.Second: "5m06s",
		7*time.Hour + 8*time.Minute: "7h08m", 226 * time.Hour: "9d10h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	got := Table(
		[]Column{{Title: "name"}, {Title: "size", Right: true}, {Title: "folder"}},
		[][]string{
			{"harbour.jpg", "1.2 MB", "photos/2024"},
			{"写真.jpg", "34 B", "日本"},
			{"cafe\u0301\x1b[31m.png", "999.9 kB"},
			{"a", "b", "c", "too many"},
		})
	want := `name                  size  folder
harbour.jpg         1.2 MB  photos/2024
写真.jpg              34 B  日本
cafe` + "\u0301" + `\x1b[31m.png  999.9 kB
a                        b  c
`
	equal(t, got, want)
}

func TestSanitize(t *testing.T) {
	for in, want := range map[string]string{
		"plain name.jpg": "plain name.jpg",
		"日本 café \U0001f468\u200d\U0001f469": "日本 café \U0001f468\u200d\U0001f469",
		"a\x1b[2Jb":           `a\x1b[2Jb`,
		"a\nb\tc\rd":          `a\nb\tc\rd`,
		"\x7f\u009b31m":       `\x7f\u009b31m`,
		"gpj.\u202eexe":       `gpj.\u202eexe`,
		"bad\xff\xfe":         `bad\xff\xfe`,
		"already \uFFFD here": "already \uFFFD here",
		"\x1b \uFFFD":         "\\x1b \uFFFD",
		`back\slash`:          `back\slash`,
	} {
		if got := Sanitize(in); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Sanitize(s)
		for _, r := range got {
			if unicode.IsControl(r) || reorders(r) {
				t.Fatalf("Sanitize(%q) leaves %q", s, r)
			}
		}
		if again := Sanitize(got); again != got {
			t.Fatalf("Sanitize(%q) = %q, then %q", s, got, again)
		}
	})
}
