package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/metadata"
	"assetferry/internal/strictyaml"
)

// Rules are the compiled value of the key mapping in the configuration.
type Rules struct {
	rules   []*rule
	bare    bool     // without the default mapping
	columns []column // names of fields elsewhere
	written string   // the text in the file
}

// Lines returns the text of the rules in the file.
func (r *Rules) Lines() []string {
	if r == nil || r.written == "" {
		return nil
	}
	return strings.Split(r.written, "\n")
}

// String returns the number of rules as text.
func (r *Rules) String() string {
	if len(r.rules) == 1 {
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", len(r.rules))
}

// A rule applies to the objects for which its condition is true.
type rule struct {
	place
	number    int    // from 1, within the file or the template
	template  string // the name of its built-in template, or ""
	when      *expression
	condition place // of when

	skip       *bool
	texts      map[string]outcome // category, folder, name, private, description
	tags       *listOutcome
	add, drop  []*template
	unsent     []string          // drop_attributes
	rename     map[string]string // by folded name
	split      []string
	attributes map[string]outcome
}

// An outcome is the value of one field in a rule.
type outcome struct {
	template *template // nil: omit the field
}

// A listOutcome is an outcome of several values.
type listOutcome struct {
	templates []*template // empty: omit the field
}

// name returns the position of the rule as text.
func (r *rule) name() string {
	if r.template != "" {
		return fmt.Sprintf("rule %d of template %s", r.number, r.template)
	}
	return fmt.Sprintf("rule %d at %s:%d", r.number, r.file.Path, r.line())
}

// Parse parses the value of the key mapping in a file. Every mistake, including those in expressions, is
// a *strictyaml.Mistake with its position.
func Parse(f *strictyaml.File, node ast.Node) (*Rules, error) {
	r := &Rules{written: strings.TrimRight(node.String(), "\n")}
	p := parser{File: f, into: r}
	if err := p.mapping(node); err != nil {
		return nil, err
	}
	return r, nil
}

// A parser parses the rules of one file or template.
type parser struct {
	*strictyaml.File
	into     *Rules
	template string
	count    int
}

// An entry parses the value of a key.
type entry func(node ast.Node) error

// walk parses a mapping with known keys.
func (p *parser) walk(node ast.Node, known map[string]entry) error {
	entries, err := p.Entries(node)
	if err != nil {
		return err
	}
	for _, e := range entries {
		key := e.Key.GetToken().Value
		read, ok := known[key]
		if !ok {
			return p.ErrorAt(e.Key, fmt.Sprintf("unknown key %q%s", key, strictyaml.Suggestion(key, sortedKeys(known))))
		}
		if isEmpty(e.Value) && !takesNothing(key) {
			return p.ErrorAt(e.Key, key+" needs a value")
		}
		if err := read(e.Value); err != nil {
			return err
		}
	}
	return nil
}

// takesNothing reports whether "~" is allowed as the value of a key. It omits the field.
func takesNothing(key string) bool { return key == wordDescription || key == wordTags }

func (p *parser) mapping(node ast.Node) error {
	return p.walk(node, map[string]entry{
		"defaults": func(n ast.Node) error {
			on, err := p.choice("defaults", n, "on", "off")
			p.into.bare = !on
			return err
		},
		"columns": p.columns,
		"rules":   p.rules,
	})
}

// choice parses a value that is one of two words; it returns true for the first.
func (p *parser) choice(key string, node ast.Node, yes, no string) (bool, error) {
	switch word, _ := strictyaml.Scalar(node); word {
	case yes:
		return true, nil
	case no:
		return false, nil
	}
	return false, p.ErrorAt(node, fmt.Sprintf("%s must be %s or %s", key, yes, no))
}

func (p *parser) columns(node ast.Node) error {
	entries, err := p.Entries(node)
	if err != nil {
		return err
	}
	var read []column
	for _, e := range entries {
		name := e.Key.GetToken().Value
		word, ok := strictyaml.Scalar(e.Value)
		word = strings.TrimSpace(word)
		switch {
		case !ok || word == "":
			return p.ErrorAt(e.Value, fmt.Sprintf("the column %q needs its new name", name))
		case word == metadata.Provenance:
			return p.ErrorAt(e.Value, ownAttribute)
		case isWord(name):
			return p.ErrorAt(e.Key, fmt.Sprintf("%q is a known field and cannot be renamed; a rule can copy it to another field", name))
		}
		read = append(read, column{name, word})
	}
	p.into.columns = append(read, p.into.columns...) // user columns come before those of templates
	return nil
}

const ownAttribute = "the attribute " + metadata.Provenance + " is reserved for assetferry"

func (p *parser) rules(node ast.Node) error {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		return p.ErrorAt(node, `rules must be a list; begin each rule with "- "`)
	}
	for _, n := range list.Values {
		if err := p.rule(n); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) rule(node ast.Node) error {
	p.count++
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 && m.Values[0].Key.GetToken().Value == "use" {
		return p.walk(node, map[string]entry{"use": p.use})
	}
	r := &rule{place: place{p.File, node}, number: p.count, template: p.template, texts: map[string]outcome{}, attributes: map[string]outcome{}}
	keys := map[string]entry{
		"when":            func(n ast.Node) error { return p.when(r, n) },
		"skip":            func(n ast.Node) error { return p.skip(r, n) },
		"tags":            func(n ast.Node) error { return p.tags(r, n) },
		"add_tags":        func(n ast.Node) (err error) { r.add, err = p.list(n); return err },
		"drop_tags":       func(n ast.Node) (err error) { r.drop, err = p.list(n); return err },
		"rename_tags":     func(n ast.Node) error { return p.renameTags(r, n) },
		"split_tags":      func(n ast.Node) error { return p.splitTags(r, n) },
		"attributes":      func(n ast.Node) error { return p.attributes(r, n) },
		"drop_attributes": func(n ast.Node) (err error) { r.unsent, err = p.names(n); return err },
	}
	places := placingWords()
	for _, word := range append(places[:], wordDescription) {
		keys[word] = func(n ast.Node) (err error) {
			r.texts[word], err = p.outcome(word, n)
			return err
		}
	}
	if err := p.walk(node, keys); err != nil {
		return err
	}
	if r.saysNothing() {
		return p.ErrorAt(node, "the rule has only a condition; add a setting such as folder or tags")
	}
	p.into.rules = append(p.into.rules, r)
	return nil
}

func (r *rule) saysNothing() bool {
	return r.skip == nil && len(r.texts)+len(r.add)+len(r.drop)+len(r.rename)+len(r.split)+len(r.attributes)+len(r.unsent) == 0 && r.tags == nil
}

func (p *parser) when(r *rule, node ast.Node) error {
	source, err := p.scalar("when", node)
	if err != nil {
		return err
	}
	if at := strings.Index(source, opening); at >= 0 {
		return p.ErrorIn(node, characters(source[:at]), `when is an expression; remove "${" and "}"`)
	}
	e, wrong := compile(source, aChoice)
	if wrong != nil {
		return p.ErrorIn(node, wrong.at, wrong.what)
	}
	r.when, r.condition = e, place{p.File, node}
	return nil
}

// is reports whether a rule applies to the object of a scope.
func (r *rule) is(s *scope) (bool, error) {
	if r.when == nil {
		return true, nil
	}
	value, wrong := r.when.run(s)
	if wrong != nil {
		return false, r.condition.fail(wrong.at, wrong.what)
	}
	is, ok := value.(bool)
	if !ok {
		return false, r.condition.fail(0, "the condition is neither true nor false for this object")
	}
	return is, nil
}

// scalar parses a value that is one text.
func (p *parser) scalar(key string, node ast.Node) (string, error) {
	text, ok := strictyaml.Scalar(node)
	if _, tag := node.(*ast.TagNode); tag {
		return "", p.ErrorAt(node, `a value cannot begin with "!"; write not, or quote the value`)
	}
	if !ok {
		return "", p.ErrorAt(node, key+" must be one text")
	}
	return text, nil
}

func (p *parser) skip(r *rule, node ast.Node) error {
	skip, err := p.choice("skip", node, "true", "false")
	r.skip = &skip
	return err
}

// outcome parses a template, or "~".
func (p *parser) outcome(key string, node ast.Node) (outcome, error) {
	if isNothing(node) {
		return outcome{}, nil
	}
	if isEmpty(node) {
		return outcome{}, p.ErrorAt(node, key+` needs a value; "~" omits the field`)
	}
	t, err := p.text(key, node, aText)
	return outcome{t}, err
}

func (p *parser) text(key string, node ast.Node, gives kind) (*template, error) {
	source, err := p.scalar(key, node)
	if err != nil {
		return nil, err
	}
	t, wrong := newTemplate(place{p.File, node}, source, gives)
	if wrong != nil {
		return nil, p.ErrorIn(node, wrong.at, wrong.what)
	}
	return t, nil
}

func (p *parser) tags(r *rule, node ast.Node) (err error) {
	r.tags = new(listOutcome)
	if isNothing(node) {
		return nil
	}
	if isEmpty(node) {
		return p.ErrorAt(node, `tags needs a value; "~" omits the tags`)
	}
	r.tags.templates, err = p.list(node)
	return err
}

// list parses one or several templates, each of which may return several texts.
func (p *parser) list(node ast.Node) (all []*template, err error) {
	nodes := []ast.Node{node}
	if sequence, ok := node.(*ast.SequenceNode); ok {
		nodes = sequence.Values
	}
	for _, n := range nodes {
		t, err := p.text("a list of tags", n, aList)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func (p *parser) renameTags(r *rule, node ast.Node) error {
	entries, err := p.Entries(node)
	if err != nil {
		return err
	}
	r.rename = map[string]string{}
	for _, e := range entries {
		to, err := p.scalar("rename_tags", e.Value)
		if err != nil {
			return err
		}
		if strings.TrimSpace(to) == "" {
			return p.ErrorAt(e.Value, "a tag needs a new name; drop_tags removes it")
		}
		r.rename[folded(e.Key.GetToken().Value)] = to
	}
	return nil
}

func (p *parser) splitTags(r *rule, node ast.Node) error {
	nodes := []ast.Node{node}
	if sequence, ok := node.(*ast.SequenceNode); ok {
		nodes = sequence.Values
	}
	for _, n := range nodes {
		separator, err := p.scalar("split_tags", n)
		if err != nil {
			return err
		}
		if separator == "" {
			return p.ErrorAt(n, "split_tags needs a separator, such as \";\"")
		}
		r.split = append(r.split, separator)
	}
	return nil
}

func (p *parser) attributes(r *rule, node ast.Node) error {
	entries, err := p.Entries(node)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Key.GetToken().Value
		switch {
		case strings.TrimSpace(name) == "":
			return p.ErrorAt(e.Key, "an attribute needs a name")
		case name == metadata.Provenance:
			return p.ErrorAt(e.Key, ownAttribute)
		}
		if r.attributes[name], err = p.outcome(name, e.Value); err != nil {
			return err
		}
	}
	return nil
}

// names parses names of fields, which may end with the wildcard "*".
func (p *parser) names(node ast.Node) (all []string, err error) {
	nodes := []ast.Node{node}
	if sequence, ok := node.(*ast.SequenceNode); ok {
		nodes = sequence.Values
	}
	for _, n := range nodes {
		name, err := p.scalar("drop_attributes", n)
		if err != nil {
			return nil, err
		}
		if name = strings.TrimSpace(name); name == "" || strings.Contains(strings.TrimSuffix(name, "*"), "*") {
			return nil, p.ErrorAt(n, "drop_attributes needs names of fields, which may end with *")
		}
		all = append(all, name)
	}
	return all, nil
}

// use replaces a rule with use by the rules of the built-in template.
func (p *parser) use(node ast.Node) error {
	name, err := p.scalar("use", node)
	if err != nil {
		return err
	}
	t, err := builtIn(name)
	if err != nil {
		return err
	}
	if t == nil {
		names := TemplateNames()
		suggestion := cmp.Or(strictyaml.Suggestion(name, names), "; use one of "+strings.Join(names, ", "))
		return p.ErrorAt(node, fmt.Sprintf("unknown template %q%s", name, suggestion))
	}
	p.into.rules = append(p.into.rules, t.rules...)
	p.into.columns = append(p.into.columns, t.columns...)
	return nil
}

// isNothing reports whether a value is "~".
func isNothing(node ast.Node) bool { return isEmpty(node) && node.GetToken().Value == "~" }

// isEmpty reports whether a key has no value.
func isEmpty(node ast.Node) bool { return node.Type() == ast.NullType }

// folded returns a tag in lower case, for comparison.
func folded(tag string) string { return strings.ToLower(strings.TrimSpace(tag)) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
