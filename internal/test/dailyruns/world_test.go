//go:build unix

package dailyruns_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/faultpoint"

	"assetferry/internal/sandbox/sandboxtest"
)

// A world is a source, a service, the tool between them, and a model that predicts the result.
type world struct {
	*testing.T
	binary  binary
	service *service
	library *library
	model   *model
	dice    *rand.Rand
	today   int
	scene   scene
	left    *day // the prediction for the unfinished run
}

// A scene is a day with the run at its end.
type scene struct {
	name   string
	day    func(*world) // the actions of users; nil: none
	calm   bool         // no random events
	quiet  bool         // the run must send almost no requests
	faults []string     // of the service, during the run
	args   []string     // of the tool, in addition to those of every run
	policy policy       // the same for the model
	dies   string       // at this fault point
	left   bool         // it is killed, and is not resumed before the next day
	exit   int          // of a run that fails, and may not even start
}

func newWorld(t *testing.T, seed uint64, reading string) *world {
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} { // another user reads them
		must(t, os.Chmod(d, 0o755))
	}
	b := build(t, dir)
	l := newLibrary(t, dir)
	return &world{T: t, binary: b, service: newService(t, b, sandboxtest.ReadingFile(t, dir, reading)), library: l,
		model: &model{library: l, known: map[string]*memory{}}, dice: rand.New(rand.NewPCG(seed, 0))}
}

// moved returns how far the clock is ahead.
func (w *world) moved() time.Duration { return time.Duration(w.today) * 24 * time.Hour }

func (w *world) wrong(format string, args ...any) {
	w.Helper()
	w.Errorf("night %d, %s: %s", w.today, w.scene.name, fmt.Sprintf(format, args...))
}

// live runs a day with its scene.
func (w *world) live(s scene) {
	w.Helper()
	w.today++
	w.scene = s
	w.library.today = time.Now().Add(w.moved() - time.Hour).Truncate(time.Second)
	w.service.start(w.moved())
	defer func() { w.service.stop() }()
	if s.day != nil {
		s.day(w)
	}
	if !s.calm {
		w.roll()
	}
	w.library.writeTable()
	if len(s.faults) > 0 {
		w.service.stop()
		w.service.start(w.moved(), s.faults...)
	}
	w.service.drain()
	w.sleep()
	if len(s.faults) > 0 {
		w.service.stop()
		w.service.start(w.moved())
	}
	if w.left == nil {
		w.compare()
	}
}

// sleep runs the tool at the end of a day, and compares the result with the model.
func (w *world) sleep() {
	w.Helper()
	s := w.scene
	s.policy.now = time.Now().Add(w.moved())
	if s.dies != "" {
		w.die()
	}
	switch {
	case s.left:
		w.left = w.model.clone().sync(s.policy)
	case s.exit != 0:
		run(w.T, w.command()).must(w.T, s.exit)
	default:
		n := w.model.sync(s.policy)
		ended := run(w.T, w.command()).must(w.T, n.exit())
		if s.quiet {
			w.hush(w.service.drain())
		}
		w.report(n, summed(w.T, ended.stdout))
		w.left = nil
	}
}

// hush verifies that a run without changes sends almost no requests: a ping, and the check of a
// share of the assets.
func (w *world) hush(requests []string) {
	w.Helper()
	asked := slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return strings.HasPrefix(r, "GET /assets") })
	if len(asked) > 3 || len(requests) > 3+len(w.model.known)/share {
		w.wrong("%d requests: %q", len(requests), requests)
	}
	if i := slices.IndexFunc(requests, func(r string) bool { return !strings.HasPrefix(r, "GET ") }); i >= 0 {
		w.wrong("it sends %s", requests[i])
	}
}

// command returns the scheduled call.
func (w *world) command(env ...string) *exec.Cmd {
	args := []string{"sync", w.library.root, "--json", "--confirm-timeout", "100ms", "--metadata", w.library.table}
	return w.call(env, append(args, w.scene.args...)...)
}

// call prepares a call of the tool with a time limit.
func (w *world) call(env []string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	w.Cleanup(cancel)
	return w.binary.command(ctx, w.moved(), append(env, w.service.variables()...), args...)
}

// die kills the tool at a fault point. Requests in progress are completed or lost before the tool
// is resumed.
func (w *world) die() {
	w.Helper()
	killed := run(w.T, w.command(faultpoint.Variable+"="+w.scene.dies))
	if killed.code != -1 || !strings.Contains(killed.stderr, faultpoint.KilledMessage) {
		w.Fatalf("night %d, %s: exit code %d, and not killed at %s\n%s", w.today, w.scene.name, killed.code, w.scene.dies, killed)
	}
	w.service.stop()
	w.service.start(w.moved())
}

// ask calls the tool and returns its output.
func (w *world) ask(args ...string) string {
	w.Helper()
	return run(w.T, w.call(nil, args...)).must(w.T, 0).stdout
}

// report compares the report of a run with the model.
func (w *world) report(n *day, s summary) {
	w.Helper()
	said := reported(w.T, w.ask("report", "--run", s.Run, "--format", "json"))
	fates := listed(w.T, w.ask("report", "--run", s.Run, "--format", "csv"))
	text := w.ask("report", "--run", s.Run)
	w.Logf("night %d, %s: %v", w.today, w.scene.name, said.counts())
	if w.left != nil {
		n.goOn(w.left, fates)
	}
	if diff := cmp.Diff(n.fates, fates, cmp.AllowUnexported(fate{})); diff != "" {
		w.wrong("what became of the objects (-model +report):\n%s", diff)
	}
	if diff := cmp.Diff(n.reported(), said.counts()); diff != "" {
		w.wrong("their number (-model +report):\n%s", diff)
	}
	if !said.Results.Accounted || said.Run.State != "finished" || s.Exit != n.exit() {
		w.wrong("accounted for: %t, the run is %s, exit code %d in the summary", said.Results.Accounted, said.Run.State, s.Exit)
	}
	for name, count := range n.reported() {
		if words := fmt.Sprintf(" %s %d ", strings.ReplaceAll(name, "_", " "), count); !strings.Contains(strings.Join(strings.Fields(text), " "), words) {
			w.wrong("the text of the report does not say %q", words)
		}
	}
}

// compare compares the sandbox's lists with the model.
func (w *world) compare() {
	w.Helper()
	is, want, at := map[string]string{}, map[string]string{}, map[string]string{}
	for _, a := range w.service.assets() {
		is[a.id] = w.describeRun(a)
		if !a.trashed {
			at[a.place] = a.id
		}
	}
	for _, a := range w.model.assets {
		if a.id == "" {
			a.id = at[a.place]
		}
		want[a.id] = w.describeRun(*a)
		if a.revisions > 1 && !a.trashed {
			if n := w.service.revisions(a.id); n != a.revisions {
				w.wrong("%s has %d revisions, want %d", a.place, n, a.revisions)
			}
		}
	}
	if diff := cmp.Diff(want, is); diff != "" {
		w.wrong("the destination (-model +sandbox):\n%s", diff)
	}
}

// verify makes the tool compare everything with its state database, including contents. The only
// differences may be changes by users that were not reverted.
func (w *world) verify() {
	w.Helper()
	w.service.start(w.moved())
	defer func() { w.service.stop() }()
	w.ask("state", "check")
	code := 0
	for _, known := range w.model.known {
		if w.model.isTheirs(known) {
			code = 4
		}
	}
	run(w.T, w.call(nil, "verify", "--content")).must(w.T, code)
}

// describeRun returns the comparable properties of an asset as text.
func (w *world) describeRun(a asset) string {
	if a.trashed {
		return a.place + ", in the trash"
	}
	return fmt.Sprintf("%s, %d bytes %.8x, %v", a.place, len(a.content), sha256.Sum256([]byte(a.content)), a.metadata)
}

// free returns, in random order, the objects that only random events have changed and whose state
// is certain.
func (w *world) free() []string {
	keys := slices.DeleteFunc(w.library.keys(), func(key string) bool {
		known := w.model.known[key]
		return !strings.HasPrefix(key, "chance/") || known == nil || known.asset.trashed || w.library.objects[key].closed
	})
	if w.left != nil { // the state of these is not certain
		keys = slices.DeleteFunc(keys, func(key string) bool { _, open := w.left.fates[key]; return open })
	}
	w.dice.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// roll makes random changes of every kind.
func (w *world) roll() {
	keys := w.free()
	some := func(most int) (chosen []string) {
		n := min(1+w.dice.IntN(most), len(keys))
		chosen, keys = keys[:n], keys[n:]
		return chosen
	}
	l := w.library
	l.change(some(4)...)
	l.rewrite(some(4)...)
	l.touch(some(4)...)
	for _, key := range some(3) {
		l.rename(key, w.another(key))
	}
	for _, key := range some(4) {
		l.say(key, fmt.Sprintf("said on day %d", w.today), "library", fmt.Sprintf("day %d", w.today))
	}
	for _, key := range some(3) {
		w.edit(key, metadata{fmt.Sprintf("edited on day %d", w.today), []string{"edited"}})
	}
	l.remove(some(2)...)
	for range 1 + w.dice.IntN(6) {
		l.add(w.another("chance/new.jpg"))
	}
}

// another returns an unused name in a random folder.
func (w *world) another(key string) string {
	w.library.serial++
	folder := [...]string{"", "a/", "a/b/", "ü c/", "d/e/f/"}[w.dice.IntN(5)]
	return fmt.Sprintf("chance/%s%d%s", folder, w.library.serial, filepath.Ext(key))
}

// The following methods change assets at the destination as users do.

func (w *world) edit(key string, m metadata) {
	w.Helper()
	a := w.model.of(key)
	w.service.describe(a.id, m)
	a.metadata = m
	a.edited = true
}

func (w *world) throwAway(keys ...string) {
	w.Helper()
	for _, key := range keys {
		a := w.model.of(key)
		w.service.trash(a.id)
		a.trashed = true
	}
}

// destroy permanently deletes the asset of an object.
func (w *world) destroy(key string) {
	w.Helper()
	a := w.model.of(key)
	w.service.remove(a.id)
	w.model.assets = slices.DeleteFunc(w.model.assets, func(b *asset) bool { return a == b })
}

func (w *world) moveAway(key, container string) {
	w.Helper()
	a := w.model.of(key)
	w.service.move(a.id, container)
	a.place = container + "/" + path.Base(a.place)
	a.edited = true
}

func (w *world) nickname(key, name string) {
	w.Helper()
	a := w.model.of(key)
	w.service.rename(a.id, name)
	a.place = path.Dir(a.place) + "/" + name + path.Ext(a.place)
	a.edited = true
}

func (w *world) retouch(key string) {
	w.Helper()
	a := w.model.of(key)
	a.content, a.revisions = w.library.make(key, 99), a.revisions+1
	a.edited = true
	w.service.replace(a.id, path.Base(key), a.content)
}

// bring uploads an asset that belongs to no object.
func (w *world) bring(category, name string) {
	w.Helper()
	a := &asset{place: category + "/" + name, content: w.library.make(name, 10), revisions: 1}
	w.service.upload(category, name, a.content)
	w.model.assets = append(w.model.assets, a)
}
