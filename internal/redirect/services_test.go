package redirect

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/oldurl"
	"assetferry/internal/oldurl/oldurltest"
)

// fuzzRows fuzzes the rows of two keys with one new URL.
func fuzzRows(f *testing.F, prefix string, check func(t *testing.T, rows []Row)) {
	hostile := oldurltest.Hostile()
	for n, key := range hostile {
		f.Add(key, hostile[(n+1)%len(hostile)], "https://a.example/"+key)
		f.Add(key, strings.ToUpper(key), "https://a.example/"+key)
	}
	f.Fuzz(func(t *testing.T, one, two, rawURL string) {
		if !oldurltest.IsKey(one) || !oldurltest.IsKey(two) || one == two || len(one+two+rawURL) > 300 {
			return
		}
		rows := []Row{rowOf(t, prefix, one), rowOf(t, prefix, two)}
		rows[0].New, rows[1].New = rawURL, rawURL
		check(t, rows)
	})
}

// written returns the rows that are not omitted.
func written(rows, omitted []Row) (all []Row) {
	for _, r := range rows {
		if !slices.ContainsFunc(omitted, func(o Row) bool { return o.Old == r.Old }) {
			all = append(all, r)
		}
	}
	return all
}

// FuzzCloudflare verifies each line by the documented form of a list: seven values without a header,
// source URLs without scheme, port, query or wildcard, and each of them once.
func FuzzCloudflare(f *testing.F) {
	fuzzRows(f, "https://old.example.com/files/", func(t *testing.T, rows []Row) {
		text, omitted := writeSome(t, "cloudflare", rows...)
		for _, r := range omitted {
			if !strings.Contains(r.Key, "*") {
				t.Errorf("%q is omitted", r.Key)
			}
		}
		rows = written(rows, omitted)
		lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		must(t, err)
		if len(lines) != len(rows) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(rows), text)
		}
		for n, line := range lines {
			source, err := url.Parse("https://" + line[0])
			must(t, err)
			if source.Host != "old.example.com" || source.Path != "/files/"+rows[n].Key || source.RawQuery != "" || source.Fragment != "" {
				t.Errorf("%q became %q", rows[n].Key, line[0])
			}
			want := []string{line[0], oldurl.Clean(rows[n].New), statusOf(rows[n]), "FALSE", "FALSE", "FALSE", "FALSE"}
			if !slices.Equal(line, want) {
				t.Errorf("got %q, want %q", line, want)
			}
		}
	})
}

// TestCloudflareHosts verifies that only URLs with a comparable host are written, each of them once
// for both schemes.
func TestCloudflareHosts(t *testing.T) {
	var b strings.Builder
	w, err := New("cloudflare", &b, nil)
	must(t, err)
	for old, want := range map[string]error{
		"/img/a.png": ErrHost, "//": ErrHost, "https://h.example": ErrHost, "https://h.example:8080/a": ErrHost, "https://me@h.example/a": ErrHost, "/a//b": ErrHost,
		"https://h.example/a?b": ErrQuery, "https://h.example/a#b": ErrCharacters, "https://h.example/*": ErrCharacters,
		"https://h.example/" + strings.Repeat("a", cloudflareURL): ErrTooLong,
	} {
		if err := w.Write(Row{Old: old, New: "https://n.example/"}); !errors.Is(err, want) {
			t.Errorf("%.40s: got %v, want %v", old, err, want)
		}
	}
	must(t, w.Write(Row{Old: "http://h.example/a", New: "https://n.example/"}))
	must(t, w.Write(Row{Old: "//h.example/b", New: "https://n.example/"}))
	if err := w.Write(Row{Old: "https://h.example/a", New: "https://n.example/"}); !errors.Is(err, errRepeated) {
		t.Errorf("repeated: got %v", err)
	}
	must(t, w.Close())
	if want := "h.example/a,https://n.example/,302,FALSE,FALSE,FALSE,FALSE\nh.example/b,https://n.example/,302,FALSE,FALSE,FALSE,FALSE\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
}

// FuzzCloudFront verifies the documented form of a file to import, with the limits of its texts.
func FuzzCloudFront(f *testing.F) {
	fuzzRows(f, "/", func(t *testing.T, rows []Row) {
		text, omitted := writeSome(t, "cloudfront", rows...)
		var file struct {
			Data []struct{ Key, Value string }
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		must(t, d.Decode(&file))
		rows = written(rows, omitted)
		if len(file.Data) != len(rows) {
			t.Fatalf("%d pairs, want %d", len(file.Data), len(rows))
		}
		for n, pair := range file.Data {
			path, err := url.PathUnescape(pair.Key)
			if err != nil || path != "/"+rows[n].Key || pair.Value != statusOf(rows[n])+" "+oldurl.Clean(rows[n].New) || len(pair.Key) > 512 || len(pair.Value) > 1024 {
				t.Errorf("%q became %q", rows[n].Key, pair)
			}
		}
	})
}

// An iisSection is a section rewriteMaps.
type iisSection struct {
	XMLName xml.Name `xml:"rewriteMaps"`
	Maps    []iisMap `xml:"rewriteMap"`
}

type iisMap struct {
	Name       string     `xml:"name,attr"`
	IgnoreCase string     `xml:"ignoreCase,attr"`
	Entries    []iisEntry `xml:"add"`
}

type iisEntry struct {
	Key   string `xml:"key,attr"`
	Value string `xml:"value,attr"`
}

// lookup returns what the maps together return for a path.
func (s iisSection) lookup(path string) (value string) {
	for _, m := range s.Maps {
		for _, e := range m.Entries {
			if e.Key == path || m.IgnoreCase != "false" && strings.EqualFold(e.Key, path) {
				value += e.Value
			}
		}
	}
	return value
}

// FuzzIIS verifies that every path finds its own redirect in the maps that the rules name, and that
// no map has two keys that differ only in case.
func FuzzIIS(f *testing.F) {
	fuzzRows(f, "/", func(t *testing.T, rows []Row) {
		rows[1].Verified = !rows[0].Verified
		text, omitted := writeSome(t, "iis", rows...)
		for _, r := range omitted {
			if isXMLText(r.Key) {
				t.Errorf("%q is omitted", r.Key)
			}
		}
		var section iisSection
		must(t, xml.Unmarshal([]byte(text), &section))
		for _, r := range written(rows, omitted) {
			if got, want := section.lookup(r.Key), statusOf(r)+" "+oldurl.Clean(r.New); got != want {
				t.Errorf("%q leads to %q, want %q", r.Key, got, want)
			}
		}
		for _, m := range section.Maps {
			if !strings.Contains(text, "{"+m.Name+":{R:0}}") {
				t.Errorf("the rules do not use %s", m.Name)
			}
			for n, e := range m.Entries {
				if slices.ContainsFunc(m.Entries[:n], func(o iisEntry) bool { return strings.EqualFold(o.Key, e.Key) }) {
					t.Errorf("%s has %q twice", m.Name, e.Key)
				}
			}
		}
	})
}

// TestIISRules verifies that the lines to copy are well-formed.
func TestIISRules(t *testing.T) {
	text := write(t, "iis", rowOf(t, "/", "a.jpg"), rowOf(t, "/", "A.jpg"))
	lines := strings.Join(regexp.MustCompile(`(?m)^     .*\n`).FindAllString(text, -1), "")
	var rewrite struct {
		Rules []struct {
			Conditions []struct {
				Input string `xml:"input,attr"`
			} `xml:"conditions>add"`
			Action struct {
				URL   string `xml:"url,attr"`
				Query string `xml:"appendQueryString,attr"`
			} `xml:"action"`
		} `xml:"rules>rule"`
	}
	must(t, xml.Unmarshal([]byte(lines), &rewrite))
	if len(rewrite.Rules) != 2 || rewrite.Rules[0].Conditions[0].Input != "{assetferry:{R:0}}{assetferry_case_1:{R:0}}{assetferry_case_2:{R:0}}" || rewrite.Rules[0].Action.URL != "{C:1}" || rewrite.Rules[1].Action.Query != "false" {
		t.Errorf("got %+v", rewrite)
	}
}

// A rule is a line of a file _redirects.
type rule struct{ from, to, status string }

// readRedirects reads a file _redirects strictly by the documentation of Cloudflare Pages and
// Netlify.
func readRedirects(t *testing.T, text string) (rules []rule) {
	t.Helper()
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Split(line, " ")
		switch {
		case len(words) != 3 || !strings.HasPrefix(words[0], "/") || slices.Contains(words, ""):
			t.Fatalf("bad line %q", line)
		case strings.Contains(words[0], "*") || regexp.MustCompile(`:[A-Za-z]\w*`).MatchString(words[0]) || strings.Contains(words[0], "/:"):
			t.Fatalf("a placeholder in %q", line)
		case strings.ContainsAny(words[0], "?# \"<>\\^`{|}[]") || !isASCII(line):
			t.Fatalf("not encoded: %q", line)
		case seen[words[0]]:
			t.Fatalf("repeated: %q", line)
		}
		seen[words[0]] = true
		rules = append(rules, rule{words[0], words[1], words[2]})
	}
	return rules
}

func fuzzRedirectsFile(f *testing.F, format, force string) {
	fuzzRows(f, "/", func(t *testing.T, rows []Row) {
		for n := range rows {
			rows[n].New = "https://a.example/" + rows[n].New // a Map lists no others
		}
		text, omitted := writeSome(t, format, rows...)
		rows = written(rows, omitted)
		rules := readRedirects(t, text)
		if len(rules) != len(rows) {
			t.Fatalf("%d rules, want %d", len(rules), len(rows))
		}
		for n, got := range rules {
			path, err := url.PathUnescape(got.from)
			if err != nil || path != "/"+rows[n].Key || got.to != oldurl.Clean(rows[n].New) || got.status != statusOf(rows[n])+force {
				t.Errorf("%q became %q", rows[n].Key, got)
			}
		}
	})
}

func FuzzNetlify(f *testing.F) { fuzzRedirectsFile(f, "netlify", "!") }

func FuzzCloudflarePages(f *testing.F) { fuzzRedirectsFile(f, "cloudflare-pages", "") }

// TestOmittedByServices verifies the reasons for rows that a service would refuse or misread.
func TestOmittedByServices(t *testing.T) {
	for _, c := range []struct {
		format, old, target string
		want                error
	}{
		{"netlify", "/a*b", "https://n.example/", ErrCharacters},
		{"netlify", "/:a", "https://n.example/", ErrCharacters},
		{"netlify", "/a:1", "http://n.example/", nil},
		{"netlify", "/a?b=c", "https://n.example/", ErrQuery},
		{"cloudflare-pages", "/a:b", "https://n.example/", ErrCharacters},
		{"cloudflare-pages", "/a", "http://n.example/", ErrNotHTTPS},
		{"cloudflare-pages", "/" + strings.Repeat("a", 976), "https://n.example/", nil},
		{"cloudflare-pages", "/" + strings.Repeat("a", 977), "https://n.example/", ErrTooLong},
		{"cloudfront", "/" + strings.Repeat("a", 511), "https://n.example/", nil},
		{"cloudfront", "/" + strings.Repeat("a", 512), "https://n.example/", ErrTooLong},
		{"cloudfront", "/a", "https://n.example/" + strings.Repeat("a", 1024), ErrTooLong},
		{"cloudfront", "/a?b", "https://n.example/", ErrQuery},
		{"iis", "/a%07", "https://n.example/", ErrCharacters},
		{"iis", "/a%FF", "https://n.example/", ErrCharacters},
		{"iis", "/a?b", "https://n.example/", ErrQuery},
	} {
		w, err := New(c.format, &strings.Builder{}, newPathSummary(c.format))
		must(t, err)
		r := Row{Old: c.old, New: c.target}
		s, _ := w.(cleaning)
		if i, is := s.Writer.(*iis); is && c.want == nil {
			must(t, i.summary.Add(r))
		}
		if err := w.Write(r); !errors.Is(err, c.want) {
			t.Errorf("%s, %.40s: got %v, want %v", c.format, c.old, err, c.want)
		}
		if c.want != nil {
			continue
		}
		if err := w.Write(r); !errors.Is(err, errRepeated) {
			t.Errorf("%s, %.40s again: got %v", c.format, c.old, err)
		}
	}
}

// TestLimits verifies that maps above the limit of a service are refused with the next step, and
// that the user learns of limits that can be raised.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		format      string
		t           Tally
		stop, about string
	}{
		{"tsv", Tally{Written: 1e9, Bytes: 1e12}, "", ""},
		{"cloudflare", Tally{Written: 10_000}, "", ""},
		{"cloudflare", Tally{Written: 10_001}, "", "10,000 redirects on the plan Free, 25,000 on Pro, 50,000 on Business"},
		{"cloudflare", Tally{Written: 1_000_001}, "the map has 1,000,001 redirects, and Cloudflare accepts at most 1,000,000", "Enterprise"},
		{"cloudflare-pages", Tally{Written: 2000}, "", ""},
		{"cloudflare-pages", Tally{Written: 2001}, "the map has 2,001 redirects, and Cloudflare Pages reads only the first 2,000", ""},
		{"cloudfront", Tally{Bytes: 5_000_000}, "", ""},
		{"cloudfront", Tally{Bytes: 5_000_001}, "the map has 5,000,001 bytes, and a key value store of CloudFront imports at most 5,000,000", ""},
		{"iis", Tally{Bytes: 250 << 10}, "", ""},
		{"iis", Tally{Bytes: 250<<10 + 1}, "", "MaxWebConfigFileSizeInKB to at least 251 "},
		{"netlify", Tally{Written: 9_999}, "", ""},
		{"netlify", Tally{Written: 10_000}, "", "advises against 10,000 redirects or more"},
	} {
		f, _ := FormatOf(c.format)
		err := f.limits.check(c.t, c.format)
		if c.stop == "" {
			must(t, err)
		} else if e, is := errors.AsType[*LimitError](err); !is || e.Error() != "--format "+c.format+": "+c.stop || e.Hint() == "" {
			t.Errorf("%s: got %v", c.format, err)
		}
		if got := f.Advice(c.t); !strings.Contains(got, c.about) || c.about == "" && got != "" {
			t.Errorf("%s: advice %q", c.format, got)
		}
	}
}
