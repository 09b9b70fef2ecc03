package scan

import (
	"os/exec"
	"syscall"
)

// isolate starts a program in a process group of its own. So Ctrl-C in a console does not reach it: a
// run finishes the uploads in progress first.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
