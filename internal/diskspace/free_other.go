//go:build !(linux || darwin || freebsd || windows)

package diskspace

import "errors"

func free(string) (int64, error) { return 0, errors.ErrUnsupported }
