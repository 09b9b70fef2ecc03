// Package words tests the vocabulary of assetferry: the words that its texts and names must not
// use, each with a replacement.
package words

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"path"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
)

var (
	onlyIn    = flag.String("in", "", "report only files whose path begins with this")
	onlyScope = flag.String("scope", "", "report only this scope: strings, help, templates, identifiers, comments, names or sql")
	onlyWord  = flag.String("word", "", "report only rules whose pattern contains this")
	byPackage = flag.Bool("list-by-package", false, "print how often each package uses forbidden words")
	byPattern = flag.Bool("list-by-pattern", false, "print how often each forbidden word is used")
	showAll   = flag.Bool("all", false, "report all findings, not the first 100")
)

// A rule forbids a pattern in some scopes.
type rule struct {
	not    string // the forbidden words: a regular expression over text in lower case; a space matches any white space
	in     scope
	use    string // what to write instead
	finds  string // a text in which the rule has a finding
	passes string // a text in which it has none
	unless string // a match inside a match of this is no finding
	cased  bool   // match the text as it is written
	only   string // the files that the rule applies to, a regular expression over their paths; empty: all

	paths *regexp.Regexp

	pattern, exempt *regexp.Regexp
	literals        []string // a text with a match contains one of these; none: any text may match
}

// compile prepares the expressions. Words are matched whole: letters must not adjoin a match.
func (r *rule) compile() {
	space := func(s string) string { return strings.ReplaceAll(s, " ", `\s+`) }
	r.pattern = regexp.MustCompile(space(r.not))
	r.pattern.Longest()
	r.paths = regexp.MustCompile(r.only)
	if parsed, err := syntax.Parse(space(r.not), syntax.Perl); err == nil {
		r.literals = literals(parsed.Simplify())
	}
	if r.unless != "" {
		r.exempt = regexp.MustCompile(space(r.unless))
	}
}

// literals returns literals of which every match of an expression contains one, or nil. They avoid
// the slow comparison for most texts.
func literals(e *syntax.Regexp) []string {
	switch e.Op {
	case syntax.OpLiteral:
		return []string{string(e.Rune)}
	case syntax.OpCapture, syntax.OpPlus:
		return literals(e.Sub[0])
	case syntax.OpAlternate:
		var all []string
		for _, sub := range e.Sub {
			l := literals(sub)
			if l == nil {
				return nil
			}
			all = append(all, l...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		shortest := func(l []string) int {
			return len(slices.MinFunc(l, func(a, b string) int { return len(a) - len(b) }))
		}
		for _, sub := range e.Sub {
			if l := literals(sub); l != nil && (best == nil || shortest(l) > shortest(best)) {
				best = l
			}
		}
		return best
	}
	return nil
}

// find returns the offsets of the matches in a text, given as written and in lower case.
func (r *rule) find(body, lower string) [][]int {
	s := lower
	if r.cased {
		s = body
	}
	contained := func(l string) bool { return strings.Contains(s, l) }
	if r.literals != nil && !slices.ContainsFunc(r.literals, contained) {
		return nil
	}
	var found [][]int
	for _, m := range r.pattern.FindAllStringIndex(s, -1) {
		before, _ := utf8.DecodeLastRuneInString(s[:m[0]])
		after, _ := utf8.DecodeRuneInString(s[m[1]:])
		first, _ := utf8.DecodeRuneInString(s[m[0]:])
		last, _ := utf8.DecodeLastRuneInString(s[:m[1]])
		if unicode.IsLetter(first) && unicode.IsLetter(before) || unicode.IsLetter(last) && unicode.IsLetter(after) {
			continue
		}
		m[0] += strings.IndexFunc(s[m[0]:m[1]], func(c rune) bool { return c != 0 && !unicode.IsSpace(c) && !strings.ContainsRune(".:!?;#*", c) })
		if !r.exempted(s, m) {
			found = append(found, m)
		}
	}
	return found
}

// exempted reports whether a match is inside a match of unless, in the same unit.
func (r *rule) exempted(s string, m []int) bool {
	if r.exempt == nil {
		return false
	}
	from, to := max(0, m[0]-120), min(len(s), m[1]+120)
	if i := strings.LastIndexByte(s[from:m[0]], 0); i >= 0 {
		from += i + 1
	}
	if i := strings.IndexByte(s[m[1]:to], 0); i >= 0 {
		to = m[1] + i
	}
	for _, e := range r.exempt.FindAllStringIndex(s[from:to], -1) {
		if from+e[0] <= m[0] && m[1] <= from+e[1] {
			return true
		}
	}
	return false
}

// A finding is an occurrence of a forbidden word in a text.
type finding struct {
	rule  *rule
	scope scope
	file  string
	line  int
	found string // the match, or the identifier or the name around it
	match string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %q; use: %s", f.file, f.line, scopeNames[f.scope], f.found, f.rule.use)
}

// findings applies all rules to all texts.
func findings(rules []rule, texts []*text) []finding {
	found := make([][]finding, len(rules))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range rules {
		g.Go(func() error {
			for _, t := range texts {
				found[i] = append(found[i], rules[i].findings(t)...)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		panic(err) // the functions return no error
	}
	all := slices.Concat(found...)
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return all
}

// findings applies a rule to a text.
func (r *rule) findings(t *text) []finding {
	if r.in&t.scope == 0 || !r.paths.MatchString(t.file) {
		return nil
	}
	var found []finding
	for _, m := range r.find(t.body.String(), t.lower) {
		line, name := t.at(m[0])
		match := strings.Join(strings.Fields(t.body.String()[m[0]:m[1]]), " ")
		f := finding{rule: r, scope: t.scope, file: t.file, line: line, found: match, match: match}
		switch {
		case t.scope == inNames:
			f.file, f.line, f.found = name, 1, name
		case name != "":
			f.found = name
		}
		found = append(found, f)
	}
	return found
}

// An exception allows words in a file. File may be a pattern of path.Match; words are separated by
// bars.
type exception struct {
	file, words string
	why         string
}

func (e exception) covers(f finding) bool {
	ok, err := path.Match(e.file, f.file)
	return err == nil && ok && slices.Contains(strings.Split(e.words, "|"), strings.ToLower(f.match))
}

func TestWords(t *testing.T) {
	texts, err := readTexts("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for i := range rules {
		rules[i].compile()
	}
	used := make([]bool, len(exceptions))
	var left []finding
	for _, f := range findings(rules, texts) {
		excepted := false
		for i, e := range exceptions {
			if e.covers(f) {
				used[i], excepted = true, true
			}
		}
		if !excepted {
			left = append(left, f)
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			t.Errorf("the exception for %q in %s is not needed", e.words, e.file)
		}
	}
	report(t, slices.DeleteFunc(left, func(f finding) bool {
		return !strings.HasPrefix(f.file, *onlyIn) || *onlyScope != "" && scopeNames[f.scope] != *onlyScope || !strings.Contains(f.rule.not, *onlyWord)
	}))
}

// report fails the test for each finding, and prints counts if flags ask for them.
func report(t *testing.T, found []finding) {
	t.Helper()
	if *byPattern {
		counts(t, found, func(f finding) string { return f.rule.not + "  ->  " + f.rule.use })
	}
	if *byPackage {
		counts(t, found, func(f finding) string { return path.Dir(f.file) })
	}
	for i, f := range found {
		if i == 100 && !*showAll {
			t.Errorf("and %d more; with -all they are listed", len(found)-i)
			break
		}
		t.Error(f)
	}
	if len(found) > 0 {
		t.Errorf("%d findings", len(found))
	}
}

// counts prints the number of findings of each key, the largest first, by scope.
func counts(t *testing.T, found []finding, key func(finding) string) {
	t.Helper()
	total, byScope := map[string]int{}, map[string]map[string]int{}
	for _, f := range found {
		k := key(f)
		total[k]++
		if byScope[k] == nil {
			byScope[k] = map[string]int{}
		}
		byScope[k][scopeNames[f.scope]]++
	}
	for _, k := range slices.SortedFunc(maps.Keys(total), func(a, b string) int { return cmp.Or(total[b]-total[a], cmp.Compare(a, b)) }) {
		t.Logf("%5d  %s  %v", total[k], k, byScope[k])
	}
}

// TestRules applies each rule to its two texts.
func TestRules(t *testing.T) {
	for _, r := range rules {
		r.compile()
		if len(r.find(r.finds, lower(r.finds))) == 0 {
			t.Errorf("%q is not found in %q", r.not, r.finds)
		}
		if m := r.find(r.passes, lower(r.passes)); len(m) > 0 {
			t.Errorf("%q is found in %q", r.not, r.passes)
		}
		if r.use == "" || r.passes == "" || r.in == 0 {
			t.Errorf("%q lacks a scope, a replacement or a text that passes", r.not)
		}
	}
}

// TestExceptions verifies that there are few exceptions, and that each has a reason.
func TestExceptions(t *testing.T) {
	if len(exceptions) >= 20 {
		t.Errorf("there are %d exceptions, and fewer than 20 are allowed", len(exceptions))
	}
	for _, e := range exceptions {
		if e.why == "" {
			t.Errorf("the exception for %q in %s has no reason", e.words, e.file)
		}
	}
}

// TestTexts verifies which texts of a Go file are read, and that their lines are right.
func TestTexts(t *testing.T) {
	const source = `package sample

// A journalKeeper keeps
// time.
type journalKeeper struct{ atNight int }

//go:generate ignored

func f(name string) string { return "one " + name +
	" two" + ` + "`three\nfour`" + ` }
`
	texts, err := goTexts("sample.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, text := range texts {
		got[scopeNames[text.scope]] = text.body.String()
	}
	want := map[string]string{
		"comments":    "A journalKeeper keeps\ntime.\n\x00\n\x00",
		"identifiers": "sample\x00journal keeper\x00at night\x00f\x00name\x00",
		"strings":     "one … twothree\nfour\x00",
		"sql":         "",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range texts {
		if text.scope == inStrings {
			if line, _ := text.at(strings.Index(text.body.String(), "four")); line != 11 {
				t.Errorf("got line %d", line)
			}
		}
	}
	if got := splitWords("parseHTTPAddress2_of"); got != "parse http address2 of" {
		t.Errorf("got %q", got)
	}
}
