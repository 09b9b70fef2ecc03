package table_test

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain keeps the proxy of who runs the tests out of them.
func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}
