package metadata

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// meaningOf returns our name for a column or a JSON field. by is set if it identifies objects. Names in
// columns of the mapping stay, because the mapping reads them.
func (t *Table) meaningOf(written string) (is string, by by) {
	if word := t.terms.Word(written); word != written {
		switch word {
		case string(byKey):
			return written, byKey
		case string(byOldURL):
			return written, byOldURL
		case "checksum":
			return written, byChecksum
		case Collections:
			return word, ""
		}
		return written, ""
	}
	switch f := folded(written); {
	case strings.EqualFold(written, string(byKey)):
		return string(byKey), byKey
	case f == string(byChecksum), f == "checksum":
		return written, byChecksum
	}
	if is = FieldName(written); is == string(byOldURL) {
		return is, byOldURL
	}
	return is, ""
}

// knownBy returns a row with the name of its object, or the mistake in the name.
func (t *Table) knownBy(by by, written string) (r row, wrong string) {
	r = row{by: by, known: strings.TrimSpace(written)}
	switch {
	case r.known == "":
		return r, fmt.Sprintf("the %s is missing", by)
	case by == byKey:
		r.known = strings.TrimPrefix(strings.TrimPrefix(r.known, "./"), "/") // it may be written as a path
	case by == byOldURL:
		r.keys = t.terms.Keys(r.known)
		if r.known = t.terms.Same(r.known); r.known == "" {
			return r, fmt.Sprintf("%q is not a URL such as https://old.example.com/files/a.jpg", written)
		}
	default:
		r.known = strings.ToLower(r.known)
		if checksum, err := hex.DecodeString(r.known); err != nil || len(checksum) != 32 {
			return r, fmt.Sprintf("%q is not a SHA-256 checksum of 64 hexadecimal digits", written)
		}
	}
	return r, ""
}

// wrongField returns the mistake in the name of a field, or "".
func wrongField(name string) string {
	switch name {
	case "":
		return "an attribute or a column needs a name"
	case Provenance:
		return fmt.Sprintf("the attribute %s is reserved for assetferry", name)
	}
	return ""
}

// SplitTags splits a text into tags. A tag that contains a separator needs a JSON table.
func SplitTags(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ',' })
}
