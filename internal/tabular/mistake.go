package tabular

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Mistake is an error in the content of a table.
type Mistake struct {
	Line, Column int // Column in bytes; both count from 1
	What         string
}

func (m *Mistake) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.What)
}

// MaxReported is the maximum number of reported mistakes of a table: they often have one cause.
const MaxReported = 10

// Mistakes counts the mistakes in a table and keeps the first ones.
type Mistakes struct {
	File  string
	Use   Use
	Total int
	First []Mistake // in order, at most MaxReported
}

// Mistakes returns an empty collection for the mistakes of this table.
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

// Hint returns the next step for the user.
func (e *Mistakes) Hint() string {
	return fmt.Sprintf("fix the table and run the same command again; nothing was sent (for the format, see assetferry help %s)", e.Use.Topic)
}

// Note records an error if it is a *Mistake and returns nil. It returns any other error.
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

// Verdict returns m as an error if it contains a mistake, otherwise nil.
func (e *Mistakes) Verdict() error {
	if e.Total == 0 {
		return nil
	}
	return e
}
