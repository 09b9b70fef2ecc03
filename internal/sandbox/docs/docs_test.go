package docs

import (
	"encoding/json"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// each runs a test on the description of every sandbox service.
func each(t *testing.T, test func(t *testing.T, d Description)) {
	for _, file := range []string{"../openapi.yaml", "../aiservice/openapi.yaml"} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, New(text, "doc.json"))
		})
	}
}

func TestPageHasEveryOperation(t *testing.T) { each(t, testOperations) }

func testOperations(t *testing.T, description Description) {
	page, err := description.Page()
	if err != nil {
		t.Fatal(err)
	}
	text, err := description.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for path, item := range d.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var op struct{ OperationID, Summary string }
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`<article id="` + op.OperationID + `">`, path, html.EscapeString(op.Summary)} {
				if !strings.Contains(string(page), want) {
					t.Errorf("%s %s: the page lacks %s", method, path, want)
				}
			}
		}
	}
}

// The page loads nothing, runs nothing, and contains the targets of its links.
func TestPageStandsAlone(t *testing.T) { each(t, testStandsAlone) }

func testStandsAlone(t *testing.T, description Description) {
	b, err := description.Page()
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, bad := range []string{"<script", " src=", "@import", "url(", "http://", "https://", "ZgotmplZ", "<no value>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	var ids []string
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if slices.Contains(ids, m[1]) {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids = append(ids, m[1])
	}
	links := regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, m := range links {
		if !slices.Contains(ids, m[1]) {
			t.Errorf("the link #%s leads nowhere", m[1])
		}
	}
	if len(links) < len(ids) {
		t.Errorf("%d links for %d ids", len(links), len(ids))
	}
}

const small = `{"openapi":"3.1.0","info":{"title":"<b>T</b>","version":"1","description":"One <i>\n\n*two* **three** ` + "`<4>*`" + `"},
	"tags":[{"name":"Things"}],
	"paths":{"/b":{"parameters":[{"$ref":"#/components/parameters/n"}],"get":{"tags":["Things"],"operationId":"b","summary":"s","security":[],"responses":{
		"200":{"description":"d","content":{"application/json":{"schema":{"type":"array","items":{"$ref":"#/components/schemas/X"}}}}}}}},
		"/a":{"put":{"tags":["Things"],"operationId":"a","summary":"s","responses":{}}},
		"/c":{"post":{"tags":["Things"],"operationId":"c","summary":"s","x-scopes":["s:1","s:2"],"x-guess":true,"responses":{
			"200":{"description":"d","content":{"text/event-stream":{"schema":{"type":"string"},"x-events":{"said":{"schema":{"$ref":"#/components/schemas/X"}}}}}}}}}},
	"components":{"parameters":{"n":{"name":"n","in":"query","required":true,"schema":{"type":["integer","null"],"minimum":1,"maximum":5,"default":2}}},
		"schemas":{"X":{"type":"object","required":["z"],"properties":{"z":{"enum":["p","q"]},"y":{"type":"string","maxLength":3,"x-guess":true}},"additionalProperties":false}}}}`

func TestPage(t *testing.T) {
	b, err := render([]byte(small), "docs.json")
	if err != nil {
		t.Fatal(err)
	}
	page := regexp.MustCompile(`\s+`).ReplaceAllString(string(b), " ")
	for _, want := range []string{
		"<h1>&lt;b&gt;T&lt;/b&gt;</h1>",
		"<p>One &lt;i&gt;</p> <p><em>two</em> <strong>three</strong> <code>&lt;4&gt;*</code></p>",
		`array of <a href="#schema-X">X</a>`,
		`n <span class="must">required</span><span class="in">query</span>`,
		`integer or null<span class="rules">1 to 5; default 2</span>`,
		`z <span class="must">required</span>`,
		`<span class="rules">one of p, q</span>`,
		`string<span class="rules">at most 3 characters</span>`,
		`title="Required credentials">no token<`,
		`title="Required credentials">user<`,
		`title="Required credentials">s:1 and s:2<`,
		`<span class="guess" title="Not documented by the service">assumption</span>`,
		`said</td> <td class="type"> <a href="#schema-X">X</a></td>`,
		`y <span class="guess">assumption</span>`,
		`<a href="docs.json">docs.json</a>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Index(page, `id="b"`) > strings.Index(page, `id="a"`) {
		t.Error("the order of the description is lost")
	}
}

func TestPageRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":         "openapi: 3.1.0",
		"paths as a list": `{"paths":[]}`,
		"unknown tag":     strings.Replace(small, `"tags":["Things"]`, `"tags":["Others"]`, 1),
	} {
		if _, err := render([]byte(text), ""); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzProse(f *testing.F) {
	for _, seed := range []string{"a `b` **c** *d*", "`", "**", "<p>", "`<*`*>`*", "a\n\n\n\nb"} {
		f.Add(seed)
	}
	tag := regexp.MustCompile(`</?(p|code|strong|em)>`)
	f.Fuzz(func(t *testing.T, text string) {
		if rest := tag.ReplaceAllString(string(prose(text)), ""); strings.ContainsAny(rest, `<>"'`) {
			t.Errorf("%q gives %q", text, rest)
		}
	})
}
