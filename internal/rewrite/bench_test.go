package rewrite

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"assetferry/internal/test/longtest"
)

var dumpSize = flag.Int64("dump", longtest.Fewer[int64](longtest.Size[int64](128<<20, 256<<20), 64<<20), "bytes of the dump that TestMemory reads")

// A dump is an endless database dump of a web site in the format of mysqldump: posts with images,
// and options that PHP serialized.
type dump struct {
	left   int64
	assets int // number of different URLs
	texts  int // per post, after its image
	rest   []byte
	rand   *rand.Rand
	id     int
}

// newDump returns a dump with a URL about every 600 bytes.
func newDump(size int64) *dump {
	return &dump{left: size, assets: dumpAssets, texts: 4, rand: rand.New(rand.NewPCG(1, 2))}
}

const dumpAssets = 1_000_000

func dumpURL(n int) string {
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
	url := dumpURL(d.rand.IntN(d.assets))
	if d.id%4 == 0 {
		value := fmt.Sprintf(`a:2:{s:5:"width";i:1024;s:3:"url";s:%d:"%s";}`, len(url), url)
		return fmt.Appendf(b, "INSERT INTO `wp_postmeta` VALUES (%d,7,'_meta','%s');\n", d.id, strings.ReplaceAll(value, `"`, `\"`))
	}
	text := "It was a day like any other at the harbour, and nobody thought of the ships that had left before sunrise. "
	b = fmt.Appendf(b, "INSERT INTO `wp_posts` VALUES (%d,1,'2024-01-01 10:00:00','<p>%s</p>\\n<img src=\\\"%s\\\" alt=\\\"\\\" class=\\\"wide\\\">\\n", d.id, text, url)
	for range d.texts {
		b = append(b, text...)
	}
	return append(b, "','publish','open');\n"...)
}

func dumpRows(count int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for n := range count {
			if !yield(Row{Old: dumpURL(n), New: fmt.Sprintf("https://ckbox.cloud/env/assets/%012d/file", n)}, nil) {
				return
			}
		}
	}
}

// nothing is a Sink that ignores its input.
type nothing struct{}

func (nothing) Keep([]byte) error { return nil }
func (nothing) Spot(Spot) error   { return nil }

// BenchmarkRewrite measures the bytes per second for dumps with a URL per 600 bytes and per 4 KB, by the
// number of rows in the map. Each URL has an asset.
func BenchmarkRewrite(b *testing.B) {
	for _, rows := range []int{100_000, dumpAssets} {
		m, err := NewMap(dumpRows(rows))
		must(b, err)
		r, err := New(m, m.Old(), m.Assets().Current())
		must(b, err)
		for name, texts := range map[string]int{"600B": 4, "4KB": 48} {
			b.Run(fmt.Sprintf("%s/%d", name, rows), func(b *testing.B) {
				d := newDump(64 << 20)
				d.assets, d.texts = rows, texts
				text, err := io.ReadAll(d)
				must(b, err)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				busy := processorTime(b)
				for b.Loop() {
					must(b, r.Rewrite(bytes.NewReader(text), nothing{}))
				}
				busy = processorTime(b) - busy // other programs do not count
				b.ReportMetric(float64(len(text))/1e6*float64(b.N)/busy.Seconds(), "MB/cpu-s")
			})
		}
		must(b, m.Close())
	}
}

// BenchmarkNewMap measures the rows per second.
func BenchmarkNewMap(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		m, err := NewMap(dumpRows(100_000))
		must(b, err)
		must(b, m.Close())
	}
}

// BenchmarkPlain measures text without URLs.
func BenchmarkPlain(b *testing.B) {
	r, _ := newRewriter(b, library())
	text := []byte(strings.Repeat("It was a day like any other at the harbour, class=\"wide\" https://example.org/\n", 100_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		must(b, r.Rewrite(bytes.NewReader(text), nothing{}))
	}
}

// again repeats a text endlessly.
type again struct {
	text []byte
	at   int
	left int64
}

func (a *again) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), a.left)], a.text[a.at:])
	a.at, a.left = (a.at+n)%len(a.text), a.left-int64(n)
	return n, nil
}

// TestMemory verifies that the memory for a dump does not depend on its size. To measure both
// memory and speed with a large one:
//
//	GOMAXPROCS=1 go test ./internal/rewrite -run TestMemory -v -dump 5000000000
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a large dump")
	}
	m, err := NewMap(dumpRows(dumpAssets))
	must(t, err)
	defer func() { must(t, m.Close()) }()
	r, err := New(m, m.Old(), m.Assets().Current())
	must(t, err)
	text, err := io.ReadAll(newDump(64 << 20))
	must(t, err)
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // collect often, so that garbage counts less
	before, begin, busy := mostMemory(t), time.Now(), processorTime(t)
	counted := &counter{}
	must(t, r.Rewrite(&again{text: text, left: *dumpSize}, counted))
	took, busy, after := time.Since(begin), processorTime(t)-busy, mostMemory(t)
	t.Logf("%d bytes with %d URLs in %v, %v of them at work: %.0f MB/s of one core; at most %d kB of memory, %d of them before it began, with %d MB of that dump",
		*dumpSize, counted.n, took.Round(time.Millisecond), busy, float64(*dumpSize)/1e6/busy.Seconds(), after, before, len(text)>>20)
	inflated := longtest.Fewer(1, 8) // the race detector keeps additional data for each byte
	if grown := after - before; grown > 32<<10*inflated {
		t.Errorf("it took %d kB", grown)
	}
}

type counter struct {
	nothing
	n int
}

func (c *counter) Spot(s Spot) error {
	if s.Kind == Replaced {
		c.n++
	}
	return nil
}

// mostMemory returns the peak memory of the process in kB.
func mostMemory(t *testing.T) (kB int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("only Linux says how much memory it was")
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Skip("it is not said how much memory it was")
	}
	_, err = fmt.Sscan(string(m[1]), &kB)
	must(t, err)
	return kB
}

// processorTime returns the CPU time of the process on all cores, exact to 10 ms.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip("only Linux says how long it took")
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var user, system int
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	must(t, err)
	return time.Duration(user+system) * time.Second / 100
}
