package redirect

import (
	"bufio"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// A Survey is what a map of nginx must know of all its rows before the first: how many
// there are, how long the longest is, and which nginx would take for the same. It takes
// eight bytes for a row.
type Survey struct {
	longest int
	hashes  []uint64 // of paths as nginx compares them
	sorted  bool
}

// Add takes note of a row.
func (s *Survey) Add(r Row) error {
	path, err := pathOf(r.Old)
	if err != nil {
		return err
	}
	s.longest = max(s.longest, len(path))
	s.hashes, s.sorted = append(s.hashes, hashOf(path)), false
	return nil
}

// hashOf hashes a path as nginx compares texts: without regard to the case of ASCII
// letters. It is FNV-1a.
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

// isAlone reports whether a path was surveyed and no other is the same to nginx.
func (s *Survey) isAlone(path string) bool {
	if !s.sorted {
		slices.Sort(s.hashes)
		s.sorted = true
	}
	h := hashOf(path)
	at, found := slices.BinarySearch(s.hashes, h)
	return found && (at+1 == len(s.hashes) || s.hashes[at+1] != h)
}

// An nginx writes a map from the path of a request to where it leads. Its keys are
// texts, looked up by their hash without regard to case. Paths that differ in nothing
// else would be an error of the configuration and become regular expressions instead,
// which nginx tries one after the other.
type nginx struct {
	w      *bufio.Writer
	survey *Survey
}

const nginxHead = `# Old addresses and where they lead now, for nginx. Made by assetferry urls.
#
# Include this file in the http block:
#
#     include /etc/nginx/assetferry.conf;
#
# and put these lines into the server block of the old addresses:
#
#     if ($assetferry_301) { return 301 $assetferry_301; }
#     if ($assetferry_302) { return 302 $assetferry_302; }
#
# 301 is for assets that were verified since they arrived; browsers remember it for
# good. All others get 302 until assetferry verify was run and this file is made again.
#
# nginx wants the two sizes before the first map. If it says that one is a duplicate,
# leave the larger one where it is read first, and delete the other.
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

// nginxToken is the longest word of a configuration that nginx reads surely: it holds
// 4,096 bytes of the file at once.
const nginxToken = 4000

func newNginx(b *bufio.Writer, s *Survey) (*nginx, error) {
	// Twice as many buckets as rows, each with room for several of the usual length and
	// two of the longest: then nginx builds its table at once.
	buckets := roundUp(max(2048, 2*len(s.hashes)))
	room := roundUp(max(1024, 2*(min(s.longest, nginxToken)+32)))
	_, err := fmt.Fprintf(b, nginxHead, buckets, room)
	return &nginx{b, s}, err
}

// roundUp gives the next power of two.
func roundUp(n int) int { return 1 << bits.Len(uint(n-1)) }

func (n *nginx) Write(r Row) error {
	path, err := pathOf(r.Old)
	if err != nil {
		return err
	}
	key := nginxText(path)
	if !n.survey.isAlone(path) {
		key = nginxText("~^" + regexp.QuoteMeta(path) + `\z`)
	}
	value := nginxText(statusOf(r) + " " + strings.ReplaceAll(r.New, "$", "%24")) // it would begin a variable
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

// nginxText is a word of a configuration of nginx. Within quotes a backslash stands
// only before quotes and itself for what follows it.
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
