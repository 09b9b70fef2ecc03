package redirect

import (
	"bufio"
	"fmt"
	"math/bits"
	"regexp"
	"strings"
)

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

func newNginx(b *bufio.Writer, s *PathSummary) (Writer, error) {
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
