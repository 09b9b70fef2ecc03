package rclone

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
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

// truncate makes a fake list its only object with a smaller size than it has, and send no more bytes, as
// rclone does: the last part is missing, until it is requested.
func truncate(f *fake, size int) {
	stored := f.files["a"]
	announce(f, size)
	f.alters = func(_ string, a *http.Response) {
		from := 0
		if a.StatusCode == http.StatusPartialContent {
			from = len(stored.content) - int(a.ContentLength)
			a.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
		}
		a.ContentLength = int64(size - from)
		if from > 0 {
			a.Body = io.NopCloser(io.LimitReader(a.Body, a.ContentLength))
		} else {
			a.Body = io.NopCloser(io.MultiReader(io.LimitReader(a.Body, 3), &broken{}))
		}
	}
}

// TestLongerContent verifies that content which is longer than listed is never cut off: it is read from
// a download.
func TestLongerContent(t *testing.T) {
	for _, features := range []string{wholeFeatures, plainFeatures} {
		t.Setenv("TMPDIR", t.TempDir())
		f := newFake(features)
		f.put("a", []byte("long content"))
		truncate(f, 5)
		s := f.source(t, Options{})
		o := one(t, s)
		_, err := read(t, s, o, 0)
		wrong, is := errors.AsType[*sources.SizeError](err)
		if !is || wrong.Listed != 5 || wrong.Object.Size != 12 {
			t.Fatalf("%d bytes are listed; error is %v", o.Size, err)
		}
		for offset, want := range map[int64]string{0: "long content", 5: "content", 12: ""} {
			if got, err := read(t, s, wrong.Object, offset); err != nil || got != want {
				t.Errorf("from %d: %q, %v", offset, got, err)
			}
		}
		n := 0
		f.copies = func() []byte { n++; return []byte("content" + fmt.Sprint(n)) }
		if _, err := read(t, s, wrong.Object, 0); !errors.Is(err, sources.ErrChanged) {
			t.Errorf("another length: %v", err)
		}
		if got, err := read(t, s, o, 0); !errors.Is(err, sources.ErrChanged) {
			t.Errorf("two downloads differ: %q, %v", got, err)
		}
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// TestCorrectedSizeChanges verifies that another size of the content is found if its storage lists the same
// wrong one as before.
func TestCorrectedSizeChanges(t *testing.T) {
	for _, has := range []int{6, 9, 12} {
		t.Setenv("TMPDIR", t.TempDir())
		f := newFake(plainFeatures)
		f.put("a", bytes.Repeat([]byte("x"), 9))
		s := f.source(t, Options{})
		o := one(t, s)
		before := o.Resized(3)
		f.copies = func() []byte { return bytes.Repeat([]byte("y"), has) }
		_, err := read(t, s, before, 0)
		if e, is := errors.AsType[*sources.SizeError](err); !is || e.Object != o.Resized(int64(has)) {
			t.Errorf("%d bytes: %v", has, err)
		}
	}
}

// TestInterruptedAtTheEnd verifies that content without a checksum is downloaded again if it was
// interrupted at its end, and passes if its size is right.
func TestInterruptedAtTheEnd(t *testing.T) {
	f := newFake(plainFeatures)
	f.put("a", []byte("right"))
	truncate(f, 5)
	s := f.source(t, Options{})
	o := one(t, s)
	f.asked("")
	if got, err := read(t, s, o, 0); err != nil || got != "right" {
		t.Errorf("read %q, %v", got, err)
	}
	if asked := f.asked("operations/copyfile"); len(asked) != 1 {
		t.Errorf("%d downloads", len(asked))
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
