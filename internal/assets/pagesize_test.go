package assets

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A strict service refuses pages that are too large.
type strict struct {
	shelf shelf
	most  int

	mu     sync.Mutex
	limits []int // requested limits
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	s.limits = append(s.limits, limit)
	if limit > s.most {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"message":"%d is too large"}`, limit)
		return
	}
	s.shelf.ServeHTTP(w, r)
}

// asked returns the limits since the last call.
func (s *strict) asked() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	limits := s.limits
	s.limits = nil
	return limits
}

func TestRefusedPageIsShortened(t *testing.T) {
	tests := []struct {
		name         string
		most, size   int
		first, again []int // limits of the first list and of the second
	}{
		{"default", 20, 0, []int{50, 25, 12, 12, 12}, []int{12, 12, 12}},
		{"explicit", 20, 40, []int{40, 20, 20}, []int{20, 20}},
		{"down to the smallest", 10, 15, []int{15, 10, 10, 10, 10}, []int{10, 10, 10, 10}},
		{"not refused", 50, 0, []int{50}, []int{50}},
	}
	for _, tt := range tests {
		for _, noTotal := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, noTotal), func(t *testing.T) {
				s := &strict{shelf: shelf{ids: numbered(35), noTotal: noTotal}, most: tt.most}
				c := serve(t, s.ServeHTTP)
				for _, want := range [][]int{tt.first, tt.again} {
					got, err := listIDs(t, c, tt.size)
					if err != nil || !slices.Equal(got, s.shelf.ids) {
						t.Errorf("got %v, %v", got, err)
					}
					if limits := s.asked(); !slices.Equal(limits, want) {
						t.Errorf("asked for %v, want %v", limits, want)
					}
				}
			})
		}
	}
}

func TestPageSizeIsOfOneRoute(t *testing.T) {
	s := &strict{shelf: shelf{ids: numbered(12)}, most: 12}
	c := serve(t, s.ServeHTTP)
	if _, err := listIDs(t, c, 0); err != nil {
		t.Fatal(err)
	}
	s.asked()
	s.most = 50
	for _, err := range c.Trashed(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if limits := s.asked(); !slices.Equal(limits, []int{50}) {
		t.Errorf("asked for %v of another route, want 50", limits)
	}
}

func TestRefusalOfEverySize(t *testing.T) {
	for size, want := range map[int][]int{0: {50, 25, 12, 10}, 11: {11, 10}, 7: {7}} {
		s := &strict{most: 5}
		_, err := listIDs(t, serve(t, s.ServeHTTP), size)
		first := fmt.Sprintf("%d is too large", want[0])
		if err == nil || !strings.Contains(err.Error(), first) || !slices.Equal(s.asked(), want) {
			t.Errorf("%d: got %v, want %q", size, err, first)
		}
	}
}

// The test verifies that a refusal of a size that was accepted before does not count as a refusal
// of the size.
func TestRefusalForOtherReasons(t *testing.T) {
	s := &strict{shelf: shelf{ids: numbered(1)}, most: 20}
	c := serve(t, s.ServeHTTP)
	if _, err := listIDs(t, c, 0); err != nil {
		t.Fatal(err)
	}
	s.asked()
	s.most = 0
	if _, err := listIDs(t, c, 0); err == nil || !slices.Equal(s.asked(), []int{12}) {
		t.Errorf("got %v", err)
	}
	a := answers("404")
	if _, err := listIDs(t, serve(t, a.ServeHTTP), 0); err == nil || a.count() != 1 {
		t.Errorf("got %v after %d requests", err, a.count())
	}
}

func TestPageSizeIsSafeForConcurrentUse(t *testing.T) {
	s := &strict{shelf: shelf{ids: numbered(35)}, most: 20}
	c := serve(t, s.ServeHTTP)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := listIDs(t, c, 0); err != nil || !slices.Equal(got, s.shelf.ids) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	wg.Wait()
	s.asked()
	if _, err := listIDs(t, c, 0); err != nil || !slices.Equal(s.asked(), []int{12, 12, 12}) {
		t.Errorf("got %v", err)
	}
}
