package cli

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"assetferry/internal/cli/exit"
	"assetferry/internal/faultpoint"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// cmdRevisions prints the contents of the revisions of each asset, the oldest first.
func cmdRevisions(ts *testscript.TestScript, _ bool, _ []string) {
	lines, err := benchOf(ts).service.revisions()
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), strings.Join(lines, "\n"))
}

// revisions returns a line for each asset, with the contents of its revisions, the oldest first.
func (s *service) revisions() (lines []string, err error) {
	all, err := s.assets()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		contents, err := s.history(a)
		if err != nil {
			return nil, err
		}
		line := a.place() + ":"
		for _, content := range contents {
			line += " " + strings.TrimSpace(content)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines, nil
}

// history returns the contents of the revisions of an asset, the oldest first.
func (s *service) history(a stored) (contents []string, err error) {
	var found struct {
		Items []struct{ ID, CreatedAt string }
	}
	if err := s.get("/assets/"+a.id+"/revisions", &found); err != nil {
		return nil, err
	}
	slices.Reverse(found.Items) // the newest comes first
	for _, r := range found.Items {
		var content []byte
		if err := s.get(path.Join("/", s.env.ID, "assets", a.id, "revisions", r.ID, "file"), &content); err != nil {
			return nil, err
		}
		contents = append(contents, string(content))
	}
	return contents, nil
}

// versionPoints are the fault points of a run that brings versions, and the most hits of each. Only an
// interrupted run reaches faultpoint.Released: see TestTorture.
var versionPoints = map[faultpoint.Point]int{
	faultpoint.Staged: 1, faultpoint.Decided: 1, faultpoint.Planned: 1, faultpoint.CategoryMade: 1, faultpoint.Taken: 1,
	faultpoint.FolderIntended: 1, faultpoint.FolderMade: 1, faultpoint.FolderSaved: 1, faultpoint.Opened: 8, faultpoint.Sent: 8,
	faultpoint.Described: 3, faultpoint.Recorded: 3, faultpoint.VersionRecorded: 2, faultpoint.Waited: 1, faultpoint.Looked: 1, faultpoint.Resent: 1,
	faultpoint.Finished: 1, faultpoint.BackedUp: 1,
}

// faultsOfPoints are the faults without which a run does not reach a point.
var faultsOfPoints = map[faultpoint.Point]string{
	faultpoint.Waited: "POST /assets/{id} status=425 once=2",
	faultpoint.Looked: "POST /assets/{id} drop=after once=2",
	faultpoint.Resent: "POST /assets/{id} drop=before once=2",
}

// TestVersionPoints verifies that no point is forgotten.
func TestVersionPoints(t *testing.T) {
	for _, p := range faultpoint.All() {
		if versionPoints[p] == 0 && p != faultpoint.Released {
			t.Errorf("%s is not tested with versions", p)
		}
	}
}

// TestKillWithVersions kills a run that brings older versions at each fault point, in the long form at
// each hit of it, and repeats the command. It verifies that the revisions are in order and that none
// exists twice. The source is a bucket or a table.
func TestKillWithVersions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that was killed looks like one that failed")
	}
	t.Parallel()
	binary, random := withFaultpoints(t), seedtest.Rand(t)
	for point, most := range versionPoints {
		if !longtest.Takes(random, 4) && point != faultpoint.VersionRecorded {
			continue
		}
		hits := make([]int, most)
		for n := range hits {
			hits[n] = n + 1
		}
		one := random.IntN(most)
		for _, n := range longtest.Size(hits[one:one+1], hits) {
			for _, command := range []string{"migrate", "sync"} {
				kinds := []string{"bucket", "table"}
				one := random.IntN(len(kinds))
				for _, kind := range longtest.Size(kinds[one:one+1], kinds) {
					t.Run(fmt.Sprintf("%s %s %s %d", command, kind, point, n), func(t *testing.T) {
						t.Parallel()
						killWithVersions(t, binary, command, kind, point, n)
					})
				}
			}
		}
	}
}

// writeVersions writes a table with versions of objects, each a key and a content, and their files.
func writeVersions(dir string, all []string) error {
	rows := "key,path,rev\n"
	for n, v := range slices.Backward(all) {
		key, content, _ := strings.Cut(v, " ")
		rows += fmt.Sprintf("%s,%d,1.%d\n", key, n, n)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "versions.csv"), []byte(rows), 0o600)
}

func killWithVersions(t *testing.T, binary, command, kind string, point faultpoint.Point, n int) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var options sandbox.Options
	if rule := faultsOfPoints[point]; rule != "" {
		f, err := fault.Parse(rule)
		must(err)
		options.Faults = append(options.Faults, f)
	}
	dir, s := t.TempDir(), startService(t, options)
	all := []string{"a.jpg 1", "a.jpg 22", "a.jpg 333", "a.jpg 4444", "dir/b.txt old", "dir/b.txt new!", "c.txt c", "d.jpg x", "d.jpg y", "d.jpg z", "e.odd 1", "e.odd 2"}
	variables, arguments := s.variables(), []string{command, "s3://photos"}
	if kind == "table" {
		must(writeVersions(dir, all))
		arguments = []string{command, "table:versions.csv", "--table-columns", "revision=rev"}
	} else {
		b := startBucket(t, "photos")
		must(b.keepVersions())
		for _, v := range all {
			key, content, _ := strings.Cut(v, " ")
			must(b.put(key, content))
		}
		variables = append(append(variables, b.variables()...), "AWS_ACCESS_KEY_ID=anybody", "AWS_SECRET_ACCESS_KEY=anything")
	}
	arguments = append(arguments, "--versions", "3", "--provenance", "always", "--json", "-j", "2", "--unsupported", "create", "--fallback-category", "Others", "--confirm-timeout", "100ms")
	p := assetferry(t, dir, variables, arguments...)
	p.Path = binary
	p.Env = append(p.Env, fmt.Sprintf("%s=%s:%d", faultpoint.Variable, point, n))
	if code := p.run(t); code != -1 || !strings.Contains(p.stderr.String(), fmt.Sprintln(faultpoint.KilledMessage, point)) {
		t.Fatalf("it did not die, exit code %d\n%s%s", code, p.stdout.String(), p.stderr.String())
	}
	s.rest(t)
	assetferry(t, dir, variables, arguments...).must(t, exit.CodeDone)
	got, err := s.revisions()
	must(err)
	want := []string{"Documents/c.txt: c", "Documents/dir/b.txt: old new!", "Images/a.jpg: 22 333 4444", "Images/d.jpg: x y z", "Others/e.odd: 1 2"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
	assetferry(t, dir, variables, "state", "check").must(t, exit.CodeDone)
	assetferry(t, dir, variables, "verify", "--content", "--revisions").must(t, exit.CodeDone)
	if last := lastEvent(t, assetferry(t, dir, variables, arguments...).must(t, exit.CodeDone)); last.Actions["unchanged"] != 5 || len(last.Actions) != 1 {
		t.Errorf("the next run did %v", last.Actions)
	}
}
