package metadata

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Mistake is something in a table that cannot be meant.
type Mistake struct {
	Line, Column int // in bytes, from 1
	What         string
}

func (m *Mistake) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.What)
}

// toldMistakes is how many mistakes of a table are told. They are often all the same one.
const toldMistakes = 10

// A TableError says that a table has mistakes, and which come first.
type TableError struct {
	File  string
	Total int
	First []Mistake // in order, at most toldMistakes
}

func (e *TableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the metadata table has %d mistakes", e.Total)
	if e.Total == 1 {
		b.Reset()
		b.WriteString("the metadata table has a mistake")
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
func (e *TableError) Hint() string {
	return "mend the table and run the same command again, nothing was sent; assetferry help metadata tells the form"
}

// note takes down an error if it is a mistake; any other is given back.
func (e *TableError) note(err error) error {
	m, ok := errors.AsType[*Mistake](err)
	if !ok {
		return err
	}
	e.Total++
	at, _ := slices.BinarySearchFunc(e.First, *m, func(a, b Mistake) int { return a.Line - b.Line })
	e.First = slices.Insert(e.First, at, *m)
	e.First = e.First[:min(len(e.First), toldMistakes)]
	return nil
}

// verdict is the error if there is a mistake.
func (e *TableError) verdict() error {
	if e.Total == 0 {
		return nil
	}
	return e
}

// check says what about metadata the service will not take; the mistake has no place.
func check(m Metadata) *Mistake {
	if n := utf8.RuneCountInString(m.Description); n > MaxDescription {
		return &Mistake{What: fmt.Sprintf("the description has %d characters, and the service takes %d", n, MaxDescription)}
	}
	return nil
}
