package diskspace

import (
	"math"

	"golang.org/x/sys/windows"
)

func free(path string) (int64, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var ours uint64
	if err := windows.GetDiskFreeSpaceEx(p, &ours, nil, nil); err != nil {
		return 0, err
	}
	return int64(min(ours, math.MaxInt64)), nil
}
