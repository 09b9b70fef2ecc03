//go:build !windows

package scan

import (
	"os/exec"
	"syscall"
)

// isolate starts a program in a process group of its own, which is killed as a whole. So Ctrl-C in a
// terminal does not reach it: a run finishes the uploads in progress first.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
