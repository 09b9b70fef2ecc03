package report

import (
	"fmt"
	"io"
	"strings"

	"assetferry/internal/ui"
)

// keysForm writes one key a line, as --files-from reads them.
type keysForm struct {
	clean  func(string) string
	broken LineBreakError
}

// A LineBreakError says that keys with line breaks were omitted from a list of one key a line.
type LineBreakError struct {
	Keys  int64
	First string
}

func (e *LineBreakError) Error() string {
	return fmt.Sprintf("%s with line breaks were omitted, because each line is one key; the first is %s",
		ui.Counted(e.Keys, "key"), ui.Sanitize(e.First))
}

// add adds the keys of another list.
func (e *LineBreakError) add(other LineBreakError) {
	if e.Keys += other.Keys; e.First == "" {
		e.First = other.First
	}
}

// Hint returns the next step.
func (e *LineBreakError) Hint() string { return "--format csv lists all of them" }

func (*keysForm) extension() string             { return ".txt" }
func (*keysForm) begin(io.Writer, Report) error { return nil }
func (*keysForm) end(io.Writer, Folder) error   { return nil }

func (f *keysForm) line(w io.Writer, l Line) error {
	if strings.ContainsAny(l.Key, "\n\r") {
		if f.broken.Keys++; f.broken.Keys == 1 {
			f.broken.First = l.Key
		}
		return nil
	}
	key := l.Key
	if strings.HasPrefix(key, "./") {
		key = "./" + key // --files-from removes one
	}
	_, err := io.WriteString(w, f.clean(key)+"\n")
	return err
}

// The index of key lists has counts, so it is written as text.
func (*keysForm) beginIndex(w io.Writer, r Report) error { return textForm{}.beginIndex(w, r) }

func (*keysForm) entry(w io.Writer, f Folder, file string) error { return textForm{}.entry(w, f, file) }

func (*keysForm) endIndex(w io.Writer, r Report) error { return textForm{}.endIndex(w, r) }
