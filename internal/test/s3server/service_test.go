package s3server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A service reads the sandbox independently of our client, with net/http and the documentation of
// the service.
type service struct{ url, environment, key string }

// token returns a JSON web token with all permissions.
func (s service) token() string {
	part := func(v any) string {
		text, _ := json.Marshal(v) // maps of plain values always succeed
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(map[string]any{"alg": "HS256", "typ": "JWT"}) + "." + part(map[string]any{
		"aud": s.environment, "sub": "checker", "iat": time.Now().Unix(), "auth": map[string]any{"ckbox": map[string]any{"role": "superadmin"}},
	})
	mac := hmac.New(sha256.New, []byte(s.key))
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// get reads a path, or a URL from an answer.
func (s service) get(path string) ([]byte, error) {
	if strings.HasPrefix(path, "/") {
		path = s.url + path
	}
	r, err := http.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", s.token())
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, resp.Status, text)
	}
	return text, err
}

func (s service) getJSON(path string, into any) error {
	text, err := s.get(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// An asset is one at the service, with the expected key of its object.
type asset struct{ key, url string }

type folder struct {
	ID, Name, CategoryID string
	Folders              []folder
}

// assets returns all assets, and the paths of all folders, including duplicates.
func (s service) assets() (all []asset, folders []string, err error) {
	var categories, tops struct{ Items []folder }
	if err := s.getJSON("/categories?limit=500", &categories); err != nil {
		return nil, nil, err
	}
	for _, c := range categories.Items {
		if err := s.list("categoryId="+c.ID, "", &all); err != nil {
			return nil, nil, err
		}
	}
	if err := s.getJSON("/folders", &tops); err != nil {
		return nil, nil, err
	}
	for _, f := range tops.Items {
		var whole folder
		if err := s.getJSON("/folders/"+f.ID+"?depth=1000", &whole); err != nil {
			return nil, nil, err
		}
		if err := s.walk(whole, f.CategoryID+"/", "", &all, &folders); err != nil {
			return nil, nil, err
		}
	}
	return all, folders, nil
}

func (s service) walk(f folder, category, path string, all *[]asset, folders *[]string) error {
	path += f.Name + "/"
	*folders = append(*folders, category+path)
	if err := s.list("folderId="+f.ID, path, all); err != nil {
		return err
	}
	for _, sub := range f.Folders {
		if err := s.walk(sub, category, path, all, folders); err != nil {
			return err
		}
	}
	return nil
}

func (s service) list(where, path string, all *[]asset) error {
	for offset := 0; ; {
		var page struct {
			Items      []struct{ Name, Extension, URL string }
			TotalCount int
		}
		if err := s.getJSON(fmt.Sprintf("/assets?%s&limit=500&offset=%d&sortBy=uploadedAt", where, offset), &page); err != nil {
			return err
		}
		for _, i := range page.Items {
			*all = append(*all, asset{path + i.Name + "." + i.Extension, i.URL})
		}
		if offset += len(page.Items); len(page.Items) == 0 || offset >= page.TotalCount {
			return nil
		}
	}
}

// A comparison is the result of a complete check: numbers of keys.
type comparison struct {
	equal, missing, doubled, changed, foreign int
	folders                                   int
	examples                                  []string
}

func (c *comparison) add(n *int, what, key string) {
	*n++
	if len(c.examples) < 10 {
		c.examples = append(c.examples, what+" "+key)
	}
}

// compare compares the files of the S3 server with every asset, byte by byte.
func (b *bucket) compare(t *testing.T, s service) (c comparison) {
	t.Helper()
	files := b.files(t)
	all, folders, err := s.assets()
	must(t, err)
	times := map[string]int{}
	for _, a := range all {
		times[a.key]++
		if _, ok := files[a.key]; !ok {
			c.add(&c.foreign, "foreign", a.key)
		}
	}
	for key := range files {
		switch times[key] {
		case 0:
			c.add(&c.missing, "missing", key)
		case 1:
		default:
			c.add(&c.doubled, "doubled", key)
		}
	}
	for _, key := range differing(t, s, all, files) {
		c.add(&c.changed, "changed", key)
	}
	c.equal = len(all) - c.changed - c.foreign
	slices.Sort(folders)
	c.folders = len(folders) - len(slices.Compact(folders))
	return c
}

// files returns the checksum of each file of the S3 server, by key.
func (b *bucket) files(t *testing.T) map[string][32]byte {
	t.Helper()
	files := map[string][32]byte{}
	must(t, filepath.WalkDir(b.dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key, err := filepath.Rel(b.dir(), path)
		files[filepath.ToSlash(key)] = sha256.Sum256(content)
		return err
	}))
	return files
}

// differing reads every asset, and returns the keys of those whose file has other content.
func differing(t *testing.T, s service, all []asset, files map[string][32]byte) (keys []string) {
	t.Helper()
	work := make(chan asset)
	var (
		mu      sync.Mutex
		readers sync.WaitGroup
	)
	for range 8 {
		readers.Go(func() {
			for a := range work {
				content, err := s.get(a.url)
				if want, ok := files[a.key]; err == nil && (!ok || sha256.Sum256(content) == want) {
					continue
				}
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				keys = append(keys, a.key)
				mu.Unlock()
			}
		})
	}
	for _, a := range all {
		work <- a
	}
	close(work)
	readers.Wait()
	return keys
}
