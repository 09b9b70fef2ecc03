package redirect

import (
	"bufio"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// A PathSummary has what a map of nginx needs from all rows before the first: their number, the longest
// one, and paths that nginx cannot distinguish. It takes eight bytes per row.
type PathSummary struct {
	longest int
	hashes  []uint64 // of paths, as nginx compares them
	sorted  bool
}

// Add adds a row.
func (s *PathSummary) Add(r Row) error {
	path, err := pathOf(r.Old)
	if err != nil {
		return err
	}
	s.longest = max(s.longest, len(path))
	s.hashes, s.sorted = append(s.hashes, hashOf(path)), false
	return nil
}

// hashOf returns the FNV-1a hash of a path. Like nginx, it ignores the case of ASCII letters.
func hashOf(path string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(path) {
		c := path[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// isAlone reports whether a path was added and nginx can distinguish it from all others.
func (s *PathSummary) isAlone(path string) bool {
	if !s.sorted {
		slices.Sort(s.hashes)
		s.sorted = true
	}
	h := hashOf(path)
	at, found := slices.BinarySearch(s.hashes, h)
	return found && (at+1 == len(s.hashes) || s.hashes[at+1] != h)
}

// An nginx writes a map from the path of a request to its redirect. nginx looks up keys by their
// hash and ignores case. Paths that differ only in case would be an error of the configuration.
// They become regular expressions, which nginx tries one after the other.
type nginx struct {
	w       *bufio.Writer
	summary *PathSummary
}

const nginxHead = `# Old URLs and their new URLs for nginx, made by assetferry urls.
#
# Include this file in the http block:
#
#     include /etc/nginx/assetferry.conf;
#
# Copy these lines into the server block of the old URLs:
#
#     if ($assetferry_301) { return 301 $assetferry_301; }
#     if ($assetferry_302) { return 302 $assetferry_302; }
#
# Verified assets have 301, which browsers keep permanently. The others have 302. Run
# assetferry verify, and make this file again.
#
# nginx needs the two sizes before the first map. If it reports a duplicate, keep the
# larger value where nginx reads it first, and delete the other.
map_hash_max_size %d;
map_hash_bucket_size %d;

map $uri $assetferry {
`

const nginxTail = `}

map $assetferry $assetferry_301 {
    "~^301 (.+)$" $1;
}

map $assetferry $assetferry_302 {
    "~^302 (.+)$" $1;
}
`

// nginxToken is the maximum length in bytes of a word of the configuration. nginx has a buffer of
// 4,096 bytes.
const nginxToken = 4000

func newNginx(b *bufio.Writer, s *PathSummary) (*nginx, error) {
	// nginx builds its table at the first try with twice as many buckets as rows, if each bucket
	// has room for several usual rows and two of the longest.
	buckets := roundUp(max(2048, 2*len(s.hashes)))
	room := roundUp(max(1024, 2*(min(s.longest, nginxToken)+32)))
	_, err := fmt.Fprintf(b, nginxHead, buckets, room)
	return &nginx{b, s}, err
}

// roundUp returns the next power of two.
func roundUp(n int) int { return 1 << bits.Len(uint(n-1)) }

func (n *nginx) Write(r Row) error {
	path, err := pathOf(r.Old)
	if err != nil {
		return err
	}
	key := nginxText(path)
	if !n.summary.isAlone(path) {
		key = nginxText("~^" + regexp.QuoteMeta(path) + `\z`)
	}
	value := nginxText(statusOf(r) + " " + strings.ReplaceAll(r.New, "$", "%24")) // $ begins a variable
	if len(key) > nginxToken || len(value) > nginxToken {
		return ErrTooLong
	}
	_, err = n.w.WriteString("    " + key + " " + value + ";\n")
	return err
}

func statusOf(r Row) string {
	if r.Verified {
		return "301"
	}
	return "302"
}

// nginxText returns a quoted word of a configuration of nginx. A backslash escapes only quotes and
// itself.
func nginxText(s string) string {
	s = strings.ReplaceAll(s, `\`, `\\`)
	return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
}

func (n *nginx) Close() error {
	if _, err := n.w.WriteString(nginxTail); err != nil {
		return err
	}
	return n.w.Flush()
}
