//go:build unix

package private

import (
	"io/fs"
	"os"
	"syscall"
)

// me returns the account of this process.
func me() Account { return Account{os.Geteuid(), os.Getegid()} }

func stat(path string) (Access, bool, error) { return accessOf(os.Stat(path)) }

func lstat(path string) (Access, bool, error) { return accessOf(os.Lstat(path)) }

// accessOf returns false if the system has no such accounts.
func accessOf(info fs.FileInfo, err error) (Access, bool, error) {
	if err != nil {
		return Access{}, false, err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Access{Mode: info.Mode()}, false, nil
	}
	return Access{Owner: int(s.Uid), Group: int(s.Gid), Mode: info.Mode(), Links: int(s.Nlink)}, true, nil
}
