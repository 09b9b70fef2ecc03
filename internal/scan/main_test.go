package scan

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is also the scanner of the tests, if the first argument says so. Scanners get no variables
// of ours.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "scanner" {
		os.Exit(scanner(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

func scanner(behaviour string) int {
	switch behaviour {
	case "early": // decides before it reads anything
		return 0
	case "early-refusal":
		fmt.Println("stream: Early FOUND")
		return 1
	case "hang":
		time.Sleep(time.Hour)
	case "chatty":
		line := strings.Repeat("x", 1<<20)
		for range 100 {
			fmt.Println(line)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 1
	case "kill-itself":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		time.Sleep(time.Hour)
	case "environment":
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println(strings.Join(os.Environ(), "|"))
		return 1
	case "child": // leaves a process behind that keeps its output open
		self, _ := os.Executable()
		c := exec.Command(self, "scanner", "hang")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		_ = c.Start()
		time.Sleep(time.Hour)
	}
	all, _ := io.ReadAll(os.Stdin)
	switch {
	case strings.Contains(string(all), "evil"):
		fmt.Println("stream: Test.Evil\x1b[31m FOUND")
		return 1
	case strings.Contains(string(all), "silent"):
		return 1
	case strings.Contains(string(all), "broken"):
		fmt.Fprintln(os.Stderr, "\nERROR: no database")
		return 2
	}
	return 0
}
