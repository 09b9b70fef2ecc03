package rewrite

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// A dump is an endless dump of the database of a web site, as mysqldump writes it: posts
// with images, and options that PHP serialized. There is an address every 600 bytes or so.
type dump struct {
	left int64
	rest []byte
	rand *rand.Rand
	id   int
}

func newDump(size int64) *dump {
	return &dump{left: size, rand: rand.New(rand.NewPCG(1, 2))}
}

const dumpAssets = 1_000_000

func dumpAddress(n int) string {
	return fmt.Sprintf("https://cdn.example.com/img/2024/%03d/picture-%d.jpg", n%1000, n)
}

func (d *dump) Read(p []byte) (n int, err error) {
	if d.left <= 0 {
		return 0, io.EOF
	}
	for len(d.rest) < len(p) {
		d.rest = d.row(d.rest)
	}
	n = copy(p[:min(int64(len(p)), d.left)], d.rest)
	d.rest = d.rest[:copy(d.rest, d.rest[n:])]
	d.left -= int64(n)
	return n, nil
}

func (d *dump) row(b []byte) []byte {
	d.id++
	address := dumpAddress(d.rand.IntN(dumpAssets))
	if d.id%4 == 0 {
		value := fmt.Sprintf(`a:2:{s:5:"width";i:1024;s:3:"url";s:%d:"%s";}`, len(address), address)
		return fmt.Appendf(b, "INSERT INTO `wp_postmeta` VALUES (%d,7,'_meta','%s');\n", d.id, strings.ReplaceAll(value, `"`, `\"`))
	}
	text := "It was a day like any other at the harbour, and nobody thought of the ships that had left before sunrise. "
	b = fmt.Appendf(b, "INSERT INTO `wp_posts` VALUES (%d,1,'2024-01-01 10:00:00','<p>%s</p>\\n<img src=\\\"%s\\\" alt=\\\"\\\" class=\\\"wide\\\">\\n", d.id, text, address)
	for range 4 {
		b = append(b, text...)
	}
	return append(b, "','publish','open');\n"...)
}

func dumpRows(yield func(Row, error) bool) {
	for n := range dumpAssets {
		if !yield(Row{Old: dumpAddress(n), New: fmt.Sprintf("https://ckbox.cloud/env/assets/%012d/file", n)}, nil) {
			return
		}
	}
}

// nothing is a Sink.
type nothing struct{}

func (nothing) Keep([]byte) error { return nil }
func (nothing) Spot(Spot) error   { return nil }

// BenchmarkRewrite measures how many bytes of a dump are read a second, with a million
// assets of which each address finds one.
func BenchmarkRewrite(b *testing.B) {
	m, err := NewMap(dumpRows)
	must(b, err)
	defer func() { must(b, m.Close()) }()
	r, err := New(m, m.Old(), m.Assets().Current())
	must(b, err)
	text, err := io.ReadAll(newDump(64 << 20))
	must(b, err)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		must(b, r.Rewrite(bytes.NewReader(text), nothing{}))
	}
}

// BenchmarkPlain is for text without any address.
func BenchmarkPlain(b *testing.B) {
	r, _ := newRewriter(b, library())
	text := []byte(strings.Repeat("It was a day like any other at the harbour, class=\"wide\" https://example.org/\n", 100_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		must(b, r.Rewrite(bytes.NewReader(text), nothing{}))
	}
}
