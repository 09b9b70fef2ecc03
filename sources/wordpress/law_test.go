package wordpress_test

import (
	"net/http/httptest"
	"testing"

	api "assetferry/internal/wordpress"
	"assetferry/sources"
	"assetferry/sources/sourcetest"
	"assetferry/sources/wordpress"
	"assetferry/sources/wordpress/wordpresstest"
)

func TestLaw(t *testing.T) {
	for name, site := range map[string]func() *wordpresstest.Site{
		"usual":              func() *wordpresstest.Site { return &wordpresstest.Site{} },
		"without validators": func() *wordpresstest.Site { return &wordpresstest.Site{NoValidators: true} },
		"in a folder, without permalinks, with warnings": func() *wordpresstest.Site {
			return &wordpresstest.Site{Folder: "/blog", NoPermalinks: true, Notice: "<br />\n<b>Warning</b>: x[1] {y} in <b>z.php</b><br />\n"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
				s := site()
				put := func(f sourcetest.File) error {
					s.Put(string(f.Key), f.Content, nil)
					return nil
				}
				for _, f := range files {
					_ = put(f) // it returns nil
				}
				src := open(tb, s, api.Options{User: wordpresstest.User, Password: wordpresstest.Password}, wordpress.Options{})
				return sourcetest.Fixture{
					Source: src,
					Put:    put,
					Remove: func(k sources.Key) error {
						s.Remove(string(k))
						return nil
					},
					Vanish: func() error {
						s.Behave(wordpresstest.NoAPI)
						return nil
					},
					StopBackground: src.CloseIdleConnections,
				}
			}, sourcetest.Storable(storable), sourcetest.Many(450))
		})
	}
}

// storable are keys that a web server can serve.
func storable(keys ...sources.Key) bool {
	for _, k := range keys {
		if k.Check() != nil {
			return false
		}
	}
	return true
}

// open returns the source of a site that ends with the test.
func open(tb testing.TB, s *wordpresstest.Site, o api.Options, from wordpress.Options) *wordpress.Source {
	tb.Helper()
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	return openAt(tb, server.URL+s.Folder, o, from)
}

// openAt returns the source of a site with a URL.
func openAt(tb testing.TB, url string, o api.Options, from wordpress.Options) *wordpress.Source {
	tb.Helper()
	u, err := api.ParseURL("wordpress+" + url)
	if err != nil {
		tb.Fatal(err)
	}
	src := wordpress.New(api.New(u, o), from)
	tb.Cleanup(func() {
		if err := src.Close(); err != nil {
			tb.Error(err)
		}
	})
	return src
}
