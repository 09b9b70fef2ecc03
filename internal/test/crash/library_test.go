//go:build crashimage && linux

package crash

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A library is the destination, read through its REST API by code that is independent of
// assetferry.
type library struct{ base, environment, key string }

// token signs a token as the documentation of the service says.
func (l library) token() string {
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // a map of strings always succeeds
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	signed := part(map[string]any{"alg": "HS256", "typ": "JWT"}) + "." + part(map[string]any{
		"aud": l.environment, "sub": "checker", "iat": time.Now().Unix(),
		"auth": map[string]any{"ckbox": map[string]any{"role": "admin"}},
	})
	mac := hmac.New(sha256.New, []byte(l.key))
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (l library) get(rawURL string) ([]byte, error) {
	if !strings.Contains(rawURL, "://") {
		rawURL = l.base + rawURL
	}
	req, err := http.NewRequest(http.MethodGet, rawURL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", l.token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", rawURL, resp.Status, body)
	}
	return body, err
}

type asset struct {
	Name, Extension, FolderID, URL string
	Size                           int64
}

type folder struct {
	ID, Name string
	Folders  []folder
}

// list reads all pages of a list.
func list[T any](l library, path string, query url.Values) (all []T, err error) {
	for {
		query.Set("limit", "50")
		query.Set("offset", fmt.Sprint(len(all)))
		body, err := l.get(path + "?" + query.Encode())
		if err != nil {
			return nil, err
		}
		var page struct {
			Items      []T
			TotalCount int
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Items...); len(page.Items) == 0 || len(all) >= page.TotalCount {
			return all, nil
		}
	}
}

// read returns the contents of all assets by path. It returns an error if several folders have the
// same path.
func (l library) read() (found map[string][]string, err error) {
	found = map[string][]string{}
	categories, err := list[struct{ ID string }](l, "/categories", url.Values{})
	if err != nil {
		return nil, err
	}
	for _, c := range categories {
		if err := l.readAssets(found, url.Values{"categoryId": {c.ID}}, "", ""); err != nil {
			return nil, err
		}
		body, err := l.get("/folders?categoryId=" + c.ID)
		if err != nil {
			return nil, err
		}
		var top struct {
			Items []struct{ ID, CategoryID string }
		}
		if err := json.Unmarshal(body, &top); err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, f := range top.Items {
			if f.CategoryID == c.ID {
				err = errors.Join(err, l.readTree(found, seen, f.ID))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (l library) readTree(found map[string][]string, seen map[string]bool, id string) error {
	body, err := l.get("/folders/" + id + "?depth=20")
	if err != nil {
		return err
	}
	var f folder
	if err := json.Unmarshal(body, &f); err != nil {
		return err
	}
	return l.readFolder(found, seen, f, "")
}

func (l library) readFolder(found map[string][]string, seen map[string]bool, f folder, above string) error {
	path := above + f.Name + "/"
	if seen[path] {
		return fmt.Errorf("the folder %s is there twice", path)
	}
	seen[path] = true
	if err := l.readAssets(found, url.Values{"folderId": {f.ID}}, f.ID, path); err != nil {
		return err
	}
	for _, below := range f.Folders {
		if err := l.readFolder(found, seen, below, path); err != nil {
			return err
		}
	}
	return nil
}

// readAssets reads the assets in a folder, or those of a category outside of folders.
func (l library) readAssets(found map[string][]string, where url.Values, folder, path string) error {
	assets, err := list[asset](l, "/assets", where)
	if err != nil {
		return err
	}
	for _, a := range assets {
		if a.FolderID != folder {
			continue
		}
		content, err := l.get(a.URL)
		if err != nil {
			return err
		}
		key := path + a.Name + "." + a.Extension
		if int64(len(content)) != a.Size {
			return fmt.Errorf("%s has %d bytes and says that it has %d", key, len(content), a.Size)
		}
		found[key] = append(found[key], string(content))
	}
	return nil
}

// compare returns the differences between the library and files: missing, duplicate, changed and
// unknown assets.
func (l library) compare(files map[string]string) (wrong []string, err error) {
	found, err := l.read()
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		switch have := found[key]; {
		case len(have) == 0:
			wrong = append(wrong, "missing: "+key)
		case len(have) > 1:
			wrong = append(wrong, fmt.Sprintf("there %d times: %s", len(have), key))
		case have[0] != files[key]:
			wrong = append(wrong, "changed: "+key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, ok := files[key]; !ok {
			wrong = append(wrong, "foreign: "+key)
		}
	}
	return wrong, nil
}
