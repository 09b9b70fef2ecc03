//go:build rclone

package rclone

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/rclone"
	"assetferry/internal/test/processtest"
	"assetferry/internal/test/seedtest"
	"assetferry/sources"
	"assetferry/sources/sourcetest"
)

// killsPerRound is the number of kills of one library: of each victim in a migration and in a sync.
const killsPerRound = 6

// TestKilledRuns kills assetferry, its rclone and the server of the storage in the middle of
// migrations and syncs, and runs each again until it is done. Then no object may be missing or exist
// twice, and no rclone may be alive. The moments are random numbers of chunks of data that have passed.
// The variable ASSETFERRY_TEST_KILLS sets the number of kills, such as 200.
func TestKilledRuns(t *testing.T) {
	versions, random := programs(t), seedtest.Rand(t)
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("ASSETFERRY_TEST_KILLS"), strconv.Itoa(2*killsPerRound*len(versions))))
	must(t, err)
	total := &totals{killed: map[string]int{}}
	binary := build(t, "")
	t.Run("rounds", func(t *testing.T) {
		for n := range (kills + killsPerRound - 1) / killsPerRound {
			p, storage := versions[n%len(versions)], []string{"WebDAV", "SFTP"}[n/len(versions)%2]
			dice := rand.New(rand.NewPCG(random.Uint64(), 0))
			t.Run(fmt.Sprintf("%d, %s, %s", n, p.Version, storage), func(t *testing.T) {
				t.Parallel()
				newRound(t, total, dice, binary, p, storage).play()
			})
		}
	})
	for _, victim := range slices.Sorted(maps.Keys(total.killed)) {
		t.Logf("%s: %d kills", victim, total.killed[victim])
	}
	t.Logf("%d runs: %d objects missing, %d doubled", total.runs, total.missing, total.doubled)
}

// totals are counted over all rounds.
type totals struct {
	mu                     sync.Mutex
	killed                 map[string]int
	runs, missing, doubled int
}

// A round is a library on a server, and its migration and sync.
type round struct {
	*testing.T
	*totals
	dice    *rand.Rand
	binary  string
	dir     string
	env     []string
	version rclone.Version
	source  string // for the command line
	disk    *disk
	storage *server
	library *destination
	want    map[string]stored
	endings []string // of the runs
	serial  int

	steps steps
	run   *exec.Cmd // the present one; its start and end need the lock of steps
}

func newRound(t *testing.T, total *totals, dice *rand.Rand, binary string, p rclone.Program, kind string) *round {
	r := &round{T: t, totals: total, dice: dice, binary: binary, dir: t.TempDir(), version: p.Version, want: map[string]stored{}}
	served, port := t.TempDir(), processtest.FreePort(t)
	r.disk = &disk{root: served + "/library"}
	r.storage = &server{addr: "127.0.0.1:" + port}
	t.Cleanup(r.storage.kill)
	front := newRelay(t, r.storage.addr, r.steps.event).port()
	config := ""
	switch kind {
	case "WebDAV":
		newest := newest(t)
		r.storage.command = func() *exec.Cmd { return webDAVServer(newest, served, port, "--dir-cache-time", forget) }
		config, r.source = webDAVConfig(front), "rclone:dav:library"
	case "SFTP":
		keys := t.TempDir()
		makeKeys(t, keys, "host", "user")
		r.storage.command = func() *exec.Cmd { return sshServer(t, keys, port) }
		config, r.source = sshConfig(keys+"/user", front), "rclone:ssh:"+served+"/library"
	}
	must(t, r.storage.start())
	r.library = newDestination(t, binary, r.steps.event, func() []string { return nil })
	must(t, r.library.start())
	must(t, os.Mkdir(r.dir+"/tmp", 0o700))
	r.env = append(r.library.variables(), "PATH="+os.Getenv("PATH"), "HOME="+r.dir, "TMPDIR="+r.dir+"/tmp", "XDG_RUNTIME_DIR="+runtimeDir(t),
		"ASSETFERRY_RCLONE="+p.Path, "RCLONE_CONFIG="+configFile(t, config))
	return r
}

// play kills the processes of a migration and of a sync, and compares after each.
func (r *round) play() {
	r.grow()
	r.suffer("migrate")
	r.change()
	r.suffer("sync", "--delete", "trash", "--grace-period", "0s", "--max-delete-percent", "100", "--max-changes-percent", "100")
	r.call(0, "state", "check")
	r.call(0, "verify", "--content")
	r.checkLeftovers()
}

// grow adds objects to the library: small ones in folders, and two that are transferred in many chunks.
func (r *round) grow() {
	r.Helper()
	r.serial++
	for n := range 60 {
		r.put(fmt.Sprintf("%d/%s%02d.txt", r.serial, [...]string{"", "a/", "a/b/", "ü c/"}[n%4], n), fmt.Sprintf("%d, %d", r.serial, n))
	}
	for n := range 2 {
		r.put(fmt.Sprintf("%d/large-%d.txt", r.serial, n), strings.Repeat(fmt.Sprintf("%d, %d, ", r.serial, n), 100<<10))
	}
}

func (r *round) put(key, content string) {
	r.Helper()
	must(r.T, r.disk.put(sourcetest.File{Key: sources.Key(key), Content: []byte(content)}))
	r.want[key] = stored{content: content}
}

// change adds, replaces, deletes and renames objects.
func (r *round) change() {
	r.Helper()
	keys := slices.Sorted(maps.Keys(r.want))
	r.grow()
	r.dice.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for n, key := range keys[:30] {
		switch n % 3 {
		case 0:
			r.put(key, r.want[key].content+", changed")
		case 1:
			must(r.T, os.Remove(r.disk.path(sources.Key(key))))
			delete(r.want, key)
		case 2:
			to := key + ".renamed.txt"
			must(r.T, os.Rename(r.disk.path(sources.Key(key)), r.disk.path(sources.Key(to))))
			r.want[to] = r.want[key]
			delete(r.want, key)
		}
	}
}

// suffer runs a command again and again while processes are killed, and then until it has nothing to
// do. It compares the destination with the library.
func (r *round) suffer(args ...string) {
	r.Helper()
	r.steps.add(r.kills()...)
	for tries := 0; r.steps.left() > 0; tries++ {
		code := r.try(args...)
		if code > 3 || code == 2 || tries > 20 {
			r.Fatalf("exit code %d; after %s", code, strings.Join(r.endings, "\n"))
		}
		if code == 0 && r.steps.left() > 0 {
			r.grow()
		}
	}
	for range 2 { // the second one completes deletions
		if code := r.try(args...); code != 0 {
			r.Fatalf("nothing was killed, and the exit code is %d; after %s", code, strings.Join(r.endings, "\n"))
		}
	}
	wrong, missing, doubled := r.library.compare(r.want)
	r.count(func() { r.missing += missing; r.doubled += doubled })
	if len(wrong) > 0 {
		r.Errorf("%d differences: %s\nafter %s", len(wrong), strings.Join(wrong[:min(len(wrong), 20)], "; "), strings.Join(r.endings, "\n"))
	}
}

func (r *round) count(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// kills returns one kill of each victim. The server starts again at once or later, or after assetferry
// was killed, which is the last victim.
func (r *round) kills() []step {
	most := 90 // events; without the server there are few
	kill := func(victim string, do func() bool) step {
		return step{1 + r.dice.IntN(most), func() bool {
			done := do()
			if done {
				r.Logf("kill of %s", victim)
				r.endings = append(r.endings, "kill of "+victim)
				r.count(func() { r.killed[victim]++ })
			}
			return done
		}}
	}
	childFirst, absent := r.dice.IntN(2) == 0, r.dice.IntN(3) == 0
	var all []step
	if childFirst {
		all = append(all, kill("rclone", r.killChild))
	}
	all = append(all, kill("the server", func() bool { r.storage.kill(); return true }))
	if absent {
		most = 5
	} else {
		all = append(all, step{1 + r.dice.IntN(8), r.restart})
	}
	if !childFirst {
		all = append(all, kill("rclone", r.killChild))
	}
	if r.dice.IntN(4) == 0 { // once more than it is started again in a run
		most = 10
		for range 3 {
			all = append(all, kill("rclone", r.killChild))
		}
	}
	return append(all, kill("assetferry", r.killRun))
}

// restart starts the server of the storage.
func (r *round) restart() bool {
	r.Log("restart of the server")
	if err := r.storage.start(); err != nil {
		r.Error(err)
	}
	return true
}

func (r *round) killRun() bool {
	return r.run != nil && r.run.Process.Kill() == nil
}

// killChild kills the rclone of the run. It reports false if there is none at this moment.
func (r *round) killChild() bool {
	if r.run == nil {
		return false
	}
	killed := false
	for _, pid := range children(r.run.Process.Pid) {
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
	}
	return killed
}

// try runs a command once, and returns its exit code; -1 if it was killed. Later, all processes of the run
// have ended, and the server of the storage runs.
func (r *round) try(args ...string) int {
	r.Helper()
	args = slices.Insert(args, 1, r.source, "--confirm-timeout", "100ms", "-j", strconv.Itoa(1+r.dice.IntN(8)))
	cmd := r.command(args...)
	begun := time.Now()
	r.steps.during(func() {
		must(r.T, cmd.Start())
		r.run = cmd
	})
	_ = cmd.Wait() // the exit code is checked
	r.steps.during(func() { r.run = nil })
	waitForNone(r.T, r.env[slices.IndexFunc(r.env, func(v string) bool { return strings.HasPrefix(v, "RCLONE_CONFIG=") })])
	r.library.relay.rest(r.T)
	code := cmd.ProcessState.ExitCode()
	r.steps.during(func() {
		must(r.T, r.storage.start())
		r.endings = append(r.endings, fmt.Sprintf("%s: exit code %d\n%s%s", args[0], code, cmd.Stdout, cmd.Stderr))
	})
	r.Logf("%s: exit code %d after %.1f s", args[0], code, time.Since(begun).Seconds())
	r.count(func() { r.runs++ })
	return code
}

func (r *round) command(args ...string) *exec.Cmd {
	c := exec.Command(r.binary, args...) // no context: an rclone must not outlive the test
	c.Dir, c.Env, c.Stdout, c.Stderr = r.dir, r.env, &bytes.Buffer{}, &bytes.Buffer{}
	return c
}

// call runs a command that must end with an exit code.
func (r *round) call(code int, args ...string) {
	r.Helper()
	c := r.command(args...)
	_ = c.Run() // the exit code is checked
	if got := c.ProcessState.ExitCode(); got != code {
		r.Errorf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, c.Stdout, c.Stderr)
	}
}

// checkLeftovers verifies that no temporary file and no socket is left: the last run was not killed, and
// each run deletes those of killed runs.
func (r *round) checkLeftovers() {
	r.Helper()
	for _, entry := range r.env {
		name, dir, _ := strings.Cut(entry, "=")
		if name != "TMPDIR" && name != "XDG_RUNTIME_DIR" {
			continue
		}
		left, err := filepath.Glob(dir + "/*")
		if must(r.T, err); len(left) > 0 {
			r.Errorf("left with rclone %s: %q", r.version, left)
		}
	}
}

// A step is a function that is called after a number of events since the previous step. If it reports
// false, it is called at the next event again.
type step struct {
	after int
	do    func() bool
}

// steps are taken one after the other.
type steps struct {
	mu   sync.Mutex
	todo []step
}

func (s *steps) add(more ...step) { s.during(func() { s.todo = append(s.todo, more...) }) }

func (s *steps) left() (n int) {
	s.during(func() { n = len(s.todo) })
	return n
}

// during calls a function while no step is taken.
func (s *steps) during(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// event counts an event, and takes a step that is due.
func (s *steps) event() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.todo) == 0 {
		return
	}
	if s.todo[0].after--; s.todo[0].after <= 0 && s.todo[0].do() {
		s.todo = s.todo[1:]
	}
}
