package pagesums

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChangedPages(t *testing.T) {
	if got := changedPages(2, 7).Error(); !strings.HasPrefix(got, "2 pages were changed; the first is page 7: ") {
		t.Errorf("got %q", got)
	}
}
