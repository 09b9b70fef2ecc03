package table_test

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain removes the proxy of the user from the environment of the tests.
func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}
