package processtest

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"testing"
)

// Start starts a program that prints the ID of another process first. It returns that and the end of
// the program's standard input.
func Start(tb testing.TB, c *exec.Cmd) (stdin io.Closer, pid int) {
	tb.Helper()
	stdin, err := c.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanned := fmt.Sscan(line, &pid); scanned != nil {
		tb.Fatalf("%q: %v, %v", line, err, scanned)
	}
	return stdin, pid
}
