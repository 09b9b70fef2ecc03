package rendition

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func TestRenditionsAreKept(t *testing.T) {
	made := map[Key]int{}
	r := NewCache(100, func(k Key) ([]byte, error) {
		made[k]++
		return make([]byte, k.Width), nil
	})
	ask := func(width int) {
		t.Helper()
		if b, err := r.Get(Key{Width: width}); err != nil || len(b) != width {
			t.Errorf("%d: %d bytes, %v", width, len(b), err)
		}
	}
	for _, width := range []int{40, 41, 40, 42, 40, 41, 101, 101} { // 41 evicts 42, and 42 evicts 41
		ask(width)
	}
	if got := fmt.Sprint(made); got != fmt.Sprint(map[Key]int{{Width: 40}: 1, {Width: 41}: 2, {Width: 42}: 1, {Width: 101}: 2}) {
		t.Errorf("made %v", got)
	}
	if r.kept.size > 100 || len(r.kept.byKey) != r.kept.order.Len() {
		t.Errorf("%d bytes are kept", r.kept.size)
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	tries := 0
	r := NewCache(100, func(Key) ([]byte, error) {
		if tries++; tries == 1 {
			return nil, errors.New("no")
		}
		return []byte("x"), nil
	})
	if _, err := r.Get(Key{}); err == nil {
		t.Error("no error")
	}
	if b, err := r.Get(Key{}); err != nil || string(b) != "x" {
		t.Errorf("got %q, %v", b, err)
	}
}

// TestConversionsAtOnce verifies that three renditions that are requested ten times each in
// parallel are generated once each, and at most two at a time.
func TestConversionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		var running, most, made int
		r := NewCache(100, func(k Key) ([]byte, error) {
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
				if _, err := r.Get(Key{Width: i % 3}); err != nil {
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
