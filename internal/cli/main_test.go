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
	"assetferry/internal/test/longtest"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain makes the test binary run as assetferry when it is called by that
// name, so that tests can start, interrupt and kill real processes.
func TestMain(m *testing.M) {
	testscript.Main(leakFree{m}, map[string]func(){
		"assetferry": func() { exitProcess(run(context.Background(), os.Args[1:], testEnv())) },
		"leak":       func() { exitProcess(leak()) },
	})
}

// testEnv is the environment of a process, in which a test may take the file of approvers for
// out of reach: what a test writes belongs to the account that runs it, and that may be root.
func testEnv() command.Environment {
	e := command.StdEnv()
	if os.Getenv("ASSETFERRY_TEST_OUT_OF_REACH") != "" {
		e.OutOfReach = func(string) error { return nil }
	}
	return e
}

// leakFree makes tests fail that leave goroutines behind.
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

// exitProcess ends a process. Built with GOEXPERIMENT=goroutineleakprofile it looks for
// goroutines that wait for what nobody can do any more; those that the end of a
// process may interrupt, such as of a connection that is kept, are none of them.
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

// leak leaves a goroutine that waits for good, and returns once it does wait: one
// that has not come that far is no leak yet.
func leak() int {
	go func() { <-make(chan int) }()
	waits := regexp.MustCompile(`\[chan receive\]:\n\S*\.leak\.func1\(`)
	for stacks := make([]byte, 1<<16); ; runtime.Gosched() {
		if waits.Match(stacks[:runtime.Stack(stacks, true)]) {
			return 0
		}
	}
}

// The tests have processes looked through for leaks; this makes sure that any would be found.
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
