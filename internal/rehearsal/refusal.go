package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits are measured limits of a service for the names of assets and folders.
type Limits struct {
	MaxName         int  // characters; 0 or less: no limit
	ExactExtensions bool // a category that accepts jpg refuses JPG
}

// Refuses returns why the service refuses an asset, or "". accepted are the extensions that its
// category accepts, or nil if they are unknown.
func (l Limits) Refuses(folder, base, extension string, accepted []string) string {
	if l.ExactExtensions && accepted != nil && !slices.Contains(accepted, extension) {
		return fmt.Sprintf("the service distinguishes upper and lower case, and the category does not accept %q", extension)
	}
	if l.tooLong(base) {
		return fmt.Sprintf("the name is longer than %d characters", l.MaxName)
	}
	for name := range strings.SplitSeq(folder, "/") {
		if l.tooLong(name) {
			return fmt.Sprintf("the folder name is longer than %d characters", l.MaxName)
		}
	}
	return ""
}

func (l Limits) tooLong(name string) bool {
	return l.MaxName > 0 && len(name) > l.MaxName && utf8.RuneCountInString(name) > l.MaxName
}
