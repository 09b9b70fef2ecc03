package metadata

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// meaningOf says what a column, or a field of JSON, is called here: by is what objects can be
// known by, where it is that.
// Names that the user explained stay, since a mapping reads them.
func (t *Table) meaningOf(written string) (is string, by by) {
	if word := t.terms.Word(written); word != written {
		switch word {
		case string(byKey):
			return written, byKey
		case string(byAddress):
			return written, byAddress
		case "digest":
			return written, byChecksum
		}
		return written, ""
	}
	switch f := folded(written); {
	case strings.EqualFold(written, string(byKey)):
		return string(byKey), byKey
	case f == string(byChecksum), f == "digest":
		return written, byChecksum
	}
	if is = FieldName(written); is == string(byAddress) {
		return is, byAddress
	}
	return is, ""
}

// knownBy begins a row with what it knows its object by, or says what is wrong with that.
func (t *Table) knownBy(by by, written string) (r row, wrong string) {
	r = row{by: by, known: strings.TrimSpace(written)}
	switch {
	case r.known == "":
		return r, fmt.Sprintf("the row has no %s", by)
	case by == byKey:
		r.known = strings.TrimPrefix(strings.TrimPrefix(r.known, "./"), "/") // maybe it is written as a path
	case by == byAddress:
		r.keys = t.terms.Keys(r.known)
		if r.known = t.terms.Same(r.known); r.known == "" {
			return r, fmt.Sprintf("%q is no address such as https://old.example.com/files/a.jpg", written)
		}
	default:
		r.known = strings.ToLower(r.known)
		if checksum, err := hex.DecodeString(r.known); err != nil || len(checksum) != 32 {
			return r, fmt.Sprintf("%q is no SHA-256: that has 64 digits, and letters from a to f", written)
		}
	}
	return r, ""
}

// wrongField says why something cannot be the name of a field, or nothing.
func wrongField(name string) string {
	switch name {
	case "":
		return "an attribute, or a column, has no name"
	case Provenance:
		return fmt.Sprintf("the attribute %s is assetferry's own", name)
	}
	return ""
}

// SplitTags makes tags of one text. A tag with one of the separators in it takes a table of
// JSON.
func SplitTags(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ',' })
}
