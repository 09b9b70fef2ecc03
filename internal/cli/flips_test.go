package cli

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

var flipsFlag = flag.Int("flips", longtest.Size(3, 8), "how many bits TestFlips flips, each in a state database of its own")

// The test flips one bit in a file of a state database that no process has open: one that was
// closed, or whose process was killed. It verifies that the next run sends nothing and shows the
// reason and a remedy, or that it ends with a destination equal to the source. The remedy must
// work, too. The long form is
//
//	go test ./cli -run TestFlips -flips 300 -timeout 60m -v
func TestFlips(t *testing.T) {
	t.Parallel()
	seed := seedtest.Seed(t)
	var mu sync.Mutex
	seen := map[string]int{}
	t.Run("bits", func(t *testing.T) {
		for n := range *flipsFlag {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				became := flipOne(t, rand.New(rand.NewPCG(seed, uint64(n))), n%2 == 1 && runtime.GOOS != "windows")
				mu.Lock()
				defer mu.Unlock()
				seen[became]++
			})
		}
	})
	t.Logf("%v", seen)
}

// flipOne flips one bit, and returns a short name of the result.
func flipOne(t *testing.T, dice *rand.Rand, killed bool) (became string) {
	dir := t.TempDir()
	files := smallTree(24)
	files.write(t, filepath.Join(dir, "src"))
	s := startService(t, sandbox.Options{})
	statePath := filepath.Join(dir, "j.db")
	ferry := func(args ...string) *process {
		return assetferry(t, dir, append(s.variables(), "ASSETFERRY_STATE="+statePath), args...)
	}
	sync := []string{"sync", "src", "--confirm-timeout", "100ms", "-j", "3"}
	ferry(sync...).must(t, exit.CodeDone)
	more := tree{}
	for n := range 40 {
		more[fmt.Sprintf("more/file %03d.txt", n)] = fmt.Sprint("more ", n)
	}
	for key, content := range more {
		files[key] = content
	}
	more.write(t, filepath.Join(dir, "src"))
	became = "closed"
	if killed {
		became = "killed"
		p := ferry(append(sync, "--json")...)
		killAtRequest(t, s, p, 1+dice.IntN(25), isUnsafe)
		if code := p.wait(t); code != -1 {
			t.Fatalf("exit code %d before the kill: %s", code, p.stderr.String())
		}
		s.rest(t)
	}
	what := flipBit(t, dice, statePath)
	s.drain()
	p := ferry(sync...)
	switch code := p.run(t); code {
	case exit.CodeDone:
		became += ", right"
	case exit.CodeError:
		became += ", refused"
		checkRefusal(t, s, p, what)
		takeWayOut(t, ferry, statePath, sync)
	default:
		t.Fatalf("after a bit flipped %s: exit code %d\n%s%s", what, code, p.stdout.String(), p.stderr.String())
	}
	if files.check(t, s); t.Failed() {
		t.Logf("a bit flipped %s; %s:\n%s%s", what, became, p.stdout.String(), p.stderr.String())
	}
	return became
}

// flipBit flips a random bit in one of the files of a state database, and returns the file and the
// offset.
func flipBit(t *testing.T, dice *rand.Rand, statePath string) (what string) {
	t.Helper()
	for {
		name := statePath + [...]string{"", "", "", "-wal", ".lock", ".sums"}[dice.IntN(6)] // most often in the database
		content, err := os.ReadFile(name)
		if err != nil || len(content) == 0 {
			continue
		}
		at, bit := dice.IntN(len(content)), dice.IntN(8)
		content[at] ^= 1 << bit
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("in %s: %d of byte %d", filepath.Base(name), bit, at)
	}
}

// checkRefusal verifies that an error has a reason and a remedy, and that the run changed nothing.
func checkRefusal(t *testing.T, s *service, p *process, what string) {
	t.Helper()
	said := p.stderr.String()
	if !strings.Contains(said, "the state database is damaged") && !strings.Contains(said, "was changed outside of assetferry") || !strings.Contains(said, "\nTry: ") {
		t.Errorf("after a bit flipped %s it is said: %s", what, said)
	}
	for _, r := range s.drain() {
		if !strings.HasPrefix(r, http.MethodGet+" ") && !strings.HasPrefix(r, http.MethodHead+" ") {
			t.Errorf("refused after %s", r)
		}
	}
}

// takeWayOut follows help state: it replaces the damaged file by the backup, runs state takeover,
// and repeats the command.
func takeWayOut(t *testing.T, ferry func(args ...string) *process, statePath string, sync []string) {
	t.Helper()
	backup, err := os.ReadFile(statePath + ".backup")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"-wal", "-shm"} {
		if err := os.Remove(statePath + f); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(statePath, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	ferry("state", "takeover").must(t, exit.CodeDone)
	ferry(sync...).must(t, exit.CodeDone)
}
