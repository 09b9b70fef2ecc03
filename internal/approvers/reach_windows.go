package approvers

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Access rights of Windows that x/sys does not define.
const (
	fileWriteData   = 0x2
	fileAppendData  = 0x4
	fileDeleteChild = 0x40
)

// OutOfReach returns a *ReachError if the account of this process can change a file or a folder above
// it. The system decides: the file is opened with each right that allows a change or a replacement.
// Nothing is written.
func OutOfReach(file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return fmt.Errorf("approvers_file %s: %w", file, err)
	}
	rights := []uint32{fileWriteData, fileAppendData, windows.DELETE, windows.WRITE_DAC, windows.WRITE_OWNER}
	for {
		for _, right := range rights {
			allowed, err := opens(path, right)
			if err != nil {
				return fmt.Errorf("approvers_file %s: %s: %w", file, path, err)
			}
			if allowed {
				return &ReachError{file, path, "is writable"}
			}
		}
		above := filepath.Dir(path)
		if above == path {
			return nil
		}
		path, rights = above, []uint32{fileDeleteChild, windows.DELETE, windows.WRITE_DAC, windows.WRITE_OWNER}
	}
}

func opens(path string, right uint32) (bool, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false, err
	}
	share := uint32(windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE)
	h, err := windows.CreateFile(name, right, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	switch {
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, windows.CloseHandle(h)
}
