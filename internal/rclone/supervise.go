package rclone

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// SuperviseArg is the first argument of the program when it is the supervisor of an rclone. Linux
// and Windows end child processes by themselves and need none.
const SuperviseArg = "supervise-rclone"

// Supervise runs the program in args[0] with the other arguments until stdin ends, and returns its
// exit code.
func Supervise(args []string, stdin io.Reader) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		_, _ = io.WriteString(os.Stderr, "rclone: "+err.Error()+"\n")
		return 1
	}
	ended := make(chan struct{})
	var failed error
	go func() {
		failed = cmd.Wait()
		close(ended)
	}()
	parentEnded := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		close(parentEnded)
	}()
	select {
	case <-ended:
		return exitCode(failed)
	case <-parentEnded:
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		_ = cmd.Process.Kill()
		<-ended
	}
	return 0
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	return 1
}
