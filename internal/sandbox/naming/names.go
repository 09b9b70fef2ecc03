// Package naming contains the rules for names, IDs and types.
package naming

import (
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/sandbox/problem"
)

// Maximum lengths in characters that clients allow. The limits of the server are not
// documented, so these are guesses.
const (
	MaxName        = 256
	MaxDescription = 1024
	MaxExtension   = 9
	MaxExtensions  = 100
)

// SplitName splits "photo.v2.jpg" into "photo.v2" and "jpg". A name whose only dot is at the
// start has no extension.
func SplitName(file string) (name, extension string) {
	if i := strings.LastIndexByte(file, '.'); i > 0 {
		return file[:i], file[i+1:]
	}
	return file, ""
}

// Fold returns an extension for comparisons.
func Fold(extension string) string { return strings.ToLower(extension) }

// Normal returns a name for comparisons, which respect case. A guess.
func Normal(name string) string { return norm.NFC.String(name) }

// CheckName refuses names that are empty, too long or not UTF-8.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return problem.Refuse(http.StatusBadRequest, "The %s is empty.", what)
	case !utf8.ValidString(name):
		return problem.Refuse(http.StatusBadRequest, "The %s is not valid UTF-8.", what)
	case utf8.RuneCountInString(name) > MaxName:
		return problem.Refuse(http.StatusBadRequest, "The %s is longer than %d characters.", what, MaxName)
	}
	return nil
}

// Disposition parses the field and file name of a Content-Disposition header byte by byte: the
// file name is raw UTF-8 in quotes.
func Disposition(header string) (field, file string, isFile bool) {
	field, _ = quoted(header, "name")
	if file, isFile = quoted(header, "filename"); isFile {
		return field, baseName(file), true
	}
	// Forms should not do so, but some libraries encode the name.
	if _, params, err := mime.ParseMediaType(header); err == nil && params["filename"] != "" {
		return params["name"], baseName(params["filename"]), true
	}
	return field, "", false
}

// quoted finds parameter="value". Quotes in the value are \" from some clients and %22 from
// browsers; with backslash escapes, %22 is literal.
func quoted(header, parameter string) (string, bool) {
	for rest := header; ; {
		_, after, found := strings.Cut(rest, ";")
		if !found {
			return "", false
		}
		rest = strings.TrimLeft(after, " \t")
		key, value, found := strings.Cut(rest, "=\"")
		if !found {
			return "", false
		}
		if strings.ContainsRune(key, ';') {
			continue // an unquoted parameter came first
		}
		text, tail, ok := unquote(value)
		if !ok {
			return "", false
		}
		if strings.EqualFold(strings.TrimSpace(key), parameter) {
			return text, true
		}
		rest = tail
	}
}

// unquote parses up to the closing quote.
func unquote(s string) (text, rest string, ok bool) {
	var b strings.Builder
	escaped := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			escaped = true
			i++
			b.WriteByte(s[i])
		case s[i] == '"' && escaped:
			return b.String(), s[i+1:], true
		case s[i] == '"':
			return strings.ReplaceAll(b.String(), "%22", `"`), s[i+1:], true
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// baseName removes the folders that some clients send. A backslash is part of a name, unless
// the whole is a Windows path.
func baseName(file string) string {
	file = file[strings.LastIndexByte(file, '/')+1:]
	if len(file) > 2 && file[1:3] == `:\` || strings.HasPrefix(file, `\\`) {
		file = file[strings.LastIndexByte(file, '\\')+1:]
	}
	return file
}
