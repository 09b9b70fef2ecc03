// Package usertest runs tests as a user who may not do everything: root reads and writes
// whatever files forbid.
package usertest

import "os"

const childVariable = "ASSETFERRY_TEST_UNPRIVILEGED_DIRECTORY"

// IsApart reports whether this process is one of Run's, which has no source around it.
func IsApart() bool { return os.Getenv(childVariable) != "" }
