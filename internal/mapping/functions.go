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

// maxText is how many bytes a text may have that an expression makes. Nothing that is sent
// is longer, and without a limit a few replacements would fill the memory.
const maxText = 64 << 10

// maxParts is how many texts one may be split into, for the same reason.
const maxParts = 2000

// A function is one of those that expressions call, beside the ones of the library that
// libraryFunctions lists.
type function struct {
	name  string
	call  func(args ...any) (any, error)
	types []any
}

// ownFunctions are those that look at nothing but their arguments. Those that look at the
// object are methods of a scope.
func ownFunctions() []function {
	return []function{
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

// libraryFunctions are those of the library that rules may call. What is left out has side
// effects, looks at a clock, or answers a question that nobody asks of an object.
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
	return options
}

// The forms in which a time is written, as package metadata gives them and as people do.
func timeForms() []string {
	return []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006:01:02 15:04:05", time.DateOnly, "2006-01", "2006"}
}

// callDate writes a time in a form such as "YYYY/MM". What is no time gives nothing.
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

// wrongForm says why something is no form of a date, or nothing.
func wrongForm(form string) string {
	if dateIn(time.Time{}, form) == form {
		return fmt.Sprintf("%q is no form of a date; write it with YYYY, MM, DD, hh, mm and ss, such as \"YYYY/MM\"", form)
	}
	return ""
}

// dateIn puts the parts of a time into a form.
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

// callSlug makes lower-case letters and digits of a text, with a dash for all else.
func callSlug(args ...any) (any, error) {
	var b strings.Builder
	dash := false
	for _, r := range norm.NFD.String(strings.ToLower(args[0].(string))) {
		switch {
		case unicode.Is(unicode.Mn, r): // é is e
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

// callFlatten makes one segment of a folder.
func callFlatten(args ...any) (any, error) {
	separator := "-"
	if len(args) > 1 {
		separator = args[1].(string)
	}
	return bounded(strings.Join(segmentsOf(args[0].(string)), separator))
}

// callSegment returns a segment by its number, from 1, or from -1 backwards; nothing if there
// are not so many.
func callSegment(args ...any) (any, error) {
	segments, n := segmentsOf(args[0].(string)), args[1].(int)
	switch {
	case n == 0:
		return nil, errors.New("segments are counted from 1, and from -1 backwards")
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

// callSplit is as the library's, but for the bound.
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

// callJoin is as the library's, but for the bound.
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
		return nil, errors.New("join takes a list of texts")
	case length > maxText+len(separator):
		return nil, errLong
	}
	return strings.Join(texts, separator), nil
}

var errLong = fmt.Errorf("the text grows longer than %d KiB", maxText>>10)

func bounded(text string) (string, error) {
	if len(text) > maxText {
		return "", errLong
	}
	return text, nil
}

// characters counts those of a text.
func characters(text string) int { return utf8.RuneCountInString(text) }
