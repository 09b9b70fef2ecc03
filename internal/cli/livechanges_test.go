package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/certificate"
	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// The test changes assets at random after a certificate was created, and verifies that certificate
// check --live names each of them. The long form makes 1,000 changes.
func TestLiveFindsChanges(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("needs ssh-keygen")
	}
	t.Parallel()
	seed := seedtest.Seed(t)
	const perService = 25
	for n := range longtest.Size(1, 1000/perService) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			changeLive(t, rand.New(rand.NewPCG(seed, uint64(n))), perService)
		})
	}
}

// changeLive certifies a small library, changes some of its assets, and checks the certificate.
func changeLive(t *testing.T, dice *rand.Rand, changes int) {
	t.Helper()
	dir, s := t.TempDir(), startService(t, sandbox.Options{})
	smallTree(2*changes).write(t, filepath.Join(dir, "src"))
	must(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "key")).Run())
	ferry := func(want int, args ...string) string {
		t.Helper()
		return assetferry(t, dir, append(s.variables(), "ASSETFERRY_STATE="+filepath.Join(dir, "j.db")), args...).must(t, want)
	}
	ferry(exit.CodeDone, "migrate", "src")
	ferry(exit.CodeDone, "verify", "--content")
	ferry(exit.CodeDone, "certificate", "create", "--key", "key", "--output", "c.json")
	ferry(exit.CodeDone, "certificate", "check", "c.json", "--live", "--content")
	list, err := os.ReadFile(filepath.Join(dir, "c.json.assets"))
	must(t, err)
	lines := strings.Split(string(list), "\n")
	lines = lines[:len(lines)-3] // before the index
	changed := map[string]string{}
	for _, at := range dice.Perm(len(lines))[:changes] {
		var r certificate.Record
		must(t, json.Unmarshal([]byte(lines[at]), &r))
		changed[r.FullKey()] = s.changeRandomly(t, dice, r)
	}
	for _, content := range [][]string{nil, {"--content"}} {
		check := append([]string{"certificate", "check", "c.json", "--live", "--json"}, content...)
		found := map[string]bool{}
		for _, e := range eachEvent(t, ferry(exit.CodeDifference, check...)) {
			if e.Result == "difference" {
				found[e.Key] = true
			}
		}
		for key, how := range changed {
			if !found[key] {
				t.Errorf("%s: %s: not found with %q", key, how, content)
			}
		}
		for key := range found {
			if changed[key] == "" {
				t.Errorf("%q: found with %q, but not changed", key, content)
			}
		}
	}
}

// changeRandomly changes the asset of a record as another user could, and returns how.
func (s *service) changeRandomly(t *testing.T, dice *rand.Rand, r certificate.Record) (how string) {
	t.Helper()
	send := func(method, path string, body any) {
		t.Helper()
		text, err := json.Marshal(body)
		must(t, err)
		must(t, s.call(method, path, bytes.NewReader(text), "application/json", nil))
	}
	switch dice.IntN(9) {
	case 0:
		send("PATCH", "/assets/"+r.Asset, map[string]any{"name": fmt.Sprint("other ", dice.Uint32())})
		return "renamed"
	case 1:
		if r.Folder != "" {
			send("POST", "/assets/move", map[string]any{"target": map[string]any{"categoryId": r.Category}, "assetsActions": []any{map[string]any{"assetId": r.Asset}}})
			return "moved"
		}
		fallthrough
	case 2:
		s.replace(t, r, strings.Repeat("x", int(r.Size)))
		return "replaced by content of the same size"
	case 3:
		s.replace(t, r, strings.Repeat("x", int(r.Size)+1+dice.IntN(9)))
		return "replaced"
	case 4:
		send("POST", "/assets/trash", []string{r.Asset})
		return "trashed"
	case 5:
		send("PATCH", "/assets/"+r.Asset, map[string]any{"metadata": map[string]any{"description": fmt.Sprint("other ", dice.Uint32())}})
		return "described"
	case 6:
		send("PATCH", "/assets/"+r.Asset, map[string]any{"tags": []string{"other"}})
		return "tagged"
	case 7:
		send("PATCH", "/assets/"+r.Asset, map[string]any{"metadata": map[string]any{"customAttributes": map[string]any{"Other": fmt.Sprint(dice.Uint32())}}})
		return "given another attribute"
	}
	send("POST", "/assets/trash", []string{r.Asset})
	send("POST", "/assets/delete", []string{r.Asset})
	return "deleted"
}

// replace replaces the content of an asset.
func (s *service) replace(t *testing.T, r certificate.Record, content string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	f, err := w.CreateFormFile("file", r.Name)
	must(t, err)
	_, err = f.Write([]byte(content))
	must(t, err)
	must(t, w.Close())
	must(t, s.call("POST", "/assets/"+r.Asset, &b, w.FormDataContentType(), nil))
}
