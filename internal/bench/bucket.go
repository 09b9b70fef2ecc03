package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	bucketName = "bench"
	pageSize   = 1000 // keys, as S3 has it
	storedAt   = "2026-01-02T03:04:05.000Z"
)

// A bucket serves a library as S3 would, out of nothing but arithmetic. It knows the
// requests that copying takes: list, version 2, and get.
type bucket struct {
	library
	latency     time.Duration // before each answer
	lists, gets atomic.Int64
	first       moment
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.first.now()
	time.Sleep(b.latency)
	key, ok := strings.CutPrefix(r.URL.Path, "/"+bucketName)
	switch key = strings.TrimPrefix(key, "/"); {
	case !ok || r.Method != http.MethodGet:
		http.Error(w, "not known here", http.StatusNotImplemented)
	case key == "":
		b.lists.Add(1)
		b.list(w, r)
	default:
		b.gets.Add(1)
		b.get(w, r, key)
	}
}

// list answers with a page. A continuation token is the number of the first object.
func (b *bucket) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	start := 0
	if token := query.Get("continuation-token"); token != "" {
		start, _ = strconv.Atoi(token) // nobody but us makes them
	} else if after := query.Get("start-after"); after != "" {
		if n, ok := b.number(after); ok {
			start = n + 1
		}
	}
	end := min(start+pageSize, b.objects)
	page := make([]byte, 0, 256*(end-start)+1024)
	page = fmt.Appendf(page, `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>%s</Name><Prefix></Prefix><EncodingType>url</EncodingType><KeyCount>%d</KeyCount><MaxKeys>%d</MaxKeys><IsTruncated>%t</IsTruncated>`,
		bucketName, end-start, pageSize, end < b.objects)
	if end < b.objects {
		page = fmt.Appendf(page, `<NextContinuationToken>%d</NextContinuationToken>`, end)
	}
	for n := start; n < end; n++ {
		page = append(page, "<Contents><Key>"...)
		page = b.appendKey(page, n)
		page = fmt.Appendf(page, `</Key><LastModified>%s</LastModified><ETag>&quot;%s&quot;</ETag><Size>%d</Size><StorageClass>STANDARD</StorageClass></Contents>`,
			storedAt, b.tag(n), b.size)
	}
	page = append(page, "</ListBucketResult>"...)
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write(page) // the client will notice
}

func (b *bucket) get(w http.ResponseWriter, r *http.Request, key string) {
	n, ok := b.number(key)
	if !ok {
		http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
		return
	}
	from, status := int64(0), http.StatusOK
	if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
		from, _ = strconv.ParseInt(strings.TrimSuffix(text, "-"), 10, 64)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, b.size-1, b.size))
		status = http.StatusPartialContent
	}
	w.Header().Set("Content-Length", strconv.FormatInt(b.size-from, 10))
	w.Header().Set("Content-Type", "image/jpeg")
	w.Header().Set("ETag", `"`+b.tag(n)+`"`)
	w.Header().Set("Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT")
	w.WriteHeader(status)
	_ = b.writeContent(w, n, from) // the client will notice
}

// A moment is the first time that something happened.
type moment struct{ at atomic.Pointer[time.Time] }

func (m *moment) now() {
	if m.at.Load() == nil {
		now := time.Now()
		m.at.CompareAndSwap(nil, &now)
	}
}

func (m *moment) reset() { m.at.Store(nil) }
