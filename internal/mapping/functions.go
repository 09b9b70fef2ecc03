package mapping

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"golang.org/x/text/unicode/norm"
)

// maxText is the maximum size in bytes of a text in expressions. Without a limit, a few replacements
// could fill the memory.
const maxText = 64 << 10

// maxParts is the maximum number of parts of split, for the same reason.
const maxParts = 2000

// A function is our own function for expressions, in addition to libraryFunctions.
type function struct {
	name  string
	call  func(args ...any) (any, error)
	types []any
}

// ownFunctions returns the functions that depend only on their arguments. Functions of the object are
// methods of a scope.
func ownFunctions() []function {
	return []function{
		{"day", callDay, []any{new(func(string) day), new(func(string, string) day)}},
		{"date", callDate, []any{new(func(string, string) string)}},
		{"either", callEither, []any{new(func(string, ...string) string)}},
		{"slug", callSlug, []any{new(func(string) string)}},
		{"flatten", callFlatten, []any{new(func(string, ...string) string)}},
		{"segment", callSegment, []any{new(func(string, int) string)}},
		{"segments", callSegments, []any{new(func(string) []string)}},
		{"replace", callReplace, []any{new(func(string, string, string) string)}},
		{"split", callSplit, []any{new(func(string, string) []string), new(func(string, string, int) []string)}},
		{"join", callJoin, []any{new(func([]string) string), new(func([]any) string), new(func([]string, string) string), new(func([]any, string) string)}},
	}
}

// libraryFunctions returns the functions of the library that rules may call. The others have side
// effects, read the clock, or make no sense for an object.
func libraryFunctions() []string {
	return []string{
		"trim", "trimPrefix", "trimSuffix", "upper", "lower", "hasPrefix", "hasSuffix", "indexOf",
		"len", "first", "last", "take", "uniq", "sort", "reverse", "concat", "all", "any", "none", "filter", "map",
		"find", "count", "int", "float", "string", "min", "max",
	}
}

func functionOptions() []expr.Option {
	options := []expr.Option{expr.DisableAllBuiltins()}
	for _, name := range libraryFunctions() {
		options = append(options, expr.EnableBuiltin(name))
	}
	for _, f := range ownFunctions() {
		options = append(options, expr.Function(f.name, f.call, f.types...))
	}
	return append(options, dayOperators()...)
}

// timeForms returns the layouts of times, as written by package metadata and by people.
func timeForms() []string {
	return []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006:01:02 15:04:05", time.DateOnly, "2006-01", "2006"}
}

// callDate formats a time, as in "YYYY/MM". It returns "" for a text that is not a time.
func callDate(args ...any) (any, error) {
	written, form := args[0].(string), args[1].(string)
	if what := wrongForm(form); what != "" {
		return nil, errors.New(what)
	}
	for _, layout := range timeForms() {
		if t, err := time.Parse(layout, strings.TrimSpace(written)); err == nil {
			return dateIn(t, form), nil
		}
	}
	return "", nil
}

// wrongForm returns the mistake in a date format, or "".
func wrongForm(form string) string {
	if dateIn(time.Time{}, form) == form {
		return fmt.Sprintf("%q is not a date format; use YYYY, MM, DD, hh, mm and ss, as in \"YYYY/MM\"", form)
	}
	return ""
}

// dateIn formats a time.
func dateIn(t time.Time, form string) string {
	layouts := [...][2]string{{"YYYY", "2006"}, {"YY", "06"}, {"MM", "01"}, {"DD", "02"}, {"hh", "15"}, {"mm", "04"}, {"ss", "05"}}
	var written []byte
parts:
	for form != "" {
		for _, l := range layouts {
			if rest, ok := strings.CutPrefix(form, l[0]); ok {
				written, form = t.AppendFormat(written, l[1]), rest
				continue parts
			}
		}
		written, form = append(written, form[0]), form[1:]
	}
	return string(written)
}

// callEither returns the first text that is not empty.
func callEither(args ...any) (any, error) {
	for _, a := range args {
		if text, _ := a.(string); strings.TrimSpace(text) != "" {
			return text, nil
		}
	}
	return "", nil
}

// callSlug converts a text to lower-case letters and digits, with dashes for other characters.
func callSlug(args ...any) (any, error) {
	var b strings.Builder
	dash := false
	for _, r := range norm.NFD.String(strings.ToLower(args[0].(string))) {
		switch {
		case unicode.Is(unicode.Mn, r): // é becomes e
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
		default:
			dash = true
		}
	}
	return norm.NFC.String(b.String()), nil
}

// callFlatten joins the segments of a folder.
func callFlatten(args ...any) (any, error) {
	separator := "-"
	if len(args) > 1 {
		separator = args[1].(string)
	}
	return bounded(strings.Join(segmentsOf(args[0].(string)), separator))
}

// callSegment returns a segment by its number, from 1, or from -1 backwards; "" if there is none.
func callSegment(args ...any) (any, error) {
	segments, n := segmentsOf(args[0].(string)), args[1].(int)
	switch {
	case n == 0:
		return nil, errors.New("segment 0 does not exist: use 1 for the first, -1 for the last")
	case n < 0:
		n += len(segments) + 1
	}
	if n < 1 || n > len(segments) {
		return "", nil
	}
	return segments[n-1], nil
}

func callSegments(args ...any) (any, error) { return segmentsOf(args[0].(string)), nil }

func segmentsOf(folder string) []string {
	return slices.DeleteFunc(strings.Split(folder, "/"), func(s string) bool { return s == "" })
}

// callReplace replaces every occurrence of a text.
func callReplace(args ...any) (any, error) {
	text, old, by := args[0].(string), args[1].(string), args[2].(string)
	if old == "" {
		return text, nil
	}
	if n := strings.Count(text, old); len(text)+n*(len(by)-len(old)) > maxText {
		return nil, errLong
	}
	return strings.ReplaceAll(text, old, by), nil
}

// callSplit is the split function of the library with a limit.
func callSplit(args ...any) (any, error) {
	most := maxParts + 1
	if len(args) > 2 && args[2].(int) >= 0 {
		most = min(most, args[2].(int))
	}
	parts := strings.SplitN(args[0].(string), args[1].(string), most)
	if len(parts) > maxParts {
		return nil, fmt.Errorf("the text has more than %d parts", maxParts)
	}
	return parts, nil
}

// callJoin is the join function of the library with a limit.
func callJoin(args ...any) (any, error) {
	texts, ok := listOf(args[0])
	separator := ""
	if len(args) > 1 {
		separator = args[1].(string)
	}
	length := len(separator) * len(texts)
	for _, t := range texts {
		length += len(t)
	}
	switch {
	case !ok:
		return nil, errors.New("join needs a list of texts")
	case length > maxText+len(separator):
		return nil, errLong
	}
	return strings.Join(texts, separator), nil
}

var errLong = fmt.Errorf("the text is longer than %d KiB", maxText>>10)

func bounded(text string) (string, error) {
	if len(text) > maxText {
		return "", errLong
	}
	return text, nil
}

// characters returns the number of characters of a text.
func characters(text string) int { return utf8.RuneCountInString(text) }
