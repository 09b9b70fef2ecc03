package rclone

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// run starts the process in a job that ends with its last handle, and so with this process.
func (c *child) run(started chan<- error) {
	job, err := newJob()
	if err != nil {
		started <- err
		return
	}
	defer func() { _ = windows.CloseHandle(job) }()
	// In a group of its own, rclone does not get the Ctrl-C that lets our run end in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if err := c.cmd.Start(); err != nil {
		started <- err
		return
	}
	if err := assign(job, uint32(c.cmd.Process.Pid)); err != nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		started <- err
		return
	}
	c.ask = func() {} // without signals: core/quit was sent before
	c.kill = func() { _ = c.cmd.Process.Kill() }
	started <- nil
	c.err = c.cmd.Wait()
	close(c.done)
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func assign(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	return windows.AssignProcessToJobObject(job, process)
}
