package sources

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// A Key is an object's full name within its source, ordered by bytes. It may contain any bytes. It
// looks like a slash-separated path, but only package local converts it to one, with checks.
type Key string

// MaxKeyLength is the maximum length of a key in bytes. S3 allows 1,024; paths in directory trees can
// be longer.
const MaxKeyLength = 32 << 10

// Reasons why a key cannot become a folder path and a name at the destination.
var (
	ErrKeyEmpty   = errors.New("key is empty")
	ErrKeyLong    = errors.New("key is too long")
	ErrKeyUTF8    = errors.New("key is not valid UTF-8")
	ErrKeyControl = errors.New("key has a control character")
	ErrKeySegment = errors.New("key has an empty, \".\" or \"..\" segment")
)

// Check returns an error if a key cannot become a folder path and a name at the destination. Adapters
// may list such keys; the engine reports each of them.
func (k Key) Check() error {
	switch {
	case k == "":
		return ErrKeyEmpty
	case len(k) > MaxKeyLength:
		return ErrKeyLong
	case !utf8.ValidString(string(k)):
		return ErrKeyUTF8
	case strings.ContainsFunc(string(k), func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return ErrKeyControl
	}
	for segment := range strings.SplitSeq(string(k), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return ErrKeySegment
		}
	}
	return nil
}

// Split splits a key at its last slash: "a/b/c.jpg" becomes "a/b" and "c.jpg".
func (k Key) Split() (dir, name string) {
	if i := strings.LastIndexByte(string(k), '/'); i >= 0 {
		return string(k[:i]), string(k[i+1:])
	}
	return "", string(k)
}
