package cli

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

var (
	runsFlag    = flag.Int("runs", 3, "how many scheduled runs TestScheduledRuns has")
	changesFlag = flag.Int("changes", longtest.Size(60, 150), "how many changes of the source they have to follow in all")
)

// TestScheduledRuns changes a source at random, also during runs, and kills runs at random
// requests. Then the source stays as it is, and after every finished run the assets are compared
// with a model; see problems. The first of these runs gives every file one asset with its content
// and folder. Deleted files keep their assets until two runs have detected the deletion, and such
// an asset may hold a name. The second run trashes these assets. The third restores the names, and
// then the destination equals the source. The fourth does nothing. The long form is
//
//	go test ./cli -run ScheduledRuns -runs 30 -changes 1500 -seed 1 -timeout 60m -v
func TestScheduledRuns(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("its file system does not tell names apart that differ in case only")
	}
	t.Parallel()
	seed := seedtest.Seed(t)
	l := &livelySource{
		root: filepath.Join(t.TempDir(), "src"), random: rand.New(rand.NewPCG(seed, 0)), files: tree{}, done: map[string]int{},
		fileHistory: &fileHistory{keys: map[string]map[string]*leaving{}},
		service:     startService(t, sandbox.Options{Profile: sandboxtest.Read(t, sandboxtest.Reading(int(seed%2)))}),
	}
	for range 80 {
		l.create(t)
	}
	l.finish(t)
	kills := 0
	for n := range *runsFlag {
		left := *changesFlag*(n+1)/(*runsFlag) - *changesFlag*n/(*runsFlag)
		for left > 0 {
			still := l.random.IntN(left + 1)
			for range still {
				l.change(t)
			}
			left -= still
			if l.random.IntN(2) == 0 {
				left -= l.die(t, left)
				kills++
			} else {
				left -= l.during(t, left)
			}
		}
		l.finish(t)
	}
	t.Logf("%d runs, %d processes killed, %d times exit code 3 over a source at rest, %v; -runs %d -changes %d -seed %d",
		*runsFlag, kills, l.unfinished, l.done, *runsFlag, *changesFlag, seed)
}

// A livelySource is a changing folder and its destination.
type livelySource struct {
	*service
	root   string
	random *rand.Rand
	n      int // counter for new names and contents

	mu sync.Mutex // requests also cause changes
	*fileHistory
	files tree
	done  map[string]int // number of changes by kind

	unfinished int // runs with exit code 3 over a source that did not change
}

// sync returns a run for the caller to start at once.
func (l *livelySource) sync(t *testing.T, uploads int) *process {
	l.begun++
	return assetferry(t, filepath.Dir(l.root), l.variables(), "sync", "src", "--delete", "trash", "--grace-period", "0s", "--max-delete-percent", "100",
		"--max-changes-percent", "100", "--confirm-timeout", "100ms", "-j", fmt.Sprint(uploads), "--json")
}

// during runs a sync to its end, makes at most changes changes meanwhile, and returns their number.
func (l *livelySource) during(t *testing.T, changes int) (made int) {
	t.Helper()
	changing, folders := l.changing(t, changes, &made), l.done["folder renamed"]
	p := l.sync(t, 1+l.random.IntN(8))
	l.onRequest(func(*http.Request) { changing() })
	code := p.run(t)
	l.onRequest(nil)
	l.mu.Lock() // for all changes that requests made
	defer l.mu.Unlock()
	// A renamed large folder looks like a failing source, which stops the run.
	stopped := code == exit.CodeError && l.done["folder renamed"] > folders &&
		strings.Contains(p.stdout.String(), "items in a row failed alike, the last with: deleted at the source after it was listed")
	if code != exit.CodeDone && code != exit.CodeItems && !stopped {
		t.Fatalf("%v: exit code %d\n%s%s", p, code, p.stdout.String(), p.stderr.String())
	}
	l.ends(code)
	return made
}

// die makes at most changes changes during a run, kills it at a random request, and returns their
// number. Uploads in progress may change before another run looks them up.
func (l *livelySource) die(t *testing.T, changes int) (made int) {
	t.Helper()
	changing := l.changing(t, changes, &made)
	p := l.sync(t, 1+l.random.IntN(8))
	killAtRequest(t, l.service, p, 1+l.random.IntN(60), func(*http.Request) bool { changing(); return true })
	code := p.wait(t)
	l.rest(t)
	l.mu.Lock() // for all changes that requests made
	defer l.mu.Unlock()
	l.ends(code)
	return made
}

// changing returns a function that makes a change with every few calls. made counts the changes, at
// most changes.
func (l *livelySource) changing(t *testing.T, changes int, made *int) func() {
	every, most, asked := 1+l.random.IntN(4), l.random.IntN(changes+1), 0
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if asked++; asked%every == 0 && *made < most {
			*made++
			l.changeLocked(t)
		}
	}
}

// runsUntilStable is the number of finished runs over an unchanging source after which nothing is left
// of earlier files: the first detects deletions, the second trashes assets, the third restores names.
const runsUntilStable = 3

// finish runs syncs over a source that does not change, and verifies the assets after each.
func (l *livelySource) finish(t *testing.T) {
	t.Helper()
	var output strings.Builder
	for tries, finished := 0, 0; finished <= runsUntilStable; tries++ {
		s := step{fileHistory: l.fileHistory, files: l.files, before: l.assetsNow(t)}
		p := l.sync(t, 4)
		code := p.run(t)
		l.ends(code)
		fmt.Fprintf(&output, "%s%s", p.stderr.String(), p.stdout.String())
		if code != exit.CodeDone && code != exit.CodeItems || tries == 10 {
			t.Fatalf("%v: exit code %d\n%s%s", p, code, p.stdout.String(), p.stderr.String())
		}
		if code == exit.CodeItems { // a change affected an unfinished action of the last run
			l.unfinished++
			continue
		}
		finished++
		s.after = l.assetsNow(t)
		if all := s.problems(); len(all) > 0 {
			t.Fatalf("run %d over a source that rests left:\n%s\n%s", finished, strings.Join(all, "\n"), output.String())
		}
		if finished < runsUntilStable {
			continue
		}
		l.files.check(t, l.service)
		if did := lastEvent(t, p.stdout.String()).Actions; finished > runsUntilStable && (len(did) != 1 || did["unchanged"] != int64(len(l.files))) {
			t.Fatalf("run %d over a source that rests did %v\n%s", finished, did, output.String())
		}
	}
	assetferry(t, filepath.Dir(l.root), l.variables(), "verify").must(t, exit.CodeDone)
	assetferry(t, filepath.Dir(l.root), l.variables(), "state", "check").must(t, exit.CodeDone)
}

func (l *livelySource) assetsNow(t *testing.T) []stored {
	t.Helper()
	all, err := l.assets()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (l *livelySource) change(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changeLocked(t)
}

// changeLocked makes one random change.
func (l *livelySource) changeLocked(t *testing.T) {
	kinds := []struct {
		name string
		do   func(*testing.T, string)
	}{
		{"created", func(t *testing.T, _ string) { l.create(t) }},
		{"changed", func(t *testing.T, key string) { l.write(t, key) }},
		{"deleted", func(t *testing.T, key string) { l.remove(t, key) }},
		{"renamed", func(t *testing.T, key string) { l.rename(t, key, l.newKey(path.Ext(key))) }},
		{"renamed in case only", func(t *testing.T, key string) { l.rename(t, key, l.recased(key)) }},
		{"renamed in case only with new content", func(t *testing.T, key string) {
			to := l.recased(key)
			l.remove(t, key)
			l.write(t, to)
		}},
		{"renamed with new content", func(t *testing.T, key string) { l.remove(t, key); l.create(t) }},
		{"folder renamed", func(t *testing.T, key string) { l.renameFolder(t, path.Dir(key)) }},
	}
	kind := kinds[l.random.IntN(len(kinds))]
	if len(l.files) < 20 {
		kind = kinds[0]
	}
	key := ""
	if len(l.files) > 0 {
		keys := make([]string, 0, len(l.files))
		for k := range l.files {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		key = keys[l.random.IntN(len(keys))]
	}
	kind.do(t, key)
	l.done[kind.name]++
}

// newKey returns a key that no other file ever had, in any case.
func (l *livelySource) newKey(extension string) string {
	l.n++
	return fmt.Sprintf("%sPhoto %04d%s", [...]string{"", "Summer/", "Summer/at sea/", "winter/"}[l.random.IntN(4)], l.n, extension)
}

// recased returns the key of a file with the case of some letters in its name changed.
func (l *livelySource) recased(key string) string {
	dir, name := path.Split(key)
	for {
		other := strings.Map(func(r rune) rune {
			if l.random.IntN(2) == 0 {
				return r
			}
			if upper := strings.ToUpper(string(r)); upper != string(r) {
				return []rune(upper)[0]
			}
			return []rune(strings.ToLower(string(r)))[0]
		}, name)
		if other != name {
			return dir + other
		}
	}
}

func (l *livelySource) create(t *testing.T) {
	l.write(t, l.newKey([...]string{".jpg", ".txt"}[l.random.IntN(2)]))
}

// write gives a file a unique content, with a size that many files have.
func (l *livelySource) write(t *testing.T, key string) {
	l.n++
	begin := "text"
	if strings.EqualFold(path.Ext(key), ".jpg") {
		begin = "\xff\xd8\xff"
	}
	if old, is := l.files[key]; is {
		l.leaves(key, old)
	}
	l.files[key] = fmt.Sprintf("%s%06d%s", begin, l.n, strings.Repeat(".", l.random.IntN(3)))
	l.appears(key, l.files[key])
	tree{key: l.files[key]}.write(t, l.root)
}

func (l *livelySource) remove(t *testing.T, key string) {
	if err := os.Remove(l.path(key)); err != nil {
		t.Error(err)
	}
	l.leaves(key, l.files[key])
	delete(l.files, key)
}

func (l *livelySource) rename(t *testing.T, from, to string) {
	if err := os.MkdirAll(filepath.Dir(l.path(to)), 0o700); err != nil {
		t.Error(err)
	}
	if err := os.Rename(l.path(from), l.path(to)); err != nil {
		t.Error(err)
	}
	l.goesBy(from, to)
}

// goesBy records a renamed file.
func (l *livelySource) goesBy(from, to string) {
	l.files[to] = l.files[from]
	delete(l.files, from)
	l.leaves(from, l.files[to])
	l.appears(to, l.files[to])
}

// renameFolder moves a folder to a new name. Files at the top of the source stay.
func (l *livelySource) renameFolder(t *testing.T, folder string) {
	if folder == "." {
		return
	}
	l.n++
	to := fmt.Sprintf("Folder %04d", l.n)
	if err := os.Rename(l.path(folder), l.path(to)); err != nil {
		t.Error(err)
	}
	for key := range l.files {
		if rest, is := strings.CutPrefix(key, folder+"/"); is {
			l.goesBy(key, to+"/"+rest)
		}
	}
	if _, err := os.Stat(l.path(folder)); err == nil || !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", folder, err)
	}
}

func (l *livelySource) path(key string) string { return filepath.Join(l.root, filepath.FromSlash(key)) }
