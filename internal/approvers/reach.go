package approvers

import "fmt"

// A ReachError reports that the account whose commands need approval can change the file of approvers.
type ReachError struct {
	File string // the file of approvers
	Path string // the file or folder that it can change; empty for root
	Why  string
}

func (e *ReachError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("approvers_file %s: %s", e.File, e.Why)
	}
	return fmt.Sprintf("this account can change approvers_file %s: %s %s", e.File, e.Path, e.Why)
}

// Hint returns the next step for the user.
func (e *ReachError) Hint() string {
	if e.Path == "" {
		return "run this command as another account, with read access to the file only"
	}
	return "make root the owner of the file and the folders above it, with write access for root only"
}
