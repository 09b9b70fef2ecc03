package report

import (
	"testing"

	"assetferry/internal/test/longtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	longtest.Checks(longtest.Size(12, 100))
	goleak.VerifyTestMain(m)
}
