package cli

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/cli/exit"
	"assetferry/internal/faultpoint"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

var tortureFlag = flag.Int("torture", len(faultpoint.All())+longtest.Size(0, 10), "how many kills TestTorture deals out; each point has one at least")

const killsPerWorld = 6

// TestTorture kills migrations, again and again on the same state database, and lets them
// come to their end: nothing is missing then, and nothing is there twice. At every
// named point of an item's life the process that dies is one that was built with
// the tag faultpoints; at other moments it is assetferry as it is shipped, with 1
// to 32 uploads at once. The services read what is not documented one way and the
// other by turns, or all as the flag -reading says. The short form has each point
// once. The long one, each point ten times, is
//
//	go test ./internal/cli -run Torture -torture 500 -seed 1 -timeout 60m -v
//
// and at services of one reading
//
//	go test ./internal/cli -run Torture -torture 500 -seed 1 -timeout 60m -v -reading "folders: flat; category_listing: deep"
func TestTorture(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that was killed cannot be told from one that failed")
	}
	t.Parallel()
	seed := seedtest.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	r := &torture{binary: withFaultpoints(t), killed: map[string]int{}}
	t.Run("worlds", func(t *testing.T) {
		for n, deaths := range sentences(random, *tortureFlag) {
			r.want += len(deaths)
			o := &ordeal{torture: r, reading: sandboxtest.Reading(n), random: rand.New(rand.NewPCG(seed, uint64(n)+1))}
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				o.suffer(t, deaths)
			})
		}
	})
	r.report(t, seed)
}

// A torture is what all worlds have in common.
type torture struct {
	binary string
	want   int // kills

	mu     sync.Mutex
	killed map[string]int // by point
	found  damage
}

// report logs the totals.
func (r *torture) report(t *testing.T, seed uint64) {
	t.Helper()
	total := 0
	for _, what := range slices.Sorted(maps.Keys(r.killed)) {
		t.Logf("%4d killed %s", r.killed[what], what)
		total += r.killed[what]
	}
	d := r.found
	t.Logf("%4d killed in all; missing %d, doubled %d, of other content %d, foreign %d, folders or categories doubled %d; -torture %d -seed %d",
		total, len(d.missing), len(d.doubled), len(d.changed), len(d.foreign), len(d.folders), *tortureFlag, seed)
	if total != r.want {
		t.Errorf("%d killed, want %d", total, r.want)
	}
}

// A death is where a process is to be killed: at the nth hit of a point, or at a
// moment chosen at random.
type death struct {
	point faultpoint.Point // empty: at random
	n     int
}

func (d death) String() string {
	if d.point == "" {
		return "at random"
	}
	return fmt.Sprintf("at point %s", d.point)
}

// most gives the last hit of a point that a process is made to die at. A run comes
// to what is not listed here only once.
var most = map[faultpoint.Point]int{
	faultpoint.Taken: 4, faultpoint.FolderIntended: 6, faultpoint.FolderMade: 6, faultpoint.FolderSaved: 6, faultpoint.Opened: 12,
	faultpoint.Sent: 12, faultpoint.Described: 12, faultpoint.Recorded: 3, faultpoint.Looked: 2,
}

// comesFirst reports whether a world comes to a point only before anything else
// has happened in it.
func comesFirst(p faultpoint.Point) bool {
	return p == faultpoint.CategoryMade || p == faultpoint.Waited
}

// sentences deals out deaths to worlds: each point as often as every other, the
// rest at random.
func sentences(random *rand.Rand, kills int) [][]death {
	var first, all []death
	for range max(1, kills/50) {
		for _, p := range faultpoint.All() {
			d := death{p, 1 + random.IntN(max(1, most[p]))}
			if comesFirst(p) {
				first = append(first, d)
			} else {
				all = append(all, d)
			}
		}
	}
	for len(first)+len(all) < kills {
		all = append(all, death{})
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	worlds := make([][]death, max(len(first), kills/killsPerWorld))
	for n, d := range append(first, all...) {
		worlds[n%len(worlds)] = append(worlds[n%len(worlds)], d)
	}
	return worlds
}

// An ordeal is one world, with a source that grows and a service that is not
// reliable.
type ordeal struct {
	*torture
	reading    string // of what services do not document
	random     *rand.Rand
	dir        string
	files      tree
	s          *service
	provenance string
	duplicates string
	endings    []string // of each process, how it ended
}

// suffer deals out deaths on one state database and lets the migration come to its end.
func (o *ordeal) suffer(t *testing.T, deaths []death) {
	o.dir, o.files = t.TempDir(), tree{}
	o.s = startService(t, sandbox.Options{Faults: o.faults(t, deaths[0]), Profile: sandboxtest.Read(t, o.reading)})
	o.provenance = "always"
	if !slices.ContainsFunc(deaths, func(d death) bool { return d.point == faultpoint.Described }) && o.random.IntN(2) == 0 {
		o.provenance = "never"
	}
	o.duplicates = []string{"keep", "one-asset"}[o.random.IntN(2)]
	o.grow(t)
	o.adoptable(t)
	for _, d := range deaths {
		o.die(t, d)
	}
	o.finish(t)
	assetferry(t, o.dir, o.s.variables(), "state", "check").must(t, exit.CodeDone)
	want := o.files
	if o.duplicates == "one-asset" {
		want = o.shared(t)
	}
	d, err := want.compare(o.s)
	if err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	o.found.add(d)
	o.mu.Unlock()
	if d.any() {
		t.Errorf("the destination differs from the source: %+v\nafter %s", d, strings.Join(o.endings, "\n"))
	}
	o.checkDescriptions(t)
	assetferry(t, o.dir, o.s.variables(), "verify", "--content", "-j", "4").must(t, exit.CodeDone)
}

// finish lets the run that was begun come to its end, and then one that lists what
// has come since and tries again what has failed.
func (o *ordeal) finish(t *testing.T) {
	t.Helper()
	for done, tries := 0, 0; done < 2; tries++ {
		p := o.command(t, o.uploads(death{}))
		switch code := p.run(t); {
		case code == exit.CodeDone:
			done++
		case code != exit.CodeItems || tries == 5:
			t.Fatalf("%v: exit code %d\n%s%safter %s", p, code, p.stdout.String(), p.stderr.String(), strings.Join(o.endings, "\n"))
		}
	}
}

// faults are those of the service: answers get lost in every world, so that there
// are doubts; where an item is to wait, an upload is refused for a while.
func (o *ordeal) faults(t *testing.T, first death) (all []fault.Rule) {
	t.Helper()
	rules := []string{"POST /folders drop=after nth=5", "POST /admin/categories drop=after nth=2"}
	for _, what := range []string{"drop=before", "drop=after", "status=503 commit=after", "status=429"} {
		rules = append(rules, fmt.Sprintf("POST /assets %s nth=%d", what, 5+o.random.IntN(10)))
	}
	if first.point == faultpoint.Waited {
		rules = slices.Insert(rules, 0, fmt.Sprintf("POST /assets status=425 once=%d", 2+o.random.IntN(12)))
	}
	for _, r := range rules {
		f, err := fault.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// grow puts more files into the source.
func (o *ordeal) grow(t *testing.T) {
	t.Helper()
	more := tree{}
	top := fmt.Sprintf("%d/", len(o.files))
	for key, content := range smallTree(24) {
		more[top+key] = content + top
	}
	more[top+"empty.txt"] = ""
	more[top+"large.jpg"] = strings.Repeat(top, 200<<10/len(top))
	for _, name := range []string{"copy.jpg", "of/copy.jpg", "of/a/copy.jpg"} {
		more[top+name] = "in each round"
	}
	more[top+"unmatched.odd"] = "in a category that has to be made"
	more.write(t, filepath.Join(o.dir, "src"))
	maps.Copy(o.files, more)
	o.describe(t)
}

// describe writes a table in which each file is described by its key.
func (o *ordeal) describe(t *testing.T) {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("key,description\n")
	for _, key := range slices.Sorted(maps.Keys(o.files)) {
		fmt.Fprintf(&rows, "%q,%q\n", key, "This is "+key)
	}
	tree{"metadata.csv": rows.String()}.write(t, o.dir)
}

// shared gives the files that have assets of their own where equal ones share one: of each
// group one, which one depends on when processes died. All keys must lead to their contents.
func (o *ordeal) shared(t *testing.T) tree {
	t.Helper()
	owners, own := map[[2]string]string{}, tree{}
	leads := map[string]bool{}
	stdout := assetferry(t, o.dir, o.s.variables(), "urls", "--json").must(t, exit.CodeDone)
	for line := range strings.Lines(stdout) {
		e := parseEvent(t, line)
		if e.Type != "redirect" {
			continue
		}
		key, err := url.PathUnescape(strings.TrimPrefix(e.Old, "/"))
		if err != nil {
			t.Fatal(err)
		}
		leads[key] = true
		content, there := o.files[key]
		if !there || o.files[e.Key] != content {
			t.Errorf("%s leads to %s, which has another content, after %s", key, e.Key, strings.Join(o.endings, "\n"))
		}
		alike := [2]string{path.Ext(key), content}
		if owner := owners[alike]; owner != "" && owner != e.Key && content != "" {
			t.Errorf("%s and %s have an asset each, after %s", owner, e.Key, strings.Join(o.endings, "\n"))
		}
		owners[alike], own[e.Key] = e.Key, content
	}
	for key := range o.files {
		if !leads[key] {
			t.Errorf("%s leads nowhere, after %s", key, strings.Join(o.endings, "\n"))
		}
	}
	return own
}

// checkDescriptions sees that every asset that was made is described, and no other.
func (o *ordeal) checkDescriptions(t *testing.T) {
	t.Helper()
	all, err := o.s.assets()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		want := "This is " + path.Join(a.folder, a.name)
		if a.name == adoptable {
			want = ""
		}
		if a.description != want {
			t.Errorf("%v is described as %q, want %q, after %s", a, a.description, want, strings.Join(o.endings, "\n"))
		}
	}
}

// adoptable is a file that is at the destination before.
const adoptable = "there.jpg"

// adoptable puts a file into the source that somebody has put at the destination
// by hand.
func (o *ordeal) adoptable(t *testing.T) {
	t.Helper()
	there := tree{adoptable: "there already"}
	there.write(t, filepath.Join(o.dir, "src"))
	maps.Copy(o.files, there)
	if err := o.s.upload("Images", adoptable, []byte("there already")); err != nil {
		t.Fatal(err)
	}
}

// die has a process die. What is left of a run may not come to the point at which it is
// to. It is let come to its end then, and the next one has all there is to do before it.
func (o *ordeal) die(t *testing.T, d death) {
	t.Helper()
	for range 4 {
		p, began := o.command(t, o.uploads(d)), time.Now()
		switch code := o.run(t, p, d); {
		case time.Since(began) >= patience:
			t.Fatalf("%v, to be killed %v: it hangs\n%s%s", p, d, p.stdout.String(), p.stderr.String())
		case code == -1 && (d.point == "" || strings.Contains(p.stderr.String(), fmt.Sprintln(faultpoint.KilledMessage, d.point))):
			o.note("killed %v", d)
			o.mu.Lock()
			o.killed[d.String()]++
			o.mu.Unlock()
			o.s.rest(t)
			return
		case code != exit.CodeDone && code != exit.CodeItems && code != exit.CodeInterrupted:
			t.Fatalf("%v, to be killed %v: exit code %d\n%s%safter %s", p, d, code, p.stdout.String(), p.stderr.String(), strings.Join(o.endings, "\n"))
		default:
			o.note("exit code %d, and not killed %v", code, d)
			o.finish(t)
			o.grow(t)
			d.n = 1
		}
	}
	t.Errorf("no process was killed %v, after %s", d, strings.Join(o.endings, "\n"))
}

func (o *ordeal) note(format string, args ...any) {
	o.endings = append(o.endings, fmt.Sprintf(format, args...))
}

// uploads gives how many a process that is to die has under way at once. One that is to
// give items back takes more than these.
func (o *ordeal) uploads(d death) int {
	if d.point == faultpoint.Released {
		return 1 + o.random.IntN(4)
	}
	return 1 + o.random.IntN(32)
}

func (o *ordeal) command(t *testing.T, uploads int) *process {
	t.Helper()
	return assetferry(t, o.dir, o.s.variables(), "migrate", "src", "--json", "--confirm-timeout", "100ms", "--unsupported", "create",
		"--provenance", o.provenance, "--metadata", "metadata.csv", "--duplicates", o.duplicates, "-j", strconv.Itoa(uploads))
}

// run runs a process that is to die, and gives its exit code, -1 if it was killed.
func (o *ordeal) run(t *testing.T, p *process, d death) int {
	t.Helper()
	switch {
	case d.point == "":
		o.killSomewhere(t, p, d.n > 0)
		return p.wait(t)
	case d.point == faultpoint.Released:
		o.dieAt(p, d)
		o.interruptInFlight(t, p)
		return p.wait(t)
	}
	o.dieAt(p, d)
	return p.run(t)
}

// dieAt makes a process one that dies at a point.
func (o *ordeal) dieAt(p *process, d death) {
	p.Path = o.binary
	p.Env = append(p.Env, fmt.Sprintf("%s=%s:%d", faultpoint.Variable, d.point, d.n))
}

// killSomewhere kills a process at a moment that is chosen at random, surely if need be:
// after some moments it may end before it is killed.
func (o *ordeal) killSomewhere(t *testing.T, p *process, surely bool) {
	t.Helper()
	ways := 4
	if surely {
		ways = 2
	}
	switch o.random.IntN(ways) {
	case 0:
		killAtRequest(t, o.s, p, 1+o.random.IntN(12), isUnsafe)
	case 1:
		killAtRequest(t, o.s, p, 1+o.random.IntN(30), func(*http.Request) bool { return true })
	case 2:
		killAtOutcome(t, o.s, p, 1+o.random.IntN(20))
	case 3:
		o.interruptInFlight(t, p)
		_ = p.Process.Kill() // unless it has ended by now
	}
}

// interruptInFlight interrupts a process while it waits for answers to uploads and
// has taken more than it is sending.
func (o *ordeal) interruptInFlight(t *testing.T, p *process) {
	t.Helper()
	g := hold(o.s, o.random.IntN(4))
	defer o.s.onRequest(nil)
	defer close(g.open)
	shown := whenPrinted(t, p, "Interrupted: finishing work in progress")
	p.follow(t)
	for reached := g.reached; ; {
		select {
		case <-reached:
			interrupt(t, p)
			reached = nil
		case <-shown:
			return
		case line, more := <-p.lines:
			if !more {
				return
			}
			fmt.Fprintln(&p.stdout, line)
		}
	}
}
