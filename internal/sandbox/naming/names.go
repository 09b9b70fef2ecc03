// Package naming has what names may be, and how IDs and types come from them.
package naming

import (
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/sandbox/problem"
)

// The longest values that clients allow, in characters; the server's own limits
// are not documented, so the same here is a guess.
const (
	MaxName        = 256
	MaxDescription = 1024
	MaxExtension   = 9
	MaxExtensions  = 100
)

// SplitName cuts "photo.v2.jpg" into "photo.v2" and "jpg". What starts with its
// only dot has no extension.
func SplitName(file string) (name, extension string) {
	if i := strings.LastIndexByte(file, '.'); i > 0 {
		return file[:i], file[i+1:]
	}
	return file, ""
}

// Fold is the form in which extensions are compared.
func Fold(extension string) string { return strings.ToLower(extension) }

// Normal is the form in which names are compared: their case matters. A guess.
func Normal(name string) string { return norm.NFC.String(name) }

// CheckName refuses names that are empty, too long or not text.
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

// Disposition reads the names of field and file from a Content-Disposition
// header, byte for byte: the file name arrives as raw UTF-8 in quotes.
func Disposition(header string) (field, file string, isFile bool) {
	field, _ = quoted(header, "name")
	if file, isFile = quoted(header, "filename"); isFile {
		return field, baseName(file), true
	}
	// Forms should not, but some libraries encode the name instead.
	if _, params, err := mime.ParseMediaType(header); err == nil && params["filename"] != "" {
		return params["name"], baseName(params["filename"]), true
	}
	return field, "", false
}

// quoted finds parameter="value". Quotes in the value come as \" from some
// clients and as %22 from browsers; a client that escapes with backslashes means
// its %22 literally.
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

// unquote reads up to the closing quote.
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

// baseName drops the folders that some clients send along. A backslash is part
// of a name, unless the whole is a path of Windows.
func baseName(file string) string {
	file = file[strings.LastIndexByte(file, '/')+1:]
	if len(file) > 2 && file[1:3] == `:\` || strings.HasPrefix(file, `\\`) {
		file = file[strings.LastIndexByte(file, '\\')+1:]
	}
	return file
}
