package cli

import (
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/seedtest"

	"github.com/rogpeppe/go-internal/testscript"
)

// introduced matches the first line of a run.
var introduced = regexp.MustCompile(`(?m)^(?:Run|Resuming run) (\d{8}-\d{4}-[a-z0-9]{5}):`)

// cmdNamed sets a variable to the ID of the run that the last call introduced, or otherwise the
// last ID on stdout: named RUN
func cmdNamed(ts *testscript.TestScript, _ bool, args []string) {
	all := runID.FindAllString(ts.ReadFile("stdout"), -1)
	if intro := introduced.FindStringSubmatch(ts.ReadFile("stderr")); intro != nil {
		all = intro[1:]
	}
	if len(all) == 0 {
		ts.Fatalf("no run is named")
	}
	ts.Setenv(args[0], all[len(all)-1])
}

// cmdPatch changes an asset like another user, with the body of a PATCH request: patch PLACE BODY
func cmdPatch(ts *testscript.TestScript, _ bool, args []string) {
	all, err := serviceOf(ts).assets()
	ts.Check(err)
	for _, a := range all {
		if a.place() == args[0] {
			ts.Check(serviceOf(ts).call("PATCH", "/assets/"+a.id, strings.NewReader(args[1]), "application/json", nil))
			return
		}
	}
	ts.Fatalf("there is no asset at %s", args[0])
}

// TestKillUndo kills an undo several times. It verifies that existing assets stay, that the assets
// of the run are trashed, and that a migration then uploads everything once.
func TestKillUndo(t *testing.T) {
	t.Parallel()
	dice := seedtest.Rand(t)
	files := smallTree(320) // four trash requests
	dir := t.TempDir()
	files.write(t, dir+"/src")
	s := startService(t, sandbox.Options{Latency: 5 * time.Millisecond})
	if err := s.upload("Images", "file 000.jpg", []byte(files["file 000.jpg"])); err != nil {
		t.Fatal(err)
	}
	if err := s.upload("Images", "foreign.jpg", []byte("not ours")); err != nil {
		t.Fatal(err)
	}
	migrate := []string{"migrate", "src", "--json", "--confirm-timeout", "100ms", "-j", "4"}
	made := lastEvent(t, assetferry(t, dir, s.variables(), migrate...).must(t, exit.CodeDone))
	undo := []string{"undo", "--run", made.Run, "--apply", "--yes", "--json", "-j", "2"}

	for n := range 3 {
		p := assetferry(t, dir, s.variables(), undo...)
		switch dice.IntN(3) {
		case 0:
			killAtRequest(t, s, p, 1, isTrashing)
		case 1:
			killAtRequest(t, s, p, 1+dice.IntN(10), func(*http.Request) bool { return true })
		case 2:
			killAtOutcome(t, s, p, 1+dice.IntN(30))
		}
		code := p.wait(t)
		s.rest(t)
		switch {
		case code == exit.CodeDone:
			t.Logf("it was done before kill %d", n)
		case runtime.GOOS != "windows" && code != -1:
			t.Fatalf("exit code %d before kill %d\n%s%s", code, n, p.stdout.String(), p.stderr.String())
		}
	}
	if n := len(files); made.Actions["create"] != int64(n-1) {
		t.Fatalf("the run made %v of %d files", made.Actions, n)
	}
	assetferry(t, dir, s.variables(), undo...).must(t, exit.CodeDone)
	assetferry(t, dir, s.variables(), "state", "check").must(t, exit.CodeDone)
	if left, err := s.assets(); err != nil || len(left) != 2 {
		t.Errorf("%d assets are left (%v), want the two that were there before: %v", len(left), err, left)
	}
	assetferry(t, dir, s.variables(), "verify", "--content").must(t, exit.CodeDone)

	sum := lastEvent(t, assetferry(t, dir, s.variables(), migrate...).must(t, exit.CodeDone))
	if sum.States["done"] != int64(len(files)-1) || sum.States["skipped"] != 1 {
		t.Errorf("migrated again: %v", sum.States)
	}
	files["foreign.jpg"] = "not ours"
	files.check(t, s)
}

func isTrashing(r *http.Request) bool { return r.URL.Path == "/assets/trash" }

// TestInterruptUndo verifies that an interrupt lets the current request finish and prevents further
// ones.
func TestInterruptUndo(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside")
	}
	files := smallTree(150)
	dir := t.TempDir()
	files.write(t, dir+"/src")
	s := startService(t, sandbox.Options{})
	made := lastEvent(t, assetferry(t, dir, s.variables(), "migrate", "src", "--json").must(t, exit.CodeDone))
	undo := []string{"undo", "--run", made.Run, "--apply", "--yes", "--json"}
	reached, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.onRequest(func(r *http.Request) {
		if isTrashing(r) {
			once.Do(func() { close(reached) })
			<-open
		}
	})
	p := assetferry(t, dir, s.variables(), undo...)
	shown := whenPrinted(t, p, "Interrupted: finishing work in progress")
	p.follow(t)
	<-reached
	interrupt(t, p)
	<-shown
	close(open)
	if code := p.wait(t); code != exit.CodeInterrupted {
		t.Fatalf("exit code %d, want %d\n%s", code, exit.CodeInterrupted, p.stdout.String())
	}
	s.onRequest(nil)
	sum := lastEvent(t, p.stdout.String())
	if fmt.Sprint(sum.States) != "map[done:100 planned:50]" {
		t.Errorf("after an interrupt: %v", sum.States)
	}
	blocked := assetferry(t, dir, s.variables(), "migrate", "src")
	blocked.must(t, exit.CodeError)
	if text := blocked.stderr.String(); !strings.Contains(text, "is not finished") || !strings.Contains(text, "Try: finish it:\n  assetferry undo --run "+made.Run+" --apply\n") {
		t.Errorf("migrate is told: %s", text)
	}
	again := lastEvent(t, assetferry(t, dir, s.variables(), undo...).must(t, exit.CodeDone))
	if again.Run != sum.Run || fmt.Sprint(again.States) != "map[done:150]" {
		t.Errorf("undo %s went on as %s and came to %v", sum.Run, again.Run, again.States)
	}
}
