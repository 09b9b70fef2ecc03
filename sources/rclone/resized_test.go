package rclone

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"assetferry/internal/retry"
	"assetferry/sources"
)

// announce makes a fake list its only object with a size, and announce it in responses as rclone does:
// a transfer of shorter content looks cut off.
func announce(f *fake, size int) {
	stored := f.files["a"]
	f.files["a"] = file{time: stored.time, content: stored.content, raw: strings.Replace(
		entryJSON("a", stored, listOptions{ShowHash: f.features == wholeFeatures}), fmt.Sprintf(`"Size": %d`, len(stored.content)), fmt.Sprintf(`"Size": %d`, size), 1)}
	f.alters = func(_ string, a *http.Response) {
		has := len(stored.content)
		first := 0
		if a.StatusCode == http.StatusPartialContent {
			first = has - int(a.ContentLength)
			a.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, size-1, size))
		}
		a.ContentLength = int64(size - first)
		a.Body = io.NopCloser(io.MultiReader(a.Body, &broken{}))
	}
}

// TestShorterContent verifies that content which is shorter than listed can be read with its own size,
// if a checksum or two more reads show that it is complete.
func TestShorterContent(t *testing.T) {
	for _, features := range []string{wholeFeatures, plainFeatures} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(features)
			f.put("a", []byte("content"))
			announce(f, 9)
			s := f.source(t, Options{})
			o := one(t, s)
			_, err := read(t, s, o, 0)
			wrong, is := errors.AsType[*sources.SizeError](err)
			if class, _ := retry.Classify(err); !is || wrong.Listed != 9 || wrong.Object.Size != 7 || class != retry.Permanent {
				t.Fatalf("%d bytes are listed; error is %v", o.Size, err)
			}
			f.asked("")
			if got, err := read(t, s, wrong.Object, 0); err != nil || got != "content" {
				t.Errorf("read %q, %v", got, err)
			}
			if asked := f.asked("get"); len(asked) != 1 {
				t.Errorf("%d requests for content of a known size", len(asked))
			}
			if got, err := read(t, s, wrong.Object, 4); err != nil || got != "ent" {
				t.Errorf("from an offset: %q, %v", got, err)
			}
			if next := one(t, s); next != o || next.ResizedLike(wrong.Object) != wrong.Object {
				t.Errorf("the next listing differs: %+v", next)
			}
			changeTime(f)
			f.files["a"] = file{time: f.files["a"].time, content: []byte("another"), raw: ""}
			if _, err := read(t, s, wrong.Object, 0); !errors.Is(err, sources.ErrChanged) {
				t.Errorf("after a change: %v", err)
			}
		})
	}
}

// TestIncompleteContent verifies that content which ends at another byte each time, or has another
// checksum, is not complete.
func TestIncompleteContent(t *testing.T) {
	for name, test := range map[string]struct {
		features string
		alters   func(reads int, content string) string
	}{
		"other length":   {plainFeatures, func(n int, content string) string { return content[:len(content)-n%3] }},
		"other content":  {plainFeatures, func(n int, content string) string { return strings.Repeat(fmt.Sprint(n%10), len(content)) }},
		"wrong checksum": {wholeFeatures, func(_ int, content string) string { return strings.ToUpper(content) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(test.features)
			f.put("a", []byte("content"))
			announce(f, 9)
			announced, reads := f.alters, 0
			f.alters = func(path string, a *http.Response) {
				if a.StatusCode == http.StatusOK {
					reads++
					a.Body = io.NopCloser(strings.NewReader(test.alters(reads, "content")))
				}
				announced(path, a)
			}
			s := f.source(t, Options{})
			_, err := read(t, s, one(t, s), 0)
			if _, passes := errors.AsType[*sources.SizeError](err); err == nil || passes {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
