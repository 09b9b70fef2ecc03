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

// A usage is the resource usage of a process.
type usage struct {
	Wall, CPU time.Duration
	RSS       int64 // peak in bytes; 0 if unknown
	Exit      int
	Counts    map[string]int64 // the counters of the process, if it has any
}

// measureMode is the first argument of a helper process that runs another process and prints its
// usage.
const measureMode = "measure"

// run runs a program in its own home and measures it. The peak memory of a process starts at the
// memory of its parent, and the bench contains all servers. Therefore a small helper process starts
// the program.
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

// runWell is run, but returns an error unless the program succeeds.
func (h home) runWell(program string, args ...string) (usage, []byte, error) {
	u, output, err := h.run(program, args...)
	if err == nil && u.Exit != 0 {
		err = fmt.Errorf("%s %v: exit %d\n%s", filepath.Base(program), args, u.Exit, output)
	}
	return u, output, err
}

// measure runs a program in the helper process of run.
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
	if text, err := os.ReadFile(counted); err == nil { // a baseline has no counters
		if err := json.Unmarshal(text, &u.Counts); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.NewFile(3, "result")).Encode(u)
}

// A home is an environment for a process without the files and variables of the user.
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
