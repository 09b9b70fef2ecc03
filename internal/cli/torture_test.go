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

// TestTorture repeatedly kills migrations with the same state database, and then lets them finish.
// It verifies that no object is missing and none exists twice. A process that is killed at a fault
// point is built with the tag faultpoints. At other times it is assetferry as it is shipped, with 1
// to 32 parallel uploads. The services alternate between the readings of undocumented behaviour, or
// all use that of -reading. The short form uses each point once. The long form, which uses each
// point ten times, is
//
//	go test ./cli -run Torture -torture 500 -seed 1 -timeout 60m -v
//
// and for services with one reading
//
//	go test ./cli -run Torture -torture 500 -seed 1 -timeout 60m -v -reading "folders: flat; category_listing: deep"
func TestTorture(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that was killed looks like one that failed")
	}
	t.Parallel()
	seed := seedtest.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	r := &torture{binary: withFaultpoints(t), killed: map[string]int{}}
	t.Run("worlds", func(t *testing.T) {
		for n, deaths := range sentences(random, *tortureFlag) {
			r.want += len(deaths)
			o := &ordeal{torture: r, reading: sandboxtest.Reading(n), random: rand.New(rand.NewPCG(seed, uint64(n)+1)), versioned: n%4 > 1}
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				o.suffer(t, deaths)
			})
		}
	})
	r.report(t, seed)
}

// A torture is the state that all ordeals share.
type torture struct {
	binary string
	want   int // expected number of kills

	mu     sync.Mutex
	killed map[string]int // number of kills by fault point
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

// A death is the time to kill a process: the nth hit of a fault point, or a random moment.
type death struct {
	point faultpoint.Point // empty: a random moment
	n     int
}

func (d death) String() string {
	if d.point == "" {
		return "at random"
	}
	return fmt.Sprintf("at point %s", d.point)
}

// most returns the last hit of a fault point that is used for a kill. A run reaches all other
// points only once.
var most = map[faultpoint.Point]int{
	faultpoint.Taken: 4, faultpoint.FolderIntended: 6, faultpoint.FolderMade: 6, faultpoint.FolderSaved: 6, faultpoint.Opened: 12,
	faultpoint.Sent: 12, faultpoint.Described: 12, faultpoint.Recorded: 3, faultpoint.VersionRecorded: 3, faultpoint.Looked: 2,
}

// comesFirst reports whether an ordeal reaches a fault point only before any other event.
func comesFirst(p faultpoint.Point) bool {
	return p == faultpoint.CategoryMade || p == faultpoint.Waited
}

// sentences distributes deaths to ordeals: each fault point equally often, the rest at random.
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

// An ordeal is one sequence of kills, with a growing source and an unreliable service.
type ordeal struct {
	*torture
	reading    string // reading of undocumented behaviour
	random     *rand.Rand
	dir        string
	files      tree
	s          *service
	provenance string
	duplicates string
	versioned  bool
	bucket     *bucket             // the source, if it keeps older versions; nil for a folder
	versions   map[string][]string // older contents of its objects, the oldest first
	endings    []string            // how each process ended
}

// suffer kills processes on one state database, and then lets the migration finish.
func (o *ordeal) suffer(t *testing.T, deaths []death) {
	o.dir, o.files = t.TempDir(), tree{}
	o.s = startService(t, sandbox.Options{Faults: o.faults(t, deaths[0]), Profile: sandboxtest.Read(t, o.reading)})
	o.provenance = "always"
	if !slices.ContainsFunc(deaths, func(d death) bool { return d.point == faultpoint.Described }) && o.random.IntN(2) == 0 {
		o.provenance = "never"
	}
	o.duplicates = []string{"keep", "one-asset"}[o.random.IntN(2)]
	if o.versioned || slices.ContainsFunc(deaths, func(d death) bool { return d.point == faultpoint.VersionRecorded }) {
		o.keepVersions(t)
	}
	o.grow(t)
	o.adoptable(t)
	for _, d := range deaths {
		o.die(t, d)
	}
	o.finish(t)
	assetferry(t, o.dir, o.s.variables(), "state", "check").must(t, exit.CodeDone)
	o.checkVersions(t)
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

// finish lets the current run finish, and then runs another one that lists new objects and retries
// failed ones.
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

// faults returns the faults of the service: it loses answers in every ordeal, so that uploads are
// unconfirmed. If an item must wait, the service rejects an upload for a while.
func (o *ordeal) faults(t *testing.T, first death) (all []fault.Rule) {
	t.Helper()
	rules := []string{"POST /folders drop=after nth=5", "POST /admin/categories drop=after nth=2"}
	for _, what := range []string{"drop=before", "drop=after", "status=503 commit=after", "status=429"} {
		for _, upload := range []string{"POST /assets", "POST /assets/{id}"} {
			rules = append(rules, fmt.Sprintf("%s %s nth=%d", upload, what, 5+o.random.IntN(10)))
		}
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

// grow adds files to the source.
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
	o.store(t, more)
	o.describe(t)
}

// store stores files at the source.
func (o *ordeal) store(t *testing.T, files tree) {
	t.Helper()
	maps.Copy(o.files, files)
	if o.bucket == nil {
		files.write(t, filepath.Join(o.dir, "src"))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		for _, version := range append(o.olderThan(key), files[key]) {
			if err := o.bucket.put(key, version); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// keptVersions is how many versions of an object a run brings, the current one included.
const keptVersions = 3

// keepVersions makes the source a bucket with older versions. Identical objects then have their own
// assets.
func (o *ordeal) keepVersions(t *testing.T) {
	t.Helper()
	o.bucket, o.versions, o.duplicates = startBucket(t, "photos"), map[string][]string{}, "keep"
	if err := o.bucket.keepVersions(); err != nil {
		t.Fatal(err)
	}
}

// olderThan chooses the older contents of an object: up to one more than a run brings.
func (o *ordeal) olderThan(key string) (older []string) {
	if key == adoptable {
		return nil
	}
	for n := range o.random.IntN(keptVersions + 1) {
		older = append(older, fmt.Sprintf("%s, version %d", key, n))
	}
	o.versions[key] = older
	return older
}

// checkVersions verifies that each asset has the last versions of its object, in order, and no others.
func (o *ordeal) checkVersions(t *testing.T) {
	t.Helper()
	if o.bucket == nil {
		return
	}
	all, err := o.s.assets()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		key := path.Join(a.folder, a.name)
		want := append(slices.Clone(o.versions[key]), o.files[key])
		got, err := o.s.history(a)
		if err != nil {
			t.Fatal(err)
		}
		if want = want[max(0, len(want)-keptVersions):]; !slices.Equal(got, want) {
			t.Errorf("%v has the revisions %.60q, want %.60q, after %s", a, got, want, strings.Join(o.endings, "\n"))
		}
	}
}

// describe writes a table that describes each file by its key.
func (o *ordeal) describe(t *testing.T) {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("key,description\n")
	for _, key := range slices.Sorted(maps.Keys(o.files)) {
		fmt.Fprintf(&rows, "%q,%q\n", key, "This is "+key)
	}
	tree{"metadata.csv": rows.String()}.write(t, o.dir)
}

// shared returns the files with their own assets if identical files share an asset: one of each
// group, depending on when processes were killed. It verifies that all keys lead to their contents.
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

// checkDescriptions verifies that all created assets have descriptions, and no others.
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

// adoptable is the name of a file that is at the destination before the first run.
const adoptable = "there.jpg"

// adoptable adds a file to the source that is already at the destination.
func (o *ordeal) adoptable(t *testing.T) {
	t.Helper()
	there := tree{adoptable: "there already"}
	o.store(t, there)
	if err := o.s.upload("Images", adoptable, []byte("there already")); err != nil {
		t.Fatal(err)
	}
}

// die kills a process. If the rest of the current run does not reach the fault point, it lets that
// run finish and kills the next one.
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
			o.killed[d.String()+o.with()]++
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

// with names what distinguishes the source.
func (o *ordeal) with() string {
	if o.bucket == nil {
		return ""
	}
	return ", with versions"
}

func (o *ordeal) note(format string, args ...any) {
	o.endings = append(o.endings, fmt.Sprintf(format, args...))
}

// uploads returns the number of parallel uploads of a process. To return items, a process takes
// more items than these.
func (o *ordeal) uploads(d death) int {
	if d.point == faultpoint.Released {
		return 1 + o.random.IntN(4)
	}
	return 1 + o.random.IntN(32)
}

func (o *ordeal) command(t *testing.T, uploads int) *process {
	t.Helper()
	source, variables := []string{"src"}, o.s.variables()
	if o.bucket != nil {
		source = []string{"s3://" + o.bucket.name, "--versions", strconv.Itoa(keptVersions)}
		variables = slices.Concat(variables, o.bucket.variables(), []string{"AWS_ACCESS_KEY_ID=anybody", "AWS_SECRET_ACCESS_KEY=anything"})
	}
	return assetferry(t, o.dir, variables, append(append([]string{"migrate"}, source...), "--json", "--confirm-timeout", "100ms", "--unsupported", "create",
		"--provenance", o.provenance, "--metadata", "metadata.csv", "--duplicates", o.duplicates, "-j", strconv.Itoa(uploads))...)
}

// run runs a process that is killed, and returns its exit code, or -1 if it was killed.
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

// dieAt makes a process exit at a fault point.
func (o *ordeal) dieAt(p *process, d death) {
	p.Path = o.binary
	p.Env = append(p.Env, fmt.Sprintf("%s=%s:%d", faultpoint.Variable, d.point, d.n))
}

// killSomewhere kills a process at a random moment. The process may end before that, unless surely
// is set.
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
		_ = p.Process.Kill() // the process may have ended
	}
}

// interruptInFlight interrupts a process while it waits for answers to uploads and has taken more
// items than it sends.
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
