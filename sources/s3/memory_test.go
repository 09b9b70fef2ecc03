package s3_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"assetferry/internal/outbound/hostiletest"
	"assetferry/sources/s3"
)

// TestMemoryOfHostileAnswers verifies that reading any answer to a listing takes at most 32 MB.
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

// TestMemoryOfHostileVersions verifies the same of lists of versions.
func TestMemoryOfHostileVersions(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	const head = `<ListVersionsResult><Name>b</Name><IsTruncated>false</IsTruncated>`
	for name, answer := range map[string]http.HandlerFunc{
		"one key":        hostiletest.Repeat(head+`<Version><Key>`, "x"),
		"empty versions": hostiletest.Repeat(head, `<Version/>`),
		"delete markers": hostiletest.Repeat(head, `<DeleteMarker></DeleteMarker>`),
		"nested":         hostiletest.Repeat(head, `<a>`),
		"fitting": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, head+strings.Repeat(`<Version/>`, 59_000)+`</ListVersionsResult>`)
		},
	} {
		b := newBucket(t, "")
		b.answerWith(answer)
		s := b.source()
		var err error
		peak := hostiletest.Peak(t, func() {
			for _, err = range s.Versions(t.Context(), thing) {
			}
		})
		t.Logf("%s: %.1f MB: %.150v", name, float64(peak)/(1<<20), err)
		if err == nil || peak > hostiletest.Most {
			t.Errorf("%s: %.1f MB over idle, %v", name, float64(peak)/(1<<20), err)
		}
	}
}

// TestMemoryOfOtherHostileAnswers verifies the same of answers to requests for content and for
// tags, including errors.
func TestMemoryOfOtherHostileAnswers(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	refused := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			next(w, r)
		}
	}
	open := func(s *s3.Source) error {
		_, err := s.Open(t.Context(), thing, 0)
		return err
	}
	tags := func(s *s3.Source) error {
		_, err := describe(t.Context(), s)
		return err
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*s3.Source) error
	}{
		"message":       {refused(hostiletest.Repeat(`<Error><Code>No</Code><Message>`, "x")), open},
		"elements":      {refused(hostiletest.Repeat(`<Error>`, "<a/>")), open},
		"error to tags": {describing(refused(hostiletest.Repeat(`<Error><Code>No</Code><Message>`, "x"))), tags},
		"one tag":       {describing(hostiletest.Repeat(`<Tagging><TagSet><Tag><Key>`, "x")), tags},
		"tags":          {describing(hostiletest.Repeat(`<Tagging><TagSet>`, "<Tag/>")), tags},
		"listing":       {refused(hostiletest.Repeat(`<Error><Code>No</Code><Message>`, "x")), func(s *s3.Source) error { _, err := list(t, s); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, "")
			b.answerWith(tt.answer)
			s := b.source(withTags)
			var err error
			peak := hostiletest.Peak(t, func() { err = tt.ask(s) })
			t.Logf("%s: %.1f MB: %.150v", name, float64(peak)/(1<<20), err)
			if err == nil || peak > hostiletest.Most {
				t.Errorf("%.1f MB over idle, %v", float64(peak)/(1<<20), err)
			}
		})
	}
}
