package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// oldPrefix begins the old URLs in the dumps.
const oldPrefix = "https://cdn.example.com/img/"

// rewrite measures the search for old URLs in a database dump, by one processor.
func (b *bench) rewrite() (rows []row, err error) {
	l := library{objects: max(1, 100_000/b.scale), folders: 1, size: small}
	err = b.within(l, 0, func(w *world) error {
		if err := w.knowing(); err != nil {
			return err
		}
		w.home.env = append(slices.Clip(w.home.env), "GOMAXPROCS=1")
		for _, d := range []struct {
			dump
			least float64 // MB/s
		}{{dump{l, 5e9 / int64(b.scale), 4 * kib}, 400}, {dump{l, 5e9 / int64(b.scale), 600}, 250}} {
			r, err := w.rewriteDump(d.dump, d.least)
			if err != nil {
				return err
			}
			rows = append(rows, r)
		}
		return nil
	})
	return rows, err
}

// rewriteDump measures a dry run of one dump. Its speed is that by processor time.
func (w *world) rewriteDump(d dump, least float64) (row, error) {
	file := filepath.Join(w.home.dir, "dump.sql")
	urls, err := d.write(file)
	if err != nil {
		return row{}, err
	}
	u, err := w.prints("rewrite", fmt.Sprintf("1 of 1 file would change: %d URL", urls), "--old-prefix", oldPrefix, file)
	if err != nil {
		return row{}, err
	}
	speed := float64(d.bytes) / 1e6 / u.CPU.Seconds()
	return row{
		figure:   fmt.Sprintf("rewrite, %.1f GB of SQL, one URL in %d bytes, one processor", float64(d.bytes)/1e9, d.apart),
		measured: fmt.Sprintf("%s, %.0f MB/s of CPU time", cost(u), speed),
		goals:    []goal{atLeast(speed, least, fmt.Sprintf("%.0f MB/s", least)), memoryWithin(u, 130)}, took: u,
	}, os.Remove(file)
}

// A dump is a database dump of a web site in the format of mysqldump. Each row has an image of the
// library.
type dump struct {
	library
	bytes int64 // of the dump, at least
	apart int   // the distance of two URLs in bytes
}

// prose fills the rows.
const prose = "The harbour was quiet that morning, and <em>both<\\/em> ships had left: one to the north, one to the west.\\r\\n"

// write writes the dump and returns the number of its old URLs.
func (d dump) write(file string) (urls int, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	filled := strings.Repeat(prose, d.apart/len(prose)+1)
	var row []byte
	for written := int64(0); written < d.bytes; urls++ {
		row = fmt.Appendf(row[:0], "INSERT INTO `wp_posts` VALUES (%d,1,'2024-01-01 10:00:00','<img src=\\\"%s", urls, oldPrefix)
		row = d.appendKey(row, urls*7919%d.objects)
		row = append(row, "\\\" alt=\\\"\\\" class=\\\"wide\\\">\\n"...)
		const end = "','publish','open');\n"
		row = append(row, filled[:max(0, d.apart-len(row)-len(end))]...)
		row = append(row, end...)
		if _, err := w.Write(row); err != nil {
			return 0, err
		}
		written += int64(len(row))
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return urls, f.Close()
}
