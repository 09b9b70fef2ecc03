package sandbox_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assetferry/internal/sandbox"
)

// A life is the expected state of an asset that a client changes repeatedly.
type life struct {
	id        string
	confirmed string   // content according to responses; empty: deleted
	pending   []string // other possible contents
}

func (l *life) may(content string) { l.pending = append(l.pending, content) }

func (l *life) is(content string) { l.confirmed, l.pending = content, nil }

// live changes an asset in all ways that affect stored bytes, until the server ends. It calls done
// for each response.
func (c *client) live(name string, targets []string, done func()) (lives []*life) {
	ask := func(method, path string, body any) (reply, bool) {
		r, err := c.send(method, path, "", strings.NewReader(string(mustJSON(c, body))))
		if err == nil {
			done()
		}
		return r, err == nil
	}
	file := func(path, content string) (reply, bool) {
		body, contentType := form(c, name+".txt", []byte(content))
		r, err := c.send("POST", path, contentType, strings.NewReader(string(body)))
		if err == nil {
			done()
		}
		return r, err == nil
	}
	for round := 0; ; round++ {
		first, second := fmt.Sprintf("%s %d first", name, round), fmt.Sprintf("%s %d second", name, round)
		r, ok := file("/assets", first)
		if !ok {
			return lives
		}
		l := &life{id: r.object(c)["id"].(string), confirmed: first}
		lives = append(lives, l)
		l.may(second)
		if _, ok = file("/assets/"+l.id, second); !ok {
			return lives
		}
		l.is(second)
		for _, target := range targets {
			action := object{"assetId": l.id, "action": "rename"}
			if _, ok = ask("POST", "/assets/copy", object{"target": object{"folderId": target}, "assetsActions": []object{action}}); !ok {
				return lives
			}
		}
		r, err := c.send("GET", "/assets/"+l.id+"/revisions", "", nil)
		if err != nil {
			return lives
		}
		old := items(r.object(c))[1]["id"]
		l.may(first)
		if _, ok = ask("POST", "/assets/"+l.id+"/revisions", object{"revisionId": old}); !ok {
			return lives
		}
		l.is(first)
		if round%2 == 1 {
			continue
		}
		l.may("")
		if _, ok = ask("POST", "/assets/delete", []string{l.id}); !ok {
			return lives
		}
		l.is("")
	}
}

// TestKilledAmongChanges kills a server several times while it copies, replaces, restores and
// deletes assets. It verifies that no asset lacks its bytes, and that no unused bytes are left.
func TestKilledAmongChanges(t *testing.T) {
	dir := t.TempDir()
	var lives []*life
	for round := range 3 {
		lives = append(lives, liveUntilKilled(t, dir, round)...)
		checkStored(t, dir, lives)
	}
	if len(lives) < 30 {
		t.Errorf("only %d assets were made", len(lives))
	}
}

func liveUntilKilled(t *testing.T, dir string, round int) (lives []*life) {
	t.Helper()
	c := startChild(t, dir)
	documents := c.category("Documents")
	targets := []string{c.folder("x", "categoryId", documents), c.folder("y", "categoryId", documents)}
	var answered atomic.Int64
	var mu sync.Mutex
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			got := c.live(fmt.Sprintf("life-%d-%d", round, i), targets, func() {
				if answered.Add(1) == int64(150+37*round) {
					c.kill()
				}
			})
			mu.Lock()
			defer mu.Unlock()
			lives = append(lives, got...)
		})
	}
	clients.Wait()
	c.waitForExit()
	return lives
}

// checkStored verifies the data of a killed server after a restart.
func checkStored(t *testing.T, dir string, lives []*life) {
	t.Helper()
	c := start(t, sandbox.Options{Dir: dir})
	for _, l := range lives {
		allowed := append(slices.Clone(l.pending), l.confirmed)
		r, err := c.send("GET", "/"+c.env.ID+"/assets/"+l.id+"/file", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		content := string(r.body)
		if r.StatusCode == 404 {
			content = ""
		}
		if !slices.Contains(allowed, content) {
			t.Errorf("asset %s: %d %q, want one of %q", l.id, r.StatusCode, r.body, allowed)
		}
		l.is(content)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "sandbox.db"))+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, row := range texts(t, db, `SELECT asset_id || '/revisions/' || revision || ' ' || checksum FROM revisions
		UNION ALL SELECT id || '/revisions/' || revision || ' ' || checksum FROM assets`) {
		file, checksum, _ := strings.Cut(row, " ")
		r := c.do(200, "GET", "/"+c.env.ID+"/assets/"+file+"/file", nil)
		if got := fmt.Sprintf("%x", sha256.Sum256(r.body)); got != checksum {
			t.Errorf("%s: checksum %s, want %s", file, got, checksum)
		}
	}
	stored := texts(t, db, "SELECT content FROM assets UNION SELECT content FROM revisions")
	checkNoLeftovers(t, dir, len(stored))
	if err := c.server.Close(); err != nil {
		t.Fatal(err)
	}
}
