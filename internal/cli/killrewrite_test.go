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

// TestKillRewrite kills rewrite --write again and again, and lets it come to its end: then
// all is as if nobody had disturbed it. At any time a file is the old one or the new one, and
// of what is new the original is kept.
func TestKillRewrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that was killed cannot be told from one that failed")
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

// rewriteSite is the call, which begins with the dump or with the other files.
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

// siteToRewrite is a folder with more files than fit into the pipe through which a process
// tells of them, so that none is done before anybody has listened; and a dump.
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

// treeOf is what a folder has in it.
func treeOf(t *testing.T, root string) tree {
	t.Helper()
	got := tree{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if path == "state" { // with the backups
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

// digests are what of a tree can be shown.
func checksums(of tree) map[string]string {
	short := map[string]string{}
	for name, text := range of {
		short[name] = fmt.Sprintf("%d bytes, %.8s", len(text), checksumOf(text))
	}
	return short
}

// checkRewritten holds what a killed process leaves: nothing is half done.
func (f tree) checkRewritten(t *testing.T, dir string, want tree) {
	t.Helper()
	got := treeOf(t, dir)
	originals := tree{} // by name, of any call that was killed
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

// killAtLine kills a process once it has told of n files, or has ended without.
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

// killAtDraft kills a process once a draft has some bytes, wherever it is, or once the
// process has ended without.
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
