package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	bucketName = "bench"
	copyName   = "copy"  // contains the same objects
	emptyName  = "empty" // contains no objects, and discards those that it receives
	pageSize   = 1000    // keys, as in S3
	storedAt   = "2026-01-02T03:04:05.000Z"
)

// A bucket serves a library over the S3 protocol and computes the answers. It implements the
// requests that copying needs: ListObjectsV2, GetObject, HeadObject and PutObject.
type bucket struct {
	library
	latency            time.Duration // from a request to its answer
	lists, gets, heads atomic.Int64
	sent               atomic.Int64 // bytes of objects
	first              moment
	arrived            arrivals // by PutObject
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.first.now()
	if r.Method == http.MethodPut {
		defer sleepUntil(time.Now().Add(b.latency)) // the answer is sent on return
	} else {
		sleepUntil(time.Now().Add(b.latency))
	}
	name, key, _ := strings.Cut(r.URL.Path[1:], "/")
	switch {
	case name != bucketName && name != copyName && name != emptyName:
		http.Error(w, "no such bucket", http.StatusNotImplemented)
	case r.Method == http.MethodGet && key == "":
		b.lists.Add(1)
		b.list(w, r, name)
	case r.Method == http.MethodGet:
		b.gets.Add(1)
		b.get(w, r, key)
	case r.Method == http.MethodHead && key != "":
		b.heads.Add(1)
		b.get(w, r, key)
	case r.Method == http.MethodPut && key != "" && name == emptyName:
		b.put(w, r, key)
	default:
		http.Error(w, "no such operation", http.StatusNotImplemented)
	}
}

// put reads an object and discards its content.
func (b *bucket) put(w http.ResponseWriter, r *http.Request, key string) {
	stamp := make([]byte, stampLength)
	_, err := io.ReadFull(r.Body, stamp)
	rest, err2 := io.Copy(io.Discard, r.Body)
	n, ok := b.number(key)
	ok = ok && err == nil && err2 == nil && stampLength+rest == b.sizeOf(n) && string(stamp) == fmt.Sprintf("%0*d", stampLength, n)
	b.arrived.record(n, ok)
	if !ok {
		http.Error(w, "not in the library", http.StatusBadRequest)
		return
	}
	w.Header().Set("ETag", `"`+b.tag(n)+`"`)
}

// list answers with a page. A continuation token is the number of the first object of the next
// page.
func (b *bucket) list(w http.ResponseWriter, r *http.Request, name string) {
	query := r.URL.Query()
	prefix, delimiter := query.Get("prefix"), query.Get("delimiter")
	n := b.from(prefix)
	if token := query.Get("continuation-token"); token != "" {
		n, _ = strconv.Atoi(token) // only this server creates tokens
	} else if after := query.Get("start-after"); after != "" {
		n = max(n, b.from(after+"\x00"))
	}
	if name == emptyName {
		n = b.objects
	}
	entries, key := make([]byte, 0, 256*pageSize), make([]byte, 0, 64)
	inside := func() bool {
		key = b.appendKey(key[:0], n)
		return n < b.objects && bytes.HasPrefix(key, []byte(prefix))
	}
	count := 0
	for ; count < pageSize && inside(); count++ {
		if folder, _, below := strings.Cut(string(key[len(prefix):]), delimiter); below && delimiter != "" {
			entries = fmt.Appendf(entries, `<CommonPrefixes><Prefix>%s%s%s</Prefix></CommonPrefixes>`, prefix, folder, delimiter)
			n = b.from(prefix + folder + delimiter + "\xff")
			continue
		}
		entries = append(append(entries, "<Contents><Key>"...), key...)
		entries = fmt.Appendf(entries, `</Key><LastModified>%s</LastModified><ETag>&quot;%s&quot;</ETag><ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType><Size>%d</Size><StorageClass>STANDARD</StorageClass></Contents>`,
			storedAt, b.tag(n), b.sizeOf(n))
		n++
	}
	more := inside()
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>%s</Name><Prefix>%s</Prefix><EncodingType>url</EncodingType><KeyCount>%d</KeyCount><MaxKeys>%d</MaxKeys><IsTruncated>%t</IsTruncated>`,
		name, prefix, count, pageSize, more)
	if more {
		fmt.Fprintf(w, `<NextContinuationToken>%d</NextContinuationToken>`, n)
	}
	_, _ = w.Write(append(entries, "</ListBucketResult>"...)) // the client reports the error
}

func (b *bucket) get(w http.ResponseWriter, r *http.Request, key string) {
	n, ok := b.number(key)
	if !ok {
		http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
		return
	}
	from, size, status := int64(0), b.sizeOf(n), http.StatusOK
	if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
		from, _ = strconv.ParseInt(strings.TrimSuffix(text, "-"), 10, 64)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
		status = http.StatusPartialContent
	}
	w.Header().Set("Content-Length", strconv.FormatInt(size-from, 10))
	w.Header().Set("Content-Type", "image/jpeg")
	w.Header().Set("ETag", `"`+b.tag(n)+`"`)
	w.Header().Set("Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT")
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_ = b.writeContent(countingWriter{w, &b.sent}, n, from) // the client reports the error
	}
}

// A moment is the time of the first occurrence of an event.
type moment struct{ at atomic.Pointer[time.Time] }

func (m *moment) now() {
	if m.at.Load() == nil {
		now := time.Now()
		m.at.CompareAndSwap(nil, &now)
	}
}

func (m *moment) reset() { m.at.Store(nil) }
