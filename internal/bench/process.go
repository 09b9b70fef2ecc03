package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"assetferry/internal/counts"
)

// A usage is what a process took.
type usage struct {
	Wall, CPU time.Duration
	RSS       int64 // bytes at its peak; 0 where that cannot be told
	Exit      int
	Counts    map[string]int64 // what it asked for, as far as it counts that itself
}

// measureMode is the first argument of a process of ours that runs another one and tells
// what that took.
const measureMode = "measure"

// run runs a program in a home of its own and measures it. The peak of a process begins
// with what its parent has in memory when it starts it, and we have all servers in ours.
// So a small process goes between.
func (h home) run(program string, args ...string) (u usage, output []byte, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return u, nil, err
	}
	defer read.Close()
	c := h.command(h.self, append([]string{measureMode, program}, args...)...)
	c.ExtraFiles = []*os.File{write}
	var both bytes.Buffer
	c.Stdout, c.Stderr = &both, &both
	err = c.Run()
	write.Close()
	if err == nil {
		err = json.NewDecoder(read).Decode(&u)
	}
	if err != nil {
		return u, both.Bytes(), fmt.Errorf("%s %v: %w\n%s", filepath.Base(program), args, err, both.Bytes())
	}
	return u, both.Bytes(), nil
}

// runWell is run, and anything but success is an error.
func (h home) runWell(program string, args ...string) (usage, []byte, error) {
	u, output, err := h.run(program, args...)
	if err == nil && u.Exit != 0 {
		err = fmt.Errorf("%s %v: exit %d\n%s", filepath.Base(program), args, u.Exit, output)
	}
	return u, output, err
}

// measure runs a program for run.
func measure(program string, args ...string) error {
	dir, err := os.MkdirTemp("", "counts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	counted := filepath.Join(dir, "counts.json")
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Env = append(os.Environ(), counts.Variable+"="+counted)
	began := time.Now()
	err = c.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return err
	}
	p := c.ProcessState
	u := usage{Wall: time.Since(began), CPU: p.UserTime() + p.SystemTime(), RSS: peak(p), Exit: p.ExitCode()}
	if text, err := os.ReadFile(counted); err == nil { // a baseline does not count
		if err := json.Unmarshal(text, &u.Counts); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.NewFile(3, "result")).Encode(u)
}

// A home is where a process runs that must not find anything of this machine's user.
type home struct {
	dir  string
	env  []string
	self string // this program
}

func (h home) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir = h.dir
	c.Env = append([]string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + h.dir, "NO_PROXY=127.0.0.1",
		"AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=bench", "AWS_REGION=us-east-1"}, h.env...)
	return c
}
