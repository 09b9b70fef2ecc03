package approvers

import "fmt"

// A ReachError says that the file of approvers can be changed by the account that is to be
// held back by it.
type ReachError struct {
	File string // the file of approvers
	Path string // what can be changed: the file or a folder above it; empty for root
	Why  string
}

func (e *ReachError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("approvers_file %s: %s", e.File, e.Why)
	}
	return fmt.Sprintf("approvers_file %s can be changed by the account that runs this: %s %s", e.File, e.Path, e.Why)
}

// Hint is the next step.
func (e *ReachError) Hint() string {
	if e.Path == "" {
		return "run this as an account of its own, which may read the file and not write it"
	}
	return "have root own the file and the folders above it, and only root write to them"
}
