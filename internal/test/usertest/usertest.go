// Package usertest runs tests as an unprivileged user, since root can read and write all files
// regardless of their permissions.
package usertest

import "os"

const childVariable = "ASSETFERRY_TEST_UNPRIVILEGED_DIRECTORY"

// IsApart reports whether this process is one of Run's, which cannot read the source code.
func IsApart() bool { return os.Getenv(childVariable) != "" }
