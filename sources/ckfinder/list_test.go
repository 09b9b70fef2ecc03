package ckfinder_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/ckfinder/ckfindertest"
)

// library returns a connector with a few files.
func library(t *testing.T) *ckfindertest.Connector {
	t.Helper()
	c := ckfindertest.New(t, "Images", "Files")
	for _, key := range []string{"Files/a.txt", "Images/a.jpg", "Images/a/b.jpg", "Images/a/c/d.jpg", "Images/e/f.jpg", "Images/g.jpg"} {
		c.Put(key, []byte("content of "+key))
	}
	return c
}

// listLines lists a source and returns its keys, obstacles marked as such.
func listLines(t *testing.T, src sources.Source) ([]string, error) {
	t.Helper()
	objects, err := list(t, src)
	var all []string
	for _, o := range objects {
		line := string(o.Key)
		if o.Obstacle != "" {
			line += ": " + string(o.Obstacle)
		}
		all = append(all, line)
	}
	return all, err
}

// TestObstacles verifies that a refused folder is an obstacle while the session is valid, and that
// the rest is listed.
func TestObstacles(t *testing.T) {
	all := []string{"Files/a.txt", "Images/a.jpg", "Images/a/b.jpg", "Images/a/c/d.jpg", "Images/e/f.jpg", "Images/g.jpg"}
	without := func(prefix string, instead ...string) []string {
		rest := slices.DeleteFunc(slices.Clone(all), func(k string) bool { return strings.HasPrefix(k, prefix) })
		rest = append(rest, instead...)
		slices.Sort(rest)
		return rest
	}
	const hidden, unreadable = ": directory cannot be read", ": cannot be read"
	for name, test := range map[string]struct {
		change func(*ckfindertest.Connector)
		want   []string
	}{
		"nothing":               {func(*ckfindertest.Connector) {}, all},
		"files of a folder":     {func(c *ckfindertest.Connector) { c.Break("GetFiles Images/a/", 103) }, without("Images/a/b", "Images/a/"+hidden)},
		"folders of a folder":   {func(c *ckfindertest.Connector) { c.Break("GetFolders Images/a/", 104) }, without("Images/a/c", "Images/a/"+hidden)},
		"files by permission":   {func(c *ckfindertest.Connector) { c.Allow("Images/a/", ckfindertest.ViewFolders) }, without("Images/a/b", "Images/a/"+hidden)},
		"folders by permission": {func(c *ckfindertest.Connector) { c.Allow("Images/", ckfindertest.ViewFiles) }, append(slices.Clone(all), "Images/"+hidden)},
		"a resource type":       {func(c *ckfindertest.Connector) { c.Break("GetFiles Images/", 109); c.Break("GetFolders Images/", 109) }, without("Images/", "Images/"+hidden)},
		"a folder that is not found": {func(c *ckfindertest.Connector) {
			c.Break("GetFiles Images/e/", 116)
			c.Break("GetFolders Images/e/", 116)
		}, without("Images/e/", "Images/e/"+hidden)},
		"a folder that always breaks": {func(c *ckfindertest.Connector) {
			c.Break("GetFiles Images/e/", 110)
			c.Break("GetFolders Images/e/", 110)
		}, without("Images/e/", "Images/e/"+hidden)},
		"a file that is not found":     {func(c *ckfindertest.Connector) { c.Break("Proxy Images/a/b.jpg", 117) }, without("Images/a/b.jpg", "Images/a/b.jpg"+unreadable)},
		"a file that must not be seen": {func(c *ckfindertest.Connector) { c.Break("Proxy Images/a/b.jpg", 103) }, without("Images/a/b.jpg", "Images/a/b.jpg"+unreadable)},
		"a file with errors of status 200": {func(c *ckfindertest.Connector) {
			c.Set(ckfindertest.Knobs{StatusOK: true})
			c.Break("Proxy Images/a/b.jpg", 104)
		}, without("Images/a/b.jpg", "Images/a/b.jpg"+unreadable)},
		"a file of another size": {func(c *ckfindertest.Connector) {
			c.Wrap(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Get("fileName") != "b.jpg" {
						next.ServeHTTP(w, r)
						return
					}
					w.Header().Set("Content-Type", "image/jpeg")
					fmt.Fprint(w, strings.Repeat("no such file ", 1000))
				})
			})
		}, without("Images/a/b.jpg", "Images/a/b.jpg"+unreadable)},
		"a file that always breaks off": {func(c *ckfindertest.Connector) {
			c.Wrap(instead(func(q url.Values) bool { return q.Get("fileName") == "b.jpg" }, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "image/jpeg")
				fmt.Fprint(w, "content of")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}))
		}, without("Images/a/b.jpg", "Images/a/b.jpg"+unreadable)},
		"an empty name": {func(c *ckfindertest.Connector) { c.Put("Images/a/", nil) }, append(slices.Clone(all), "Images/a/: folder marker")},
	} {
		t.Run(name, func(t *testing.T) {
			c := library(t)
			test.change(c)
			slices.Sort(test.want)
			got, err := listLines(t, newSource(t, c, ""))
			slices.Sort(got)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// instead answers requests that match fits; the connector answers the others.
func instead(fits func(url.Values) bool, answer http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if fits(r.URL.Query()) {
				answer(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}
}

func command(name string) func(url.Values) bool {
	return func(q url.Values) bool { return q.Get("command") == name }
}

// TestOddAnswers verifies that an invalid answer is an error and does not count as an empty folder.
func TestOddAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		`{"currentFolder":{"path":"/"}}`:                          "files is missing",
		`{"currentFolder":{"path":"/b/"},"files":[]}`:             "returned the folder /b/ instead of /",
		`{"currentFolder":{"path":"/","acl":1},"files":[]}`:       "cannot see everything",
		`{"currentFolder":{"path":"/"},"files":[{"name":"x/y"}]}`: `the invalid name "x/y"`,
		`{"error":{"message":"it is\n  broken"}}`:                 "it is broken",
		`{"error":{"number":109},"currentFolder":{"path":"/"}}`:   "error 109: invalid request",
		`{"currentFolder":{"path":"/"},"files":[`:                 "invalid response",
		``: "the response is empty",
		"\n <html><body>Please log in, of-the-test</body>":              "the response is a web page",
		`{"error":{"number":1,"message":"no, not with of-the-test"}}`:   "error 1: no, not with [redacted]",
		`{"currentFolder":{"path":"/"},"files":{"1":{"name":"x.jpg"}}}`: "invalid response",
	} {
		c := library(t)
		c.Set(ckfindertest.Knobs{Session: "of-the-test"})
		c.Wrap(instead(command("GetFiles"), says(answer)))
		_, err := listLines(t, newSource(t, c, "?type=Images"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "of-the-test") {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
}

func TestOddResourceTypes(t *testing.T) {
	for answer, want := range map[string]string{
		`{"resourceTypes":[]}`:                                            "has no visible resource types",
		`{"enabled":false,"resourceTypes":[{"name":"a"}]}`:                "disabled",
		`{"resourceTypes":[{"name":"a"},{"name":"a"}]}`:                   "two resource types",
		`{"resourceTypes":[{"name":"a/b"}]}`:                              "invalid resource type",
		`{"resourceTypes":[{"name":""}]}`:                                 "invalid resource type",
		`{"version":2}`:                                                   "not that of a CKFinder 3 connector",
		`<?xml version="1.0"?><Connector><Error number="0"/></Connector>`: "a web page",
	} {
		c := library(t)
		c.Wrap(instead(command("Init"), says(answer)))
		if _, err := listLines(t, newSource(t, c, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
}

// TestSessionEnds verifies that a session which ends anywhere in a listing ends the listing with an
// error that includes a remedy, even if the next answer could be the last requested file.
func TestSessionEnds(t *testing.T) {
	for name, knobs := range map[string]ckfindertest.Knobs{
		"error 500": {}, "a page": {LoginPage: true}, "a redirect": {LoginRedirect: true}, "nothing to be seen": {EmptyWithoutSession: true}, "errors of status 200": {StatusOK: true},
	} {
		t.Run(name, func(t *testing.T) {
			for requests := range 20 {
				endSession(t, library(t), knobs, requests)
			}
			for _, last := range []string{"Files/a.txt", "Files/a.html", "Files/a.json"} {
				for requests := range 6 {
					c := ckfindertest.New(t, "Files")
					c.Put(last, []byte("small"))
					endSession(t, c, knobs, requests)
				}
			}
		})
	}
}

// endSession lists a connector whose session ends after a number of requests.
func endSession(t *testing.T, c *ckfindertest.Connector, knobs ckfindertest.Knobs, requests int) {
	t.Helper()
	c.Set(knobs)
	c.Change(func(k *ckfindertest.Knobs) { k.Session = "of-the-test" })
	var asked atomic.Int64
	c.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == int64(requests) {
				c.Change(func(k *ckfindertest.Knobs) { k.Session = "another" })
			}
			next.ServeHTTP(w, r)
		})
	})
	_, err := listLines(t, newSource(t, c, ""))
	ended := requests > 0 && asked.Load() >= int64(requests)
	e, ok := errors.AsType[*sources.Error](err)
	if ended && (!ok || !sources.IsAuth(err) || !strings.Contains(e.Hint, "update ASSETFERRY_SOURCE_HEADERS")) || !ended && err != nil {
		t.Errorf("ended at request %d: %v", requests, err)
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("the error has it: %v", err)
	}
}

// TestFolderVanishes verifies that a folder which is removed during the listing counts as deleted
// and is no obstacle.
func TestFolderVanishes(t *testing.T) {
	c := library(t)
	c.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("currentFolder") == "/e/" {
				c.RemoveAll("Images/e/")
			}
			next.ServeHTTP(w, r)
		})
	})
	got, err := listLines(t, newSource(t, c, "?type=Images"))
	if want := []string{"a.jpg", "a/b.jpg", "a/c/d.jpg", "g.jpg"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestListingIsTriedAgain verifies that temporary failures of a listing are retried.
func TestListingIsTriedAgain(t *testing.T) {
	c := library(t)
	var asked atomic.Int64
	c.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch asked.Add(1) % 4 {
			case 1:
				http.Error(w, "<h1>broken</h1>", http.StatusBadGateway)
			case 3:
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, `{"files":[`)
			default:
				next.ServeHTTP(w, r)
			}
		})
	})
	if got, err := listLines(t, newSource(t, c, "?type=Files")); err != nil || !slices.Equal(got, []string{"a.txt"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestListingGoesOnWithoutNeedlessRequests(t *testing.T) {
	c := library(t)
	src := newSource(t, c, "")
	var got []sources.Key
	for o, err := range src.Objects(t.Context(), "Images/a/c/d.jpg") {
		must(t, err)
		got = append(got, o.Key)
	}
	if want := []sources.Key{"Images/e/f.jpg", "Images/g.jpg"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, q := range c.Asked() {
		if q.Get("type") == "Files" || q.Get("fileName") == "a.jpg" || q.Get("fileName") == "d.jpg" {
			t.Errorf("asked for %v", q)
		}
	}
}

// TestRefusals verifies the error class of each refusal, that errors.Is finds it, and that it comes
// with a remedy.
func TestRefusals(t *testing.T) {
	type meaning struct {
		class retry.Class
		is    error
		auth  bool
		hint  string
	}
	for _, test := range []struct {
		status     int
		text       string
		list, open meaning
	}{
		{401, "", meaning{retry.Fatal, nil, true, "log in with a browser"}, meaning{retry.Fatal, nil, true, "log in with a browser"}},
		{403, "", meaning{retry.Fatal, fs.ErrPermission, true, "log in with a browser"}, meaning{retry.Fatal, fs.ErrPermission, true, "log in with a browser"}},
		{403, `{"error":{"number":500}}`, meaning{retry.Fatal, nil, true, "log in with a browser"}, meaning{retry.Fatal, nil, true, "log in with a browser"}},
		{400, `{"error":{"number":103}}`, meaning{retry.Fatal, fs.ErrPermission, true, "log in with a browser"}, meaning{retry.Fatal, fs.ErrPermission, true, "log in with a browser"}},
		{400, `{"error":{"number":10}}`, meaning{retry.Permanent, nil, false, "check the URL"}, meaning{retry.Permanent, nil, false, ""}},
		{404, "", meaning{retry.Permanent, fs.ErrNotExist, false, "check the URL"}, meaning{retry.Permanent, fs.ErrNotExist, false, ""}},
		{404, `{"error":{"number":117}}`, meaning{retry.Permanent, fs.ErrNotExist, false, "check the URL"}, meaning{retry.Permanent, fs.ErrNotExist, false, ""}},
		{429, "", meaning{retry.Throttled, nil, false, ""}, meaning{retry.Throttled, nil, false, ""}},
		{503, "", meaning{retry.Throttled, nil, false, ""}, meaning{retry.Throttled, nil, false, ""}},
		{500, "", meaning{retry.Transient, nil, false, ""}, meaning{retry.Transient, nil, false, ""}},
		{500, `{"error":{"number":110}}`, meaning{retry.Transient, nil, false, ""}, meaning{retry.Transient, nil, false, ""}},
		{302, "", meaning{retry.Fatal, nil, true, "log in with a browser"}, meaning{retry.Fatal, nil, true, "log in with a browser"}},
	} {
		t.Run(fmt.Sprint(test.status, test.text), func(t *testing.T) {
			t.Parallel()
			c := ckfindertest.New(t, "Images")
			c.Wrap(instead(func(url.Values) bool { return true }, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "30")
				w.Header().Set("Location", "/login")
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.text)
			}))
			src := newSource(t, c, "")
			_, listing := list(t, src)
			_, opening := src.Open(t.Context(), sources.Object{Key: "Images/a", Size: 1}, 0)
			for op, pair := range map[string]struct {
				err  error
				want meaning
			}{"list": {listing, test.list}, "open": {opening, test.open}} {
				e, ok := errors.AsType[*sources.Error](pair.err)
				if !ok {
					t.Errorf("%s: %v", op, pair.err)
					continue
				}
				class, _ := retry.Classify(e)
				if class != pair.want.class || sources.IsAuth(e) != pair.want.auth || pair.want.is != nil && !errors.Is(e, pair.want.is) || !strings.Contains(e.Hint, pair.want.hint) {
					t.Errorf("%s: %v is %s, auth %v, hint %q; want %+v", op, e, class, sources.IsAuth(e), e.Hint, pair.want)
				}
			}
		})
	}
}
