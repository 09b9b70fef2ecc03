package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/test/seedtest"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestKillRewrite kills rewrite --write several times and then lets it finish. It verifies that the
// result equals that of an undisturbed run, that at any time each file is either the old or the new
// one, and that the original of each new file is kept.
func TestKillRewrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that was killed looks like one that failed")
	}
	t.Parallel()
	dice := seedtest.Rand(t)
	site := siteToRewrite()
	calm := t.TempDir()
	site.write(t, calm)
	assetferry(t, calm, nil, rewriteSite(dice)...).must(t, exit.CodeDone)
	want := treeOf(t, calm)

	const worlds, kills = 3, 4
	for range worlds {
		dir := t.TempDir()
		site.write(t, dir)
		for range kills {
			p := assetferry(t, dir, nil, rewriteSite(dice)...)
			if dice.IntN(2) == 0 {
				killAtLine(t, p, 1+dice.IntN(20))
			} else {
				killAtDraft(t, p, int64(dice.IntN(dumpToRewrite)))
			}
			if code := p.wait(t); code != exit.CodeDone && code != -1 {
				t.Fatalf("exit code %d\n%s", code, p.stderr.String())
			}
			site.checkRewritten(t, dir, want)
		}
		for _, which := range []string{"-undisturbed +killed", "-undisturbed +killed, and once more"} {
			assetferry(t, dir, nil, rewriteSite(dice)...).must(t, exit.CodeDone)
			if diff := gocmp.Diff(checksums(want), checksums(treeOf(t, dir))); diff != "" {
				t.Errorf("(%s):\n%s", which, diff)
			}
		}
	}
}

// rewriteSite returns the arguments, with the dump or the other files first.
func rewriteSite(dice *rand.Rand) []string {
	args := []string{"rewrite", "--map", "map.tsv", "--write", "content", "dump.sql"}
	if dice.IntN(2) == 0 {
		args[4], args[5] = args[5], args[4]
	}
	return args
}

const (
	oldImage      = "https://old.example.com/f/a.jpg"
	dumpToRewrite = 4 << 20
)

// siteToRewrite returns a dump and more files than the output in a pipe can list, so that the
// process cannot finish before the test reads its output.
func siteToRewrite() tree {
	site := tree{"map.tsv": oldImage + "\thttps://new.example.com/assets/a/file\n"}
	long := strings.Repeat("long name ", 20)
	for n := range 100 {
		name := fmt.Sprintf("content/%s/%[1]s%d/%[1]s%d.html", long, n%7, n)
		site[name] = fmt.Sprintf("<p>%d</p>\n<img src=%q>\n", n, oldImage)
	}
	row := `INSERT INTO o VALUES ('a:1:{s:3:\"url\";s:31:\"` + oldImage + `\";}');` + "\n"
	site["dump.sql"] = strings.Repeat(row, dumpToRewrite/len(row))
	return site
}

// treeOf returns the files in a folder.
func treeOf(t *testing.T, root string) tree {
	t.Helper()
	got := tree{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if path == "state" { // contains the backups
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		got[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// checksums returns the size and the short checksum of each file in a tree, for messages.
func checksums(of tree) map[string]string {
	short := map[string]string{}
	for name, text := range of {
		short[name] = fmt.Sprintf("%d bytes, %.8s", len(text), checksumOf(text))
	}
	return short
}

// checkRewritten verifies the files after a kill: each is old or new, and new ones have an
// original.
func (f tree) checkRewritten(t *testing.T, dir string, want tree) {
	t.Helper()
	got := treeOf(t, dir)
	originals := tree{} // by name, from all killed processes
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range treeOf(t, filepath.Join(dir, "state")) {
		_, place, kept := strings.Cut(name, filepath.ToSlash(dir)+"/")
		if was, again := originals[place]; kept && again && was != text {
			t.Errorf("%s: two originals differ", place)
		}
		if kept && !strings.HasSuffix(name, ".assetferry-draft") {
			originals[place] = text
		}
	}
	for name, old := range f {
		original, kept := originals[name]
		switch {
		case kept && original != old:
			t.Errorf("%s: the original is not what it was", name)
		case got[name] != old && got[name] != want[name]:
			t.Errorf("%s is neither what it was nor what it becomes", name)
		case got[name] != old && !kept:
			t.Errorf("%s has no original", name)
		}
	}
	for name := range got {
		if _, expected := want[name]; !expected && !strings.HasSuffix(name, ".assetferry-draft") {
			t.Errorf("%s is not of an undisturbed run", name)
		}
	}
}

// killAtLine kills a process after it has listed n files, unless it ends before.
func killAtLine(t *testing.T, p *process, n int) {
	t.Helper()
	p.follow(t)
	for line := range p.lines {
		if strings.Contains(line, "the original is") {
			n--
		}
		if n == 0 {
			break
		}
	}
	kill(t, p)
}

// killAtDraft kills a process once any draft has size bytes, unless the process ends before.
func killAtDraft(t *testing.T, p *process, size int64) {
	t.Helper()
	p.follow(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for line := range p.lines {
			fmt.Fprintln(&p.stdout, line)
		}
	}()
	for {
		select {
		case <-ended:
			return
		default:
		}
		entries, err := os.ReadDir(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && strings.HasSuffix(e.Name(), ".assetferry-draft") && info.Size() > size {
				kill(t, p)
				<-ended
				return
			}
		}
		runtime.Gosched()
	}
}

func kill(t *testing.T, p *process) {
	t.Helper()
	if err := p.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}
