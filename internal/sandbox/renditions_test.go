package sandbox

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"assetferry/internal/sandbox/records"
)

func TestParseBox(t *testing.T) {
	for name, want := range map[string]box{
		"400.webp": {400, 0, "webp"}, "400x300.jpeg": {400, 300, "jpeg"}, "1.gif": {1, 0, "gif"},
		"400": {400, 0, "webp"}, "400x300": {400, 300, "webp"}, "65535.tiff": {65535, 0, "tiff"},
	} {
		if got, err := parseBox(name); got != want || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{
		"", ".webp", "x.webp", "0.webp", "-1.webp", "+1.webp", "1e3.webp", "65536.webp", "400x.webp", "x300.webp", "400x0.webp",
		"400x300x200.webp", "400.bmp", "400.WEBP", "400.", "400.webp.webp", " 400.webp", "default",
	} {
		if got, err := parseBox(name); err == nil {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestNearest(t *testing.T) {
	all := records.Widths(1000) // 100, 200, ... 1000
	for wanted, want := range map[int]int{1: 100, 100: 100, 149: 100, 150: 200, 151: 200, 960: 1000, 5000: 1000} {
		if got := nearest(all, wanted); got != want {
			t.Errorf("%d: %d, want %d", wanted, got, want)
		}
	}
}

func TestRenditionsAreKept(t *testing.T) {
	made := map[renditionKey]int{}
	r := newRenditions(100, func(k renditionKey) ([]byte, error) {
		made[k]++
		return make([]byte, k.width), nil
	})
	ask := func(width int) {
		t.Helper()
		if b, err := r.get(renditionKey{width: width}); err != nil || len(b) != width {
			t.Errorf("%d: %d bytes, %v", width, len(b), err)
		}
	}
	for _, width := range []int{40, 41, 40, 42, 40, 41, 101, 101} { // 41 goes for 42, and 42 for 41
		ask(width)
	}
	if got := fmt.Sprint(made); got != fmt.Sprint(map[renditionKey]int{{width: 40}: 1, {width: 41}: 2, {width: 42}: 1, {width: 101}: 2}) {
		t.Errorf("made %v", got)
	}
	if r.kept.size > 100 || len(r.kept.byKey) != r.kept.order.Len() {
		t.Errorf("%d bytes are kept", r.kept.size)
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	tries := 0
	r := newRenditions(100, func(renditionKey) ([]byte, error) {
		if tries++; tries == 1 {
			return nil, errors.New("no")
		}
		return []byte("x"), nil
	})
	if _, err := r.get(renditionKey{}); err == nil {
		t.Error("no error")
	}
	if b, err := r.get(renditionKey{}); err != nil || string(b) != "x" {
		t.Errorf("got %q, %v", b, err)
	}
}

// TestConversionsAtOnce asks for three renditions ten times each, all at the same
// time: each is made once, and never more than two are under way.
func TestConversionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		var running, most, made int
		r := newRenditions(100, func(k renditionKey) ([]byte, error) {
			mu.Lock()
			made++
			running++
			most = max(most, running)
			mu.Unlock()
			<-release
			mu.Lock()
			running--
			mu.Unlock()
			return []byte{1}, nil
		})
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				if _, err := r.get(renditionKey{width: i % 3}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		mu.Lock()
		if running != conversions {
			t.Errorf("%d are under way", running)
		}
		mu.Unlock()
		close(release)
		all.Wait()
		if made != 3 || most != conversions {
			t.Errorf("made %d, at once %d", made, most)
		}
	})
}
