package sourcehttp

import (
	"crypto/tls"
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// ParseRange reads "bytes 5-9/10": where an answer begins, and how much there is in all.
func ParseRange(text string) (first, total int64, ok bool) {
	text, isBytes := strings.CutPrefix(text, "bytes ")
	span, whole, slash := strings.Cut(text, "/")
	begin, _, dash := strings.Cut(span, "-")
	first, err := strconv.ParseInt(begin, 10, 64)
	total, err2 := strconv.ParseInt(whole, 10, 64)
	return first, total, isBytes && slash && dash && err == nil && err2 == nil && first >= 0 && total > first
}

// IsTrustError reports whether TLS could not establish who is at the other end.
func IsTrustError(err error) bool {
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	return bad || header
}

// OneLine keeps what a server says from filling a screen.
func OneLine(text string) string {
	const most = 300
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
