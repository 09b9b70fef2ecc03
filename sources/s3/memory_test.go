package s3_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"assetferry/internal/outbound/hostiletest"
)

// Whatever a service of S3 answers to a listing, reading it takes at most 32 MB.
func TestMemoryOfHostileAnswers(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	const head = `<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>`
	const object = `<Contents><Key>a</Key><Size>1</Size></Contents>`
	for name, answer := range map[string]http.HandlerFunc{
		"one key":       hostiletest.Repeat(head+`<Contents><Key>`, "x"),
		"empty objects": hostiletest.Repeat(head, `<Contents></Contents>`),
		"tiny objects":  hostiletest.Repeat(head, object),
		"prefixes":      hostiletest.Repeat(head, `<CommonPrefixes/>`),
		"nested":        hostiletest.Repeat(head, `<a>`),
		"gzip":          hostiletest.Gzip(head+`<Contents><Key>`, "x"),
		"fitting": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, head+strings.Repeat(object, 40_000)+`</ListBucketResult>`)
		},
		"fitting for XML": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, head+strings.Repeat(`<Contents/>`, 200_000)+`</ListBucketResult>`)
		},
		"fitting prefixes": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, head+strings.Repeat(`<CommonPrefixes/>`, 200_000)+`</ListBucketResult>`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, "")
			b.answerWith(answer)
			s := b.source()
			var err error
			peak := hostiletest.Peak(t, func() { _, err = list(t, s) })
			t.Logf("%s: %.1f MB: %.150v", name, float64(peak)/(1<<20), err)
			if err == nil && name != "fitting prefixes" || peak > hostiletest.Most {
				t.Errorf("%.1f MB over idle, %v", float64(peak)/(1<<20), err)
			}
		})
	}
}
