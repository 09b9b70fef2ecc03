package ckfinder_test

import (
	"context"
	"io"
	"iter"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"assetferry/internal/test/longtest"
	"assetferry/sources"
	"assetferry/sources/ckfinder"
	"assetferry/sources/ckfinder/ckfindertest"
	"assetferry/sources/remote"
	"assetferry/sources/sourcetest"
)

// TestSource runs the shared source tests for a whole connector, a resource type and a folder, with
// connectors of very different behaviour.
func TestSource(t *testing.T) {
	for name, knobs := range map[string]ckfindertest.Knobs{
		"as documented":        {Session: "of the test", Renew: "renewed by Init"},
		"no ranges":            {NoRanges: true, StatusOK: true, Tenths: true},
		"no lengths":           {NoLengths: true, NoETags: true, Token: "hush-hush"},
		"old, behind a route":  {NoProxy: true, OwnParameter: "a b/c", ByteOrderMark: true, NoURLs: true},
		"modified at any time": {NowModified: true},
	} {
		for part, start := range map[string]string{"all": "", "a type": "?type=Files", "a folder": "?type=Files&currentFolder=/my+lib%2B%25/"} {
			if part == "a folder" || name == "as documented" || longtest.Asked() {
				t.Run(name+", "+part, func(t *testing.T) { law(t, knobs, start) })
			}
		}
	}
}

func law(t *testing.T, knobs ckfindertest.Knobs, start string) {
	prefix := "Files/"
	if strings.Contains(start, "currentFolder") {
		prefix = "Files/my lib+%/"
	}
	sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
		c := ckfindertest.New(tb, "Images", "Files", "Files!", "Empty")
		c.Set(knobs)
		c.Make(prefix)
		for _, key := range []string{"Files/my lib+%.jpg", "Files/my lib+%!/x", "Images/my lib+%/x"} { // the same beginning
			if !strings.HasPrefix(key, prefix) && start != "" {
				c.Put(key, []byte("not ours"))
			}
		}
		for _, f := range files {
			c.Put(prefix+string(f.Key), f.Content)
		}
		src := newSource(tb, c, start)
		var source sources.Source = src
		if start == "" {
			source = within{src, sources.Key(prefix)}
		}
		return sourcetest.Fixture{
			Source: source,
			Put:    func(f sourcetest.File) error { c.Put(prefix+string(f.Key), f.Content); return nil },
			Remove: func(k sources.Key) error { c.Remove(prefix + string(k)); return nil },
			Vanish: func() error {
				if start == "" {
					c.Change(func(k *ckfindertest.Knobs) { k.OwnParameter = "another" })
				}
				c.RemoveAll(prefix)
				return nil
			},
			StopBackground: src.CloseIdleConnections,
		}
	}, sourcetest.Storable(storable), sourcetest.Many(500))
}

// storable drops keys that cannot be file names or that JSON cannot represent.
func storable(keys ...sources.Key) bool {
	for _, k := range keys {
		if !utf8.ValidString(string(k)) {
			return false
		}
		for segment := range strings.SplitSeq(string(k), "/") {
			if segment == "" || segment == "." || segment == ".." {
				return false
			}
		}
	}
	return true
}

// within is the part of a source below a prefix, for the shared source tests, which know no
// resource types.
type within struct {
	sources.Source
	prefix sources.Key
}

func (w within) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	if after != "" {
		after = w.prefix + after
	}
	return func(yield func(sources.Object, error) bool) {
		w.Source.Objects(ctx, after)(func(o sources.Object, err error) bool {
			o.Key = sources.Key(strings.TrimPrefix(string(o.Key), string(w.prefix)))
			return yield(o, err)
		})
	}
}

func (w within) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	o.Key = w.prefix + o.Key
	return w.Source.Open(ctx, o, offset)
}

// newSource opens a connector with the cookies and headers that it requires.
func newSource(tb testing.TB, c *ckfindertest.Connector, start string) *ckfinder.Source {
	tb.Helper()
	if route := c.Knobs().OwnParameter; route != "" {
		start = "?route=" + url.QueryEscape(route) + strings.Replace(start, "?", "&", 1)
	}
	rawURL, err := ckfinder.ParseURL("ckfinder+" + c.URL + start)
	must(tb, err)
	var lines string
	if s := c.Knobs().Session; s != "" {
		lines += "Cookie: PHPSESSID=\"" + s + "\"\n"
	}
	if token := c.Knobs().Token; token != "" {
		lines += "Authorization: Bearer " + token + "\n"
	}
	var o ckfinder.Options
	if lines != "" {
		o.Headers, err = remote.ParseHeaders(lines)
		must(tb, err)
	}
	src := ckfinder.New(rawURL, o)
	src.AlwaysLookAgain()
	tb.Cleanup(src.CloseIdleConnections)
	return src
}

func list(tb testing.TB, src sources.Source) (objects []sources.Object, err error) {
	for o, e := range src.Objects(tb.Context(), "") {
		if e != nil {
			return objects, e
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
