//go:build !linux && !windows

package rclone

import (
	"os"
	"syscall"
)

// run starts the process below a supervisor: this program again, which ends rclone when its stdin is
// closed. The system closes it when this process dies.
func (c *child) run(started chan<- error) {
	close, err := c.start()
	started <- err
	if err != nil {
		return
	}
	c.err = c.cmd.Wait()
	close()
	closeDone(c)
}

func closeDone(c *child) { close(c.done) }

// start returns a function that closes the stdin of the supervisor.
func (c *child) start() (func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c.cmd.Args = append([]string{self, SuperviseArg, c.cmd.Path}, c.cmd.Args[1:]...)
	c.cmd.Path = self
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// In a group of its own, rclone does not get the Ctrl-C that lets our run end in order, and the
	// supervisor survives a signal to our group.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	group := -c.cmd.Process.Pid
	c.ask = func() { _ = stdin.Close() }
	c.kill = func() { _ = syscall.Kill(group, syscall.SIGKILL) }
	return c.ask, nil
}
