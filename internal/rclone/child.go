package rclone

import (
	"os/exec"
	"time"
)

// endTimeout is the time that rclone gets to end by itself.
const endTimeout = 5 * time.Second

// A child is a running rclone, or its supervisor. It ends with this process in every case.
type child struct {
	cmd  *exec.Cmd
	ask  func() // asks it to end
	kill func() // kills it, and all its processes
	done chan struct{}
	err  error // of Wait, once done is closed
}

// startChild starts cmd as a child that dies with this process.
func startChild(cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, done: make(chan struct{})}
	cmd.WaitDelay = time.Second // a process that it leaves behind may keep its stderr open
	started := make(chan error, 1)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// hasEnded reports whether the process has ended.
func (c *child) hasEnded() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stop ends the process, and returns when it has ended.
func (c *child) stop() {
	c.ask()
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	}
	c.kill() // always: processes that it started may be left in its group
	<-c.done
}
