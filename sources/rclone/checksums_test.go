package rclone

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestSums compares with the values of rclone hashsum, for content that is written in parts.
func TestSums(t *testing.T) {
	long := make([]byte, 9_000_001)
	for n := range long {
		long[n] = byte(n * n >> 7)
	}
	for name, wanted := range map[string][3]string{
		"quickxor": {"0000000000000000000000000000000000000000", "6100000000000000000000000100000000000000", "b9ae442234710c7b024bd765192218fc3c96cd36"},
		"dropbox": {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "bf5d3affb73efd2ec6c36ad3112dd933efed63c4e1cbffcfa88e2759c144f2d8",
			"c4a592e534c17525cb2813d3ad237dea22a360670cade0443afb5c081ce7a551"},
	} {
		for n, content := range [][]byte{nil, []byte("a"), long} {
			sum := sums[name]()
			for part, size := content, 1; ; size = 3*size + 1 {
				size = min(size, len(part))
				_, _ = sum.Write(part[:size]) // it never fails
				_ = sum.Sum(nil)              // changes nothing
				if part = part[size:]; len(part) == 0 {
					break
				}
			}
			if got := hex.EncodeToString(sum.Sum(nil)); got != wanted[n] {
				t.Errorf("%s of %d bytes is %s, want %s", name, len(content), got, wanted[n])
			}
			sum.Reset()
			if got := hex.EncodeToString(sum.Sum(nil)); got != wanted[0] {
				t.Errorf("%s after Reset is %s", name, got)
			}
		}
	}
}

func TestSumOfTag(t *testing.T) {
	s := &Source{abilities: abilities{hash: "md5"}}
	for tag, want := range map[string]bool{
		strings.Repeat("a", 32): true, strings.Repeat("a", 31): false, "": false, "id:1": false,
		"sha1:" + strings.Repeat("a", 40): true, "sha256:" + strings.Repeat("a", 64): true, "quickxor:" + strings.Repeat("a", 40): true, "crc32:01020304": false,
	} {
		if sum, _ := s.sum(tag); (sum != nil) != want {
			t.Errorf("%q: %v, want %v", tag, sum != nil, want)
		}
	}
}
