package report

import (
	"cmp"
	"fmt"
	"iter"
	"unicode/utf8"

	"assetferry/internal/ui"
)

// An excerpt is the beginning of a list, as far as a page has room for it.
type excerpt[T any] struct {
	Rows    []T
	Left    int64  // rows that are not shown
	Command string // that lists all
	room    int
}

// Shown counts the rows on the page.
func (e excerpt[T]) Shown() int64 { return int64(len(e.Rows)) }

const (
	mostRows = 500
	// roomForList bounds one list, in bytes of HTML. A page has seven.
	roomForList = 600_000
	// roomForFew bounds one of the lists of a sync, of which a page has about twenty.
	roomForFew = 36_000
	// roomForText bounds one text before it is escaped; keys may be of any length.
	roomForText = 4_000
)

// add adds a row if there is room for it, and only counts it otherwise. After the first row without
// room, no other is added: an excerpt is the beginning of a list.
func (e *excerpt[T]) add(v T, texts ...string) {
	if e.Left > 0 || len(e.Rows) == mostRows || e.room < weight(texts) {
		e.Left++
		return
	}
	e.room -= weight(texts)
	e.Rows = append(e.Rows, v)
}

// weight returns the bytes that a row with these texts takes on a page at most.
func weight(texts []string) int {
	const tags, escaped = 600, 5 // each character may become five
	n := tags
	for _, t := range texts {
		n += tags/4 + escaped*len(clean(t))
	}
	return n
}

// clean makes a text from outside safe: characters that would reorder or end the text around it
// become visible, and the middle of a very long text is omitted.
func clean(text string) string {
	s := ui.Sanitize(text)
	if len(s) <= roomForText {
		return s
	}
	head, tail := roomForText*3/4, len(s)-roomForText/4
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s [… %s bytes …] %s", s[:head], ui.Count(int64(tail-head)), s[tail:])
}

// cut returns the beginning of a list.
func cut[T any](all []T, command string, texts func(T) []string) excerpt[T] {
	e := excerpt[T]{Command: command, room: roomForList}
	for _, v := range all {
		e.add(v, texts(v)...)
	}
	return e
}

// firstLines returns the first of so many lines, and reads no more than that.
func firstLines(lines iter.Seq2[Line, error], count int64, command string) (excerpt[Line], error) {
	e := excerpt[Line]{Command: command, room: roomForList}
	if count == 0 {
		return e, nil
	}
	for l, err := range lines {
		if err != nil {
			return e, err
		}
		if e.add(l, l.Key, l.Why()); e.Left > 0 {
			break
		}
	}
	e.Left = max(e.Left, count-int64(len(e.Rows)))
	return e, nil
}

// Why returns the error of an object, or the reason of its action.
func (l Line) Why() string { return cmp.Or(l.Error, l.Message) }

func skippedTexts(s Skipped) []string { return append([]string{s.Message, s.Decides}, s.Examples...) }

func problemTexts(p Problem) []string {
	texts := []string{p.Message, p.Remedy}
	for _, e := range p.Examples {
		texts = append(texts, e.Key, e.Error)
	}
	return texts
}

func fieldTexts(f Field) []string { return []string{f.Name, f.From} }

func remarkTexts(r Remark) []string {
	texts := []string{r.What}
	for _, e := range r.Examples {
		texts = append(texts, e.Key, e.Error)
	}
	return texts
}

func differenceTexts(d Difference) []string { return []string{d.Key, d.AssetID, d.Field, d.Message} }

func alterationTexts(a Alteration) []string {
	return append(append([]string{a.State}, a.Examples...), froms(a.Moves)...)
}

func nameTexts(n Name) []string { return []string{n.Key, n.AssetName} }

func froms(all []Move) (keys []string) {
	for _, m := range all {
		keys = append(keys, m.From)
	}
	return keys
}

func categoryTexts(c Category) []string { return []string{c.Name, c.ID} }

// A folderRow counts the objects in a folder by group.
type folderRow struct {
	Folder
	Groups []group
}

// firstFolders returns the first folders and counts the others.
func firstFolders(folders iter.Seq2[Folder, error], u Undo, command string) (excerpt[folderRow], error) {
	e := excerpt[folderRow]{Command: command, room: roomForList}
	for f, err := range folders {
		if err != nil {
			return e, err
		}
		e.add(folderRow{f, groupsOf(f.Listed, f.States, u)}, f.Name)
	}
	return e, nil
}
