package s3_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	aws "github.com/aws/aws-sdk-go-v2/service/s3"

	"assetferry/sources"
)

// benchObjects returns the number of objects in benchmarks: 5,000, or the value of
// ASSETFERRY_BENCH_OBJECTS.
func benchObjects(b *testing.B) int {
	b.Helper()
	text := os.Getenv("ASSETFERRY_BENCH_OBJECTS")
	if text == "" {
		return 5000
	}
	n, err := strconv.Atoi(text)
	must(b, err)
	return n
}

// BenchmarkList lists a bucket with the source, and then with the SDK alone, for comparison. It
// also reports the largest heap.
func BenchmarkList(b *testing.B) {
	n := benchObjects(b)
	bucket := newBucket(b, "")
	size := int64(1)
	var made []page
	for i := 0; i < n; i += 1000 { // as fast as can be, so that the client shows
		p := page{Name: "photos", IsTruncated: i+1000 < n, NextContinuationToken: fmt.Sprint(i/1000 + 1)}
		for j := i; j < min(i+1000, n); j++ {
			p.Contents = append(p.Contents, entry{
				Key: fmt.Sprintf("%08d.jpg", j), Size: &size, LastModified: "2026-01-02T03:04:05.000Z", ETag: `"tag"`,
			})
		}
		made = append(made, p)
	}
	bucket.answerWith(pages(made...))
	src, client := bucket.source(), bucket.bare()
	var ours, theirs time.Duration
	var heap uint64
	for b.Loop() {
		began, count := time.Now(), 0
		for _, err := range src.Objects(b.Context(), "") {
			must(b, err)
			if count++; count%1000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap = max(heap, m.HeapInuse)
			}
		}
		ours += time.Since(began)
		began = time.Now()
		in := &aws.ListObjectsV2Input{Bucket: &bucket.name}
		for pages := aws.NewListObjectsV2Paginator(client, in); pages.HasMorePages(); {
			_, err := pages.NextPage(b.Context())
			must(b, err)
		}
		theirs += time.Since(began)
		if count != n {
			b.Fatalf("%d objects, want %d", count, n)
		}
		bucket.asked()
	}
	b.ReportMetric(float64(n)*float64(b.N)/ours.Seconds(), "objects/s")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "of-bare-SDK")
	b.ReportMetric(float64(heap)/(1<<20), "MB-heap")
}

// BenchmarkRead reads objects of 20 KiB and one of 64 MiB, and then with the SDK alone.
func BenchmarkRead(b *testing.B) {
	for name, size := range map[string]int{"20KiB": 20 << 10, "64MiB": 64 << 20} {
		b.Run(name, func(b *testing.B) {
			bucket := newBucket(b, "")
			must(b, bucket.put("a", noise(size)))
			src, client := bucket.source(), bucket.bare()
			o := bucket.one(src)
			var ours, theirs time.Duration
			for b.Loop() {
				began := time.Now()
				r, err := src.Open(b.Context(), o, 0)
				must(b, err)
				readAll(b, r, o)
				ours += time.Since(began)
				began = time.Now()
				out, err := client.GetObject(b.Context(), &aws.GetObjectInput{Bucket: &bucket.name, Key: (*string)(&o.Key)})
				must(b, err)
				readAll(b, out.Body, o)
				theirs += time.Since(began)
				bucket.asked()
			}
			b.SetBytes(int64(size))
			b.ReportMetric(ours.Seconds()/theirs.Seconds(), "of-bare-SDK")
		})
	}
}

func readAll(b *testing.B, r io.ReadCloser, o sources.Object) {
	b.Helper()
	n, err := io.Copy(io.Discard, r)
	must(b, err)
	must(b, r.Close())
	if n != o.Size {
		b.Fatalf("%d bytes, want %d", n, o.Size)
	}
}

// bare returns a client of the SDK without additions.
func (b *bucket) bare() *aws.Client {
	return aws.New(aws.Options{
		BaseEndpoint: &b.server.URL, UsePathStyle: true, Region: "us-east-1", DisableLogOutputChecksumValidationSkipped: true,
		Credentials: staticCredentials(),
	})
}
