package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// sameAttributes copies the extended attributes of another file, including its access control list.
// Security modules set their own attributes on new files, and most accounts may not.
func sameAttributes(path, as string) error {
	_ = syscall.Removexattr(path, accessList) // inherited from the folder
	names, err := attribute(func(to []byte) (int, error) { return syscall.Listxattr(as, to) })
	if errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	for name := range strings.SplitSeq(string(names), "\x00") {
		if err != nil || name == "" || strings.HasPrefix(name, "security.") {
			continue
		}
		var want, have []byte
		if want, err = attribute(func(to []byte) (int, error) { return syscall.Getxattr(as, name, to) }); err != nil {
			break
		}
		have, herr := attribute(func(to []byte) (int, error) { return syscall.Getxattr(path, name, to) })
		if herr != nil || !bytes.Equal(want, have) {
			err = syscall.Setxattr(path, name, want, 0)
		}
	}
	if err != nil {
		return fmt.Errorf("copy file attributes: %w", err)
	}
	return nil
}

const accessList = "system.posix_acl_access"

// maxAttribute is the limit of Linux in bytes for an attribute, and for the names of all.
const maxAttribute = 64 << 10

func attribute(read func(to []byte) (int, error)) ([]byte, error) {
	to := make([]byte, maxAttribute)
	n, err := read(to)
	return to[:max(n, 0)], err
}
