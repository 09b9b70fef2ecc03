package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary run as assetferry when it is called by that
// name, so that tests can start, interrupt and kill real processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assetferry": main})
}
