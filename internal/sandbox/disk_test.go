package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/sandboxtest"
)

// checkNoLeftovers verifies that a directory contains the contents of a number of assets and no
// drafts.
func checkNoLeftovers(t *testing.T, dir string, assets int) {
	t.Helper()
	var names []string
	for _, sub := range []string{"content", "incoming"} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(names) != assets {
		t.Errorf("%d files, want %d: %v", len(names), assets, names)
	}
}

func TestRestart(t *testing.T) {
	dir := t.TempDir()
	var a, kept object
	t.Run("first", func(t *testing.T) {
		c := start(t, sandbox.Options{Dir: dir})
		documents := c.category("Documents")
		folder := c.do(201, "POST", "/folders", object{"name": "f", "categoryId": documents}).object(t)["id"].(string)
		a = c.upload("a.txt", "content", "folderId", folder)
		kept = c.do(200, "PATCH", "/assets/"+a["id"].(string), object{"tags": []string{"x"}}).object(t)
		deleted := c.upload("b.txt", "gone")["id"]
		c.do(204, "POST", "/assets/delete", []any{deleted})
		c.do(201, "POST", "/superadmin/workspaces", object{"name": "second"})
	})
	checkNoLeftovers(t, dir, 1)
	t.Run("second", func(t *testing.T) {
		c := start(t, sandbox.Options{Dir: dir})
		got := c.get("/assets/" + a["id"].(string))
		if !strings.HasPrefix(got["url"].(string), c.url+"/") {
			t.Errorf("url %v is not that of the new server", got["url"])
		}
		got["url"], kept["url"] = nil, nil
		if fmt.Sprint(got) != fmt.Sprint(kept) {
			t.Errorf("got %v, want %v", got, kept)
		}
		r := c.do(200, "GET", "/"+c.env.ID+"/assets/"+a["id"].(string)+"/file", nil)
		if string(r.body) != "content" {
			t.Errorf("content %q", r.body)
		}
		if n := len(items(c.get("/workspaces"))); n != 2 {
			t.Errorf("%d workspaces, want 2", n)
		}
	})
}

func TestDirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	newServer(t, sandbox.Options{Dir: dir})
	_, err := sandbox.New(sandbox.Options{Dir: dir})
	if !errors.Is(err, datadir.ErrInUse) {
		t.Errorf("second one: %v, want ErrInUse", err)
	}
}

func TestOddDirectoryNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%41&mode=ro")
	c := start(t, sandbox.Options{Dir: dir})
	c.upload("a.txt", "x")
	if _, err := os.Stat(filepath.Join(dir, "sandbox.db")); err != nil {
		t.Error(err)
	}
}

const childDir = "ASSETFERRY_SANDBOX_TEST_DIR"

// TestChildServes is not a test: it is the process that TestKilled kills.
func TestChildServes(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	s := newServer(t, sandbox.Options{Dir: dir})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening", l.Addr())
	if err := s.Serve(context.Background(), l); err != nil {
		t.Fatal(err)
	}
}

// TestKilled kills a server during uploads. It verifies that all confirmed uploads exist, and that
// no asset is incomplete.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	confirmed := uploadUntilKilled(t, dir)
	if len(confirmed) < 100 {
		t.Fatalf("only %d uploads were confirmed", len(confirmed))
	}
	c := start(t, sandbox.Options{Dir: dir})
	documents := c.category("Documents")
	total := 0
	for {
		page := c.get(fmt.Sprintf("/assets?categoryId=%s&limit=500&offset=%d", documents, total))
		for _, a := range items(page) {
			name, id := a["name"].(string), a["id"].(string)
			r := c.do(200, "GET", "/"+c.env.ID+"/assets/"+id+"/file", nil)
			if string(r.body) != strings.Repeat(name, 500) {
				t.Errorf("asset %s has the wrong content", name)
			}
			delete(confirmed, name)
		}
		total += len(items(page))
		if total >= int(page["totalCount"].(float64)) {
			break
		}
	}
	if len(confirmed) > 0 {
		t.Errorf("%d confirmed assets are not there", len(confirmed))
	}
	checkNoLeftovers(t, dir, total)
}

// A child is a server in its own process.
type child struct {
	*client
	process *exec.Cmd
}

func startChild(t *testing.T, dir string) child {
	t.Helper()
	process := exec.Command(os.Args[0], "-test.run=^TestChildServes$")
	process.Env = append(os.Environ(), childDir+"="+dir)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	addr := ""
	for lines := bufio.NewScanner(out); addr == "" && lines.Scan(); {
		addr, _ = strings.CutPrefix(lines.Text(), "listening ")
	}
	e := sandboxtest.Environment()
	return child{&client{t, "http://" + addr, sandboxtest.Sign(e.AccessKey, sandboxtest.Claims(e, "user")), e, nil}, process}
}

// kill ends the process like kill -9.
func (c child) kill() { _ = c.process.Process.Kill() }

// waitForExit waits until the process has ended.
func (c child) waitForExit() { _ = c.process.Wait() } // a killed process returns an error

// uploadUntilKilled returns the names of the confirmed uploads.
func uploadUntilKilled(t *testing.T, dir string) map[string]bool {
	t.Helper()
	c := startChild(t, dir)
	var mu sync.Mutex
	confirmed := make(map[string]bool)
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			for j := 0; ; j++ {
				name := fmt.Sprintf("file-%d-%d", i, j)
				body, contentType := form(t, name+".txt", []byte(strings.Repeat(name, 500)))
				r, err := c.send("POST", "/assets", contentType, strings.NewReader(string(body)))
				if err != nil {
					return
				}
				mu.Lock()
				if r.StatusCode == 201 {
					confirmed[name] = true
				}
				if len(confirmed) == 150 {
					c.kill()
				}
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	c.waitForExit()
	return confirmed
}
