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

// A world is a source, a service and the tool between them, and a model of what they
// should come to.
type world struct {
	*testing.T
	binary  binary
	service *service
	library *library
	model   *model
	dice    *rand.Rand
	today   int
	scene   scene
	left    *day // what the run that was left behind would have come to
}

// A scene is a day and the night after it.
type scene struct {
	name   string
	day    func(*world) // what people do; nil: nothing
	calm   bool         // nothing happens by chance
	quiet  bool         // the service must hardly notice
	faults []string     // of the service, in the night
	args   []string     // of the tool, besides those of every night
	policy policy       // the same for the model
	dies   string       // at this fault point
	left   bool         // it died, and nobody goes on with it before the next night
	exit   int          // of a run that comes to nothing, and may be none
}

func newWorld(t *testing.T, seed uint64, reading string) *world {
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} { // somebody else looks into them
		must(t, os.Chmod(d, 0o755))
	}
	b := build(t, dir)
	l := newLibrary(t, dir)
	return &world{T: t, binary: b, service: newService(t, b, sandboxtest.ReadingFile(t, dir, reading)), library: l,
		model: &model{library: l, known: map[string]*memory{}}, dice: rand.New(rand.NewPCG(seed, 0))}
}

// moved is by how much the clock is ahead.
func (w *world) moved() time.Duration { return time.Duration(w.today) * 24 * time.Hour }

func (w *world) wrong(format string, args ...any) {
	w.Helper()
	w.Errorf("night %d, %s: %s", w.today, w.scene.name, fmt.Sprintf(format, args...))
}

// live has a day pass, and the night after it.
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

// sleep has the tool run at night, and holds it against the model.
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

// hush sees to it that a night in which nothing happened costs next to nothing: a greeting,
// and a look at a share of the assets.
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

// command is the nightly call.
func (w *world) command(env ...string) *exec.Cmd {
	args := []string{"sync", w.library.root, "--json", "--confirm-timeout", "100ms", "--metadata", w.library.table}
	return w.call(env, append(args, w.scene.args...)...)
}

// call prepares a call of the tool, which must not take for ever.
func (w *world) call(env []string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	w.Cleanup(cancel)
	return w.binary.command(ctx, w.moved(), append(env, w.service.variables()...), args...)
}

// die has the tool killed at a point. What it has sent by then is done or lost before the tool
// goes on.
func (w *world) die() {
	w.Helper()
	killed := run(w.T, w.command(faultpoint.Variable+"="+w.scene.dies))
	if killed.code != -1 || !strings.Contains(killed.stderr, faultpoint.KilledMessage) {
		w.Fatalf("night %d, %s: exit code %d, and not killed at %s\n%s", w.today, w.scene.name, killed.code, w.scene.dies, killed)
	}
	w.service.stop()
	w.service.start(w.moved())
}

// ask has the tool say something about a run.
func (w *world) ask(args ...string) string {
	w.Helper()
	return run(w.T, w.call(nil, args...)).must(w.T, 0).stdout
}

// report holds what a run says of itself against what became of it.
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

// compare holds what the sandbox lists against the model.
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

// prove has the tool compare everything with what it remembers, content included. What
// people did, and what was not put back, are the only differences.
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

// tell says what can be compared of an asset.
func (w *world) describeRun(a asset) string {
	if a.trashed {
		return a.place + ", in the trash"
	}
	return fmt.Sprintf("%s, %d bytes %.8x, %v", a.place, len(a.content), sha256.Sum256([]byte(a.content)), a.metadata)
}

// free are objects that nothing has happened to but by chance, in any order, and that
// can be counted on tonight.
func (w *world) free() []string {
	keys := slices.DeleteFunc(w.library.keys(), func(key string) bool {
		known := w.model.known[key]
		return !strings.HasPrefix(key, "chance/") || known == nil || known.asset.trashed || w.library.objects[key].closed
	})
	if w.left != nil { // these are in two minds
		keys = slices.DeleteFunc(keys, func(key string) bool { _, open := w.left.fates[key]; return open })
	}
	w.dice.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// roll has something of everything happen by chance.
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

// another is a name that nothing has had, in any folder.
func (w *world) another(key string) string {
	w.library.serial++
	folder := [...]string{"", "a/", "a/b/", "ü c/", "d/e/f/"}[w.dice.IntN(5)]
	return fmt.Sprintf("chance/%s%d%s", folder, w.library.serial, filepath.Ext(key))
}

// What follows is what people do at the destination, to the assets of objects.

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

// destroy deletes what is of an object for good.
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

// bring puts something there that no object stands for.
func (w *world) bring(category, name string) {
	w.Helper()
	a := &asset{place: category + "/" + name, content: w.library.make(name, 10), revisions: 1}
	w.service.upload(category, name, a.content)
	w.model.assets = append(w.model.assets, a)
}
