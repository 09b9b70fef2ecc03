//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkPage opens a page at a width, in light and in dark, and fails the test unless the page is
// usable: it has a title, fits, its links work, the keyboard reaches all of them, and axe finds
// nothing serious. It returns the page for more checks.
func checkPage(t *testing.T, b *browser, rawURL string, width int) *tab {
	t.Helper()
	checker := axe(t)
	var p *tab
	for _, scheme := range []string{"dark", "light"} {
		p = b.open(t, rawURL, width, scheme)
		p.picture(filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%d.png", scheme, width)))
		p.checkOutline()
		p.checkFits()
		p.checkLinks()
		p.checkAccessible(checker, scheme)
	}
	p.checkKeyboard()
	if _, complains := p.seen(); len(complains) > 0 {
		t.Errorf("%s: the browser complains: %q", rawURL, complains)
	}
	return p
}

// axe returns the accessibility checker from npm. The test fails without it, since it only runs on
// request.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ASSETFERRY_AXE")
	if path == "" {
		t.Fatal("ASSETFERRY_AXE must name axe.min.js of axe-core 4; see .ci/run for how to get it")
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// checkOutline fails the test unless the page has a language, a title and headings.
func (p *tab) checkOutline() {
	p.Helper()
	var page struct {
		Title, Language string
		Headings        []int
		Landmarks       int
	}
	p.eval(`({
		title: document.title, language: document.documentElement.lang,
		headings: [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map(h => +h.tagName[1]),
		landmarks: document.querySelectorAll("main").length,
	})`, &page)
	if page.Title == "" || page.Language == "" || page.Landmarks != 1 {
		p.Errorf("the page has title %q, language %q and %d main parts", page.Title, page.Language, page.Landmarks)
	}
	level, mains := 0, 0
	for _, h := range page.Headings {
		if h > level+1 {
			p.Errorf("the levels of headings jump: %v", page.Headings)
			break
		}
		if level = h; h == 1 {
			mains++
		}
	}
	if mains != 1 {
		p.Errorf("the page has %d main headings", mains)
	}
}

// checkFits fails the test if the page scrolls sideways.
func (p *tab) checkFits() {
	p.Helper()
	var page struct {
		Needs, Has int
		Wide       []string
	}
	p.eval(`({
		needs: document.scrollingElement.scrollWidth, has: innerWidth,
		wide: [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll"))
			.slice(0, 5).map(e => e.outerHTML.slice(0, 100)),
	})`, &page)
	if page.Needs > page.Has {
		p.Errorf("the page needs %d pixels and has %d: %q", page.Needs, page.Has, page.Wide)
	}
}

// checkLinks fails the test if a link within the page has no target.
func (p *tab) checkLinks() {
	p.Helper()
	var lost []string
	p.eval(`[...document.querySelectorAll("a[href^='#']")].map(a => a.getAttribute("href")).filter(h => !document.getElementById(decodeURIComponent(h.slice(1))))`, &lost)
	if len(lost) > 0 {
		p.Errorf("these links lead nowhere: %q", lost)
	}
}

// checkAccessible runs axe. It only logs minor and moderate problems.
func (p *tab) checkAccessible(checker, scheme string) {
	p.Helper()
	p.eval(checker+"; 0", nil)
	var found struct {
		Passes     int
		Violations []struct{ ID, Impact, Help, Where string }
	}
	p.eval(`axe.run().then(r => ({
		passes: r.passes.length,
		violations: r.violations.map(v => ({id: v.id, impact: v.impact, help: v.help, where: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(" | ")})),
	}))`, &found)
	const fewest = 10 // every page of ours passes as many rules; otherwise axe did not check it
	if found.Passes < fewest {
		p.Errorf("axe looked at %d rules only", found.Passes)
	}
	for _, v := range found.Violations {
		line := fmt.Sprintf("axe, %s: %s %s: %s: %s", scheme, v.Impact, v.ID, v.Help, v.Where)
		if v.Impact == "serious" || v.Impact == "critical" {
			p.Error(line)
		} else {
			p.Log(line)
		}
	}
}

// checkKeyboard presses Tab through the whole page, and fails the test unless it reaches every
// control and the focus is visible.
func (p *tab) checkKeyboard() {
	p.Helper()
	var want int
	p.eval(`(() => {
		window.wanted = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
			.filter(e => !e.disabled && e.checkVisibility({visibilityProperty: true}));
		window.reached = new Set();
		document.activeElement.blur();
		return window.wanted.length;
	})()`, &want)
	const step = `(() => {
		const e = document.activeElement;
		if (!e || e === document.body || reached.has(e)) return "end";
		reached.add(e);
		const style = getComputedStyle(e);
		return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none" ? "" : e.outerHTML.slice(0, 100);
	})()`
	for range want + 2 {
		p.tabulator()
		var unseen string
		p.eval(step, &unseen)
		if unseen == "end" {
			break
		} else if unseen != "" {
			p.Errorf("it is not seen that this has the focus: %s", unseen)
		}
	}
	var missed []string
	p.eval(`wanted.filter(e => !reached.has(e)).map(e => e.outerHTML.slice(0, 100))`, &missed)
	if len(missed) > 0 || want == 0 {
		p.Errorf("of %d the keyboard does not reach %q", want, missed)
	}
}

// checkAlone fails the test if the page requested anything but itself.
func (p *tab) checkAlone(rawURL string) {
	p.Helper()
	requested, _ := p.seen()
	others := slices.DeleteFunc(slices.Clone(requested), func(r string) bool {
		return r == rawURL || strings.HasPrefix(r, "data:") || strings.HasSuffix(r, "/favicon.ico") // the browser requests the icon by itself
	})
	if len(requested) == 0 || len(others) > 0 {
		p.Errorf("the page made %d requests, of these for others: %q", len(requested), others)
	}
}
