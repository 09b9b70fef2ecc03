//go:build rclone

package ratelimit

import (
	"crypto/md5" // as storages list it
	"fmt"
	"time"
)

const folders = 60

// inFolder is the number of objects in each.
func inFolder() int {
	if isReal() {
		return 5
	}
	return 2
}

// An object is a file of the library.
type object struct {
	name    string // with its folder
	content string
	sum     [md5.Size]byte
}

// uploaded is the time of all objects.
var uploaded = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// library returns the objects of a storage, sorted by name.
func library() (all []object) {
	for f := range folders {
		for n := range inFolder() {
			o := object{name: fmt.Sprintf("album %02d/photo %d.txt", f, n), content: fmt.Sprintf("Photo %d of album %d\n", n, f)}
			o.sum = md5.Sum([]byte(o.content))
			all = append(all, o)
		}
	}
	return all
}
