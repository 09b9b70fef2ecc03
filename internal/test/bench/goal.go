package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A goal is a value that a figure must reach, in words and with the verdict.
type goal struct {
	text    string
	verdict verdict
}

// A verdict is whether a figure reached a goal.
type verdict string

const (
	reached = verdict("reached")
	missed  = verdict("**missed**")
	noPeer  = verdict("rclone not available") // and everything else was reached
)

func atMost[T cmp.Ordered](got, limit T, text string) goal {
	if got > limit {
		return goal{text, missed}
	}
	return goal{text, reached}
}

func atLeast[T cmp.Ordered](got, limit T, text string) goal { return atMost(limit, got, text) }

func wallWithin(u usage, limit time.Duration) goal { return atMost(u.Wall, limit, limit.String()) }

func memoryWithin(u usage, limit int64) goal {
	return atMost(u.RSS, limit*1e6, fmt.Sprintf("%d MB", limit))
}

func countWithin(got, limit int64, of string) goal {
	return atMost(got, limit, grouped(limit)+" "+of)
}

// grouped returns a number below a million with a comma between thousands.
func grouped(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// verdict returns the verdict on a row: the worst of its goals.
func (r row) verdict() verdict {
	for _, v := range []verdict{missed, noPeer} {
		if slices.ContainsFunc(r.goals, func(g goal) bool { return g.verdict == v }) {
			return v
		}
	}
	return reached
}

// must returns all goals of a row in words.
func (r row) must() string {
	var texts []string
	for _, g := range r.goals {
		texts = append(texts, g.text)
	}
	return strings.Join(texts, ", ")
}
