package rclone

import (
	"runtime"
	"syscall"
)

// run starts the process and waits for it. The system kills rclone when the thread ends that has
// started it, so this goroutine keeps its thread until rclone has ended.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// In a group of its own, rclone does not get the Ctrl-C that lets our run end in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	err := c.cmd.Start()
	if err == nil {
		group := -c.cmd.Process.Pid
		c.ask = func() { c.signal(syscall.SIGTERM) }
		c.kill = func() { _ = syscall.Kill(group, syscall.SIGKILL) }
	}
	started <- err
	if err == nil {
		c.err = c.cmd.Wait()
		close(c.done)
	}
}

// signal signals a process that has not been waited for.
func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }
