package rewrite

import (
	"io/fs"
	"os"
)

// sameAccess does nothing: a new file inherits the permissions of its folder.
func sameAccess(f, as *os.File) error { return nil }

// syncDir does nothing: a directory cannot be synced, and NTFS logs renames itself.
func syncDir(string) error { return nil }

// hasOtherNames returns true: on Windows, the number of names needs another system call.
func hasOtherNames(fs.FileInfo) bool { return true }
