package tabular

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Mistake is something in a table that cannot be meant.
type Mistake struct {
	Line, Column int // in bytes, from 1
	What         string
}

func (m *Mistake) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.What)
}

// MaxReported is how many mistakes of a table are told. They are often all the same one.
const MaxReported = 10

// Mistakes are what is wrong with a table: how much, and what comes first.
type Mistakes struct {
	File  string
	Use   Use
	Total int
	First []Mistake // in order, at most MaxReported
}

// Mistakes begins to collect those of a table.
func (f *File) Mistakes() *Mistakes { return &Mistakes{File: f.name, Use: f.use} }

func (e *Mistakes) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the %s has %d mistakes", e.Use.Kind, e.Total)
	if e.Total == 1 {
		b.Reset()
		fmt.Fprintf(&b, "the %s has a mistake", e.Use.Kind)
	}
	for _, m := range e.First {
		fmt.Fprintf(&b, "\n%s:%d:%d: %s", e.File, m.Line, m.Column, m.What)
	}
	if more := e.Total - len(e.First); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Hint is what to do next.
func (e *Mistakes) Hint() string {
	return fmt.Sprintf("fix the table and run the same command again; nothing was sent (for the format, see assetferry help %s)", e.Use.Topic)
}

// Note takes down an error if it is a mistake; any other is given back.
func (e *Mistakes) Note(err error) error {
	m, ok := errors.AsType[*Mistake](err)
	if !ok {
		return err
	}
	e.Total++
	at, _ := slices.BinarySearchFunc(e.First, *m, func(a, b Mistake) int { return a.Line - b.Line })
	e.First = slices.Insert(e.First, at, *m)
	e.First = e.First[:min(len(e.First), MaxReported)]
	return nil
}

// Verdict is the error if there is a mistake.
func (e *Mistakes) Verdict() error {
	if e.Total == 0 {
		return nil
	}
	return e
}
