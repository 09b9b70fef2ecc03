//go:build rclone

package rclone

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/test/processtest"
)

// A destination is the sandbox in a process of its own, behind a relay. Its assets are read without
// the client of the program.
type destination struct {
	*testing.T
	server
	relay *relay
	env   tokens.Environment
	moved time.Duration // of its clock
}

// newDestination returns a destination that is not started. extra returns additional variables of its
// environment.
func newDestination(t *testing.T, binary string, event func(), extra func() []string) *destination {
	t.Helper()
	d := &destination{T: t, env: sandboxtest.Environment()}
	data := t.TempDir()
	d.addr = "127.0.0.1:" + processtest.FreePort(t)
	d.relay = newRelay(t, d.addr, event)
	d.command = func() *exec.Cmd {
		c := exec.Command(binary, "sandbox", "--data", data+"/sandbox", "--credentials-from-env", "--listen", d.addr, "--no-ai", "--no-library")
		c.Env = append(d.variables(), append(extra(), "HOME="+data)...)
		return c
	}
	t.Cleanup(d.kill)
	return d
}

// url returns the URL of the service.
func (d *destination) url() string { return "http://127.0.0.1:" + d.relay.port() }

// variables returns the environment of a client.
func (d *destination) variables() []string {
	return []string{"ASSETFERRY_URL=" + d.url(), "ASSETFERRY_ENVIRONMENT_ID=" + d.env.ID, "ASSETFERRY_ACCESS_KEY=" + string(d.env.AccessKey)}
}

func (d *destination) get(rawURL string, into any) {
	d.Helper()
	if strings.HasPrefix(rawURL, "/") {
		rawURL = d.url() + rawURL
	}
	req, err := http.NewRequestWithContext(d.Context(), http.MethodGet, rawURL, nil)
	must(d.T, err)
	claims := sandboxtest.Claims(d.env, "admin")
	claims["iat"] = time.Now().Add(d.moved).Unix()
	req.Header.Set("Authorization", sandboxtest.Sign(d.env.AccessKey, claims))
	req.Close = true // the relay waits for the end of connections
	resp, err := http.DefaultClient.Do(req)
	must(d.T, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(d.T, err)
	if resp.StatusCode != http.StatusOK {
		d.Fatalf("GET %s: %s: %s", rawURL, resp.Status, body)
	}
	if text, ok := into.(*string); ok {
		*text = string(body)
		return
	}
	must(d.T, json.Unmarshal(body, into))
}

// A stored is an asset.
type stored struct{ content, description string }

type sandboxFolder struct {
	ID, Name, ParentID string
	Folders            []sandboxFolder
}

// assets returns all assets that are not in the trash, by their paths below the categories.
func (d *destination) assets() map[string][]stored {
	d.Helper()
	found := map[string][]stored{}
	var categories, top struct{ Items []sandboxFolder }
	d.get("/categories?limit=500", &categories)
	for _, c := range categories.Items {
		d.list(found, "categoryId="+c.ID, "", "")
	}
	d.get("/folders", &top)
	for _, f := range top.Items {
		var deep sandboxFolder
		d.get("/folders/"+f.ID+"?depth=1000", &deep)
		d.listFolder(found, deep, "")
	}
	return found
}

func (d *destination) listFolder(found map[string][]stored, f sandboxFolder, above string) {
	d.Helper()
	path := above + f.Name + "/"
	d.list(found, "folderId="+f.ID, f.ID, path)
	names := map[string]bool{}
	for _, below := range f.Folders {
		if names[below.Name] {
			d.Errorf("the folder %s is there twice", path+below.Name)
		}
		names[below.Name] = true
		d.listFolder(found, below, path)
	}
}

// list adds the assets of a folder, or those of a category outside of folders.
func (d *destination) list(found map[string][]stored, where, folder, path string) {
	d.Helper()
	for read := 0; ; {
		var page struct {
			Items []struct {
				Name, Extension, FolderID, URL string
				Metadata                       struct{ Description string }
			}
			TotalCount int
		}
		d.get(fmt.Sprintf("/assets?%s&limit=500&offset=%d", where, read), &page)
		for _, a := range page.Items {
			if a.FolderID == folder {
				one := stored{description: a.Metadata.Description}
				d.get(a.URL, &one.content)
				found[path+a.Name+"."+a.Extension] = append(found[path+a.Name+"."+a.Extension], one)
			}
		}
		if read += len(page.Items); len(page.Items) == 0 || read >= page.TotalCount {
			return
		}
	}
}

// compare returns the differences from the objects that must be there, and how many are missing or
// exist more than once.
func (d *destination) compare(want map[string]stored) (wrong []string, missing, doubled int) {
	d.Helper()
	found := d.assets()
	for key, w := range want {
		switch have := found[key]; {
		case len(have) == 0:
			missing++
			wrong = append(wrong, "missing: "+key)
		case len(have) > 1:
			doubled++
			wrong = append(wrong, fmt.Sprintf("there %d times: %s", len(have), key))
		case have[0] != w:
			wrong = append(wrong, fmt.Sprintf("%s has %d bytes and the description %q, want %d and %q", key, len(have[0].content), have[0].description, len(w.content), w.description))
		}
	}
	for key := range found {
		if _, known := want[key]; !known {
			wrong = append(wrong, "unexpected: "+key)
		}
	}
	return wrong, missing, doubled
}
