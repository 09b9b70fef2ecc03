package cli

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"assetferry/internal/cli/command"
	"assetferry/internal/rclone/rclonetest"
	"assetferry/internal/test/longtest"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain runs the test binary as assetferry if it has that name, so that tests can start,
// interrupt and kill real processes.
func TestMain(m *testing.M) {
	testscript.Main(leakFree{m}, map[string]func(){
		"assetferry": func() { exitProcess(run(context.Background(), os.Args[1:], testEnv())) },
		"leak":       func() { exitProcess(leak()) },
		"rclone":     func() { os.Exit(rclonetest.Main()) },
	})
}

// testEnv returns the environment of a process. It may accept any file of approvers as out of
// reach, because files of a test belong to the account that runs it, which may be root.
func testEnv() command.Environment {
	e := command.StdEnv()
	if os.Getenv("ASSETFERRY_TEST_OUT_OF_REACH") != "" {
		e.OutOfReach = func(string) error { return nil }
	}
	return e
}

// leakFree fails tests that leave goroutines behind.
type leakFree struct{ *testing.M }

func (m leakFree) Run() int {
	longtest.Parallel(10)
	code := m.M.Run()
	removeShared()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// leaked is the exit code of a process that leaves goroutines behind.
const leaked = 99

// exitProcess ends a process. Built with GOEXPERIMENT=goroutineleakprofile, it fails if goroutines
// are blocked forever. Goroutines that the end of a process may interrupt, such as those of idle
// connections, do not count.
func exitProcess(code int) {
	if profile := pprof.Lookup("goroutineleak"); profile != nil {
		var stacks strings.Builder
		if err := profile.WriteTo(&stacks, 1); err != nil {
			panic(err)
		}
		if profile.Count() > 0 {
			fmt.Fprintln(os.Stderr, &stacks)
			code = leaked
		}
	}
	os.Exit(code)
}

// leak starts a goroutine that blocks forever, and returns once it is blocked, because only then it
// counts as a leak.
func leak() int {
	go func() { <-make(chan int) }()
	waits := regexp.MustCompile(`\[chan receive\]:\n\S*\.leak\.func1\(`)
	for stacks := make([]byte, 1<<16); ; runtime.Gosched() {
		if waits.Match(stacks[:runtime.Stack(stacks, true)]) {
			return 0
		}
	}
}

// The test verifies that a leak in a process is found.
func TestLeaksOfProcessesAreFound(t *testing.T) {
	if pprof.Lookup("goroutineleak") == nil {
		t.Skip("needs GOEXPERIMENT=goroutineleakprofile")
	}
	p := assetferry(t, t.TempDir(), nil)
	p.Path, p.Args = strings.TrimSuffix(p.Path, "assetferry")+"leak", []string{"leak"}
	if code := p.run(t); code != leaked || !strings.Contains(p.stderr.String(), ".leak.func1") {
		t.Errorf("exit code %d, want %d with the stack:\n%s", code, leaked, &p.stderr)
	}
}
