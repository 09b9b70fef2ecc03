//go:build wordpress

package rewrite

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// pages returns the rendered pages of all published posts, by URL.
func (s *stage) pages() map[string]string {
	s.Helper()
	var urls []string
	out := s.site.PHP(`echo json_encode(array_map('get_permalink', get_posts(['post_type' => ['post', 'page', 'story'], 'numberposts' => -1, 'post_status' => 'publish'])));`)
	s.must(json.Unmarshal([]byte(out), &urls))
	all := map[string]string{}
	for _, url := range urls {
		status, kind, body := s.get(url)
		if status != http.StatusOK || !strings.HasPrefix(kind, "text/html") {
			s.Errorf("%s: %d %s", url, status, kind)
		}
		all[url] = body
	}
	return all
}

func (s *stage) get(url string) (status int, kind, body string) {
	s.Helper()
	a, err := http.Get(url)
	s.must(err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	s.must(err)
	http.DefaultClient.CloseIdleConnections()
	return a.StatusCode, a.Header.Get("Content-Type"), string(text)
}

// A difference is a kind of change of a rendered page: an element, an attribute and its words that
// were removed or added. URLs and numbers are replaced by U and N.
type differences map[string]int

// compare compares two versions of a page, element by element.
func (d differences) compare(s *stage, page, before, after string) {
	was, is := tokens(before), tokens(after)
	if len(was) != len(is) {
		s.Errorf("%s: %d elements and texts became %d:\n%s", page, len(was), len(is), firstDifference(was, is))
		return
	}
	for n := range was {
		a, b := was[n], is[n]
		if a.Type != b.Type || anyURL.ReplaceAllString(a.Data, "U") != anyURL.ReplaceAllString(b.Data, "U") {
			s.Errorf("%s: %s became %s", page, a, b)
			return
		}
		d.attributes(a, b)
	}
}

func firstDifference(was, is []html.Token) string {
	for n := range min(len(was), len(is)) {
		if was[n].Type != is[n].Type || was[n].Data != is[n].Data {
			return fmt.Sprintf("%s\nbecame\n%s", was[max(n-2, 0):min(n+3, len(was))], is[max(n-2, 0):min(n+3, len(is))])
		}
	}
	return "at the end"
}

func (d differences) attributes(a, b html.Token) {
	was, is := map[string]string{}, map[string]string{}
	for _, x := range a.Attr {
		was[x.Key] = x.Val
	}
	for _, x := range b.Attr {
		is[x.Key] = x.Val
	}
	for name, value := range was {
		now, there := is[name]
		switch {
		case !there:
			d[fmt.Sprintf("<%s> loses %s=%s", a.Data, name, shape(value))]++
		case now != value:
			d[fmt.Sprintf("<%s> %s: %s -> %s", a.Data, name, shape(value), shape(now))]++
		}
	}
	for name, value := range is {
		if _, there := was[name]; !there {
			d[fmt.Sprintf("<%s> gains %s=%s", a.Data, name, shape(value))]++
		}
	}
}

var (
	anyURL    = regexp.MustCompile(`https?:(?://|\\/\\/)[^\s"',)]+`)
	anyNumber = regexp.MustCompile(`\d+`)
	entry     = regexp.MustCompile(`U Nw(, U Nw)*`)
)

// shape returns a value with its URLs and numbers replaced.
func shape(value string) string {
	value = anyNumber.ReplaceAllString(anyURL.ReplaceAllString(value, "U"), "N")
	return entry.ReplaceAllString(value, "U Nw...")
}

// tokens returns the elements and texts of a page, without white space around them.
func tokens(page string) (all []html.Token) {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		if z.Next() == html.ErrorToken {
			return all
		}
		t := z.Token()
		if t.Type == html.SelfClosingTagToken { // WordPress adds the slash with widths
			t.Type = html.StartTagToken
		}
		if t.Type == html.TextToken {
			if t.Data = strings.Join(strings.Fields(t.Data), " "); t.Data == "" {
				continue
			}
		}
		all = append(all, t)
	}
}

// images returns the URLs of all images of a page, with those of other widths.
func images(page string) (urls []string) {
	for _, t := range tokens(page) {
		if t.Data != "img" {
			continue
		}
		for _, a := range t.Attr {
			switch a.Key {
			case "src":
				urls = append(urls, a.Val)
			case "srcset":
				for part := range strings.SplitSeq(a.Val, ", ") {
					url, _, _ := strings.Cut(part, " ")
					urls = append(urls, url)
				}
			}
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls)
}
