package main

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
)

// A library is a computed bucket: objects of one size, spread over folders, in key order. Key,
// version tag and content are computed from the number of an object.
type library struct {
	objects, folders int
	size             int64 // of each object; at least stampLength
	sidecars         bool  // every other object is the sidecar of the one before, see sidecar
	checksums        bool  // version tags are MD5 checksums, as of a bucket without encryption
}

// sidecar is the content of each sidecar.
const sidecar = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
	`<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title><rdf:Alt>` +
	`<rdf:li xml:lang="x-default">The old harbour</rdf:li></rdf:Alt></dc:title></rdf:Description></rdf:RDF></x:xmpmeta>`

// stampLength is the number of bytes at the beginning of a content that encode its number.
const stampLength = 16

// filler is repeated after the stamp.
var filler = []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1<<12))

func (l library) key(n int) string { return string(l.appendKey(nil, n)) }

func (l library) appendKey(b []byte, n int) []byte {
	extension := ".jpg"
	if l.isSidecar(n) {
		n, extension = n-1, ".xmp"
	}
	if l.folders > 1 {
		return fmt.Appendf(b, "archive/folder-%04d/photo-%07d%s", n*l.folders/l.objects, n, extension)
	}
	return fmt.Appendf(b, "archive/photo-%07d%s", n, extension)
}

func (l library) isSidecar(n int) bool { return l.sidecars && n%2 == 1 }

// sizeOf returns the size of an object in bytes.
func (l library) sizeOf(n int) int64 {
	if l.isSidecar(n) {
		return int64(len(sidecar))
	}
	return l.size
}

// number reverses key.
func (l library) number(key string) (n int, ok bool) {
	name, isSidecar := strings.CutSuffix(path.Base(key), ".xmp")
	digits, ok := strings.CutPrefix(strings.TrimSuffix(name, ".jpg"), "photo-")
	n, err := strconv.Atoi(digits)
	if isSidecar {
		n++
	}
	return n, ok && err == nil && n < l.objects && l.key(n) == key
}

// from returns the number of the first object whose key is not less than the given one.
func (l library) from(key string) int {
	return sort.Search(l.objects, func(n int) bool { return l.key(n) >= key })
}

// tag returns the version tag of an object, in the form of an MD5 checksum.
func (l library) tag(n int) string {
	if l.checksums {
		h := md5.New()
		_ = l.writeContent(h, n, 0) // writing to a hash never fails
		return hex.EncodeToString(h.Sum(nil))
	}
	return fmt.Sprintf("%032x", uint64(n+1)*0x9e3779b97f4a7c15)
}

// folderID returns the ID of the folder that contains an object in the history.
func (l library) folderID(n int) string { return fmt.Sprintf("folder%06d", n*l.folders/l.objects+1) }

// content returns the content of an object.
func (l library) content(n int) []byte {
	var b bytes.Buffer
	_ = l.writeContent(&b, n, 0) // a buffer takes everything
	return b.Bytes()
}

// writeContent writes the content of an object from an offset on.
func (l library) writeContent(w io.Writer, n int, from int64) error {
	if l.isSidecar(n) {
		_, err := io.WriteString(w, sidecar[from:])
		return err
	}
	if from < stampLength {
		stamp := fmt.Sprintf("%0*d", stampLength, n)
		if _, err := io.WriteString(w, stamp[from:]); err != nil {
			return err
		}
		from = stampLength
	}
	for left := l.size - from; left > 0; {
		part := filler[:min(left, int64(len(filler)))]
		if _, err := w.Write(part); err != nil {
			return err
		}
		left -= int64(len(part))
	}
	return nil
}

// A countingWriter counts the bytes that were written.
type countingWriter struct {
	io.Writer
	sent *atomic.Int64
}

// Write implements [io.Writer].
func (w countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.sent.Add(int64(n))
	return n, err
}
