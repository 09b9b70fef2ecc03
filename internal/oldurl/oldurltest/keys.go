// Package oldurltest has keys for tests of code that writes or reads old URLs.
package oldurltest

import (
	"strings"
	"unicode/utf8"
)

// Hostile returns names with characters that are special in one of the formats.
func Hostile() []string {
	return []string{
		"2024/spring/harbour.jpg", "Photo.jpg", "photo.jpg", "PHOTO.JPG", "a b.jpg", `say "cheese".jpg`, `back\slash\.jpg`, `trailing\`,
		"$uri.jpg", "${x}.jpg", "a;b{c}.jpg", "~^tilde.jpg", "default", "hostnames", "include", "volatile", "#hash.jpg", "100%.jpg", "%41.jpg",
		"what?.jpg", "a&b=c+d.jpg", "o'clock.jpg", "Åse.jpg", "日本.jpg", "a.b*c(d)[e]|f^g.jpg", "<b>.jpg", "'); DROP TABLE asset_urls; --.jpg",
		"~", " ", "@", ":", "a:b.jpg", "=cmd.csv", "\u00a0\u2028.jpg",
	}
}

// IsKey reports whether an object with the key can have an asset.
func IsKey(key string) bool {
	if key == "" || !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return false
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
