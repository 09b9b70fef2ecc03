//go:build !unix

package private

import (
	"io/fs"
	"os"
)

func me() Account { return Account{} }

func stat(path string) (Access, bool, error) { return accessOf(os.Stat(path)) }

func lstat(path string) (Access, bool, error) { return accessOf(os.Lstat(path)) }

func accessOf(info fs.FileInfo, err error) (Access, bool, error) {
	if err != nil {
		return Access{}, false, err
	}
	return Access{Mode: info.Mode()}, false, nil
}
