package mapping

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	exprfile "github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"assetferry/internal/strictyaml"
)

// maxNodes is the maximum number of nodes of an expression: names, values, operators.
const maxNodes = 500

// maxPredicates is the maximum nesting of conditions on lists: with thousands of tags, three levels run
// for hours.
const maxPredicates = 2

// A kind is the required type of an expression.
type kind int

const (
	aText   kind = iota
	aList        // of texts, or one text
	aChoice      // true or false
)

// An expression is a valid, compiled expression.
type expression struct {
	program *vm.Program
	source  string
	fields  []string // fields in it, without duplicates
	names   []string // variables in it
}

// A flaw is a mistake in an expression or a text, with its position in characters.
type flaw struct {
	at   int
	what string
}

// compile compiles an expression, and checks its names and its type for all objects.
func compile(source string, gives kind) (*expression, *flaw) {
	if strings.TrimSpace(source) == "" {
		return nil, &flaw{0, "the expression is empty"}
	}
	look := &inspection{calls: map[ast.Node]bool{}, predicates: map[*ast.PredicateNode]int{}}
	options := append(functionOptions(), expr.Env(exampleNames()), expr.MaxNodes(maxNodes), expr.Patch(look))
	if gives == aChoice {
		options = append(options, expr.AsBool())
	}
	program, err := expr.Compile(source, options...)
	if f := look.verdict(); f != nil {
		return nil, f
	}
	if err != nil {
		return nil, flawOf(err)
	}
	if f := wrongType(program.Node(), gives); f != nil {
		return nil, f
	}
	return &expression{program, source, look.fields, look.variables()}, nil
}

// exampleNames returns a value of the type of each name, for the library.
func exampleNames() map[string]any {
	s := newScope(new(Mapping))
	for _, v := range variables() {
		s.names[v.name] = v.value(s)
	}
	return s.names
}

// flawOf returns an error of the library as a flaw.
func flawOf(err error) *flaw {
	e, ok := errors.AsType[*exprfile.Error](err)
	if !ok {
		return &flaw{0, firstLine(err.Error())}
	}
	return &flaw{e.From, inOurWords(e.Message)}
}

func inOurWords(message string) string {
	return strings.Replace(firstLine(message), "unexpected token EOF", "the expression ends too early", 1)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Names returns all variables and functions of expressions, in order.
func Names() []string {
	var names []string
	for _, v := range variables() {
		names = append(names, v.name)
	}
	names = slices.AppendSeq(names, maps.Keys(fieldFunctions(new(scope))))
	for _, f := range ownFunctions() {
		names = append(names, f.name)
	}
	names = append(names, libraryFunctions()...)
	slices.Sort(names)
	return names
}

// wrongType returns a flaw if the type of an expression is never the required one.
func wrongType(node ast.Node, gives kind) *flaw {
	t := node.Type()
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.String, reflect.Interface, reflect.Bool, reflect.Int, reflect.Float64:
		return nil
	case reflect.Struct: // a day
		return nil
	case reflect.Slice:
		if gives == aList {
			return nil
		}
		return &flaw{node.Location().From, `the expression returns several values; join them, as in join(tags, ", ")`}
	case reflect.Func:
		return &flaw{node.Location().From, "a function needs arguments in parentheses, as in field(\"Title\")"}
	}
	return &flaw{node.Location().From, fmt.Sprintf("the expression returns a %s; text is required", t)}
}

// An inspection walks an expression before it is compiled. It collects the fields and refuses syntax
// that is not supported here.
type inspection struct {
	names  []*ast.IdentifierNode
	calls  map[ast.Node]bool // names of called functions
	fields []string
	flaws  []*flaw

	predicates map[*ast.PredicateNode]int // with their nesting
}

// Visit implements ast.Visitor. Inner nodes come first.
func (i *inspection) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		i.names = append(i.names, n)
		if n.Value == environmentName {
			i.refuse(n, environmentName)
		}
	case *ast.CallNode:
		i.calls[n.Callee] = true
		i.call(n)
	case *ast.BinaryNode:
		i.operator(n)
	case *ast.VariableDeclaratorNode:
		i.refuse(n, "let")
	case *ast.SequenceNode:
		i.refuse(n, ";")
	case *ast.MapNode:
		i.refuse(n, "{ }")
	case *ast.PredicateNode:
		if i.predicates[n] = 1 + i.within(n.Node); i.predicates[n] > maxPredicates {
			i.note(n, fmt.Sprintf("conditions on lists are nested more than %d levels deep", maxPredicates))
		}
	}
}

// within returns the nesting of predicates in a visited node.
func (i *inspection) within(node ast.Node) (depth int) {
	for p, is := range i.predicates {
		if ast.Find(node, func(n ast.Node) bool { return n == ast.Node(p) }) != nil {
			depth = max(depth, is)
		}
	}
	return depth
}

func (i *inspection) note(n ast.Node, what string) {
	i.flaws = append(i.flaws, &flaw{n.Location().From, what})
}

func (i *inspection) refuse(n ast.Node, what string) {
	i.note(n, what+" is not supported in expressions")
}

// operator refuses operators that can run for long, or that fail for some objects only.
func (i *inspection) operator(n *ast.BinaryNode) {
	switch n.Operator {
	case "..":
		i.refuse(n, "..")
	case "matches":
		if _, ok := n.Right.(*ast.StringNode); !ok {
			i.note(n.Right, "matches needs a pattern in quotes")
		}
	}
}

// call collects the field of a function, and checks date formats.
func (i *inspection) call(n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		i.note(n, "only functions can be called")
		return
	}
	_, ofField := fieldFunctions(nil)[callee.Value]
	switch {
	case ofField && len(n.Arguments) == 1:
		name, ok := n.Arguments[0].(*ast.StringNode)
		if !ok {
			i.note(n.Arguments[0], callee.Value+" needs the name of a field in quotes")
			return
		}
		i.fields = append(i.fields, name.Value)
	case callee.Value == "date" && len(n.Arguments) == 2:
		i.form(n.Arguments[1], wrongForm)
	case callee.Value == "day" && len(n.Arguments) == 2:
		i.form(n.Arguments[1], wrongDayForm)
	}
}

// form checks a format that is known before the first object.
func (i *inspection) form(argument ast.Node, wrong func(string) string) {
	if form, ok := argument.(*ast.StringNode); ok {
		if what := wrong(form.Value); what != "" {
			i.note(form, what)
		}
	}
}

// verdict returns the first flaw, or nil.
func (i *inspection) verdict() *flaw {
	known := Names()
	for _, n := range i.names {
		isVariable := slices.ContainsFunc(variables(), func(v variable) bool { return v.name == n.Value })
		switch {
		case n.Value == environmentName: // already noted
		case strings.HasPrefix(n.Value, hidden): // in place of an operator
		case !slices.Contains(known, n.Value):
			i.note(n, fmt.Sprintf("unknown name %q%s", n.Value, strictyaml.Suggestion(n.Value, known)))
		case isVariable && i.calls[n]:
			i.note(n, n.Value+" is not a function")
		case !isVariable && !i.calls[n]:
			i.note(n, n.Value+" is a function; it needs arguments in parentheses")
		}
	}
	if len(i.flaws) == 0 {
		return nil
	}
	return slices.MinFunc(i.flaws, func(a, b *flaw) int { return a.at - b.at })
}

// environmentName is the name of the expression library for all names.
const environmentName = "$env"

// variables returns the names of the variables in an expression, and adds their fields to the
// collected fields.
func (i *inspection) variables() (names []string) {
	for _, v := range variables() {
		if !slices.ContainsFunc(i.names, func(n *ast.IdentifierNode) bool { return n.Value == v.name }) {
			continue
		}
		names = append(names, v.name)
		if v.field != "" {
			i.fields = append(i.fields, v.field)
		}
	}
	slices.Sort(i.fields)
	i.fields = slices.Compact(i.fields)
	return names
}

// run evaluates an expression for the object of a scope.
func (e *expression) run(s *scope) (any, *flaw) {
	value, err := s.machine.Run(e.program, s.names)
	if err != nil {
		return nil, flawOf(err)
	}
	return value, nil
}

// listOf returns the result of an expression as texts; ok is false if it has another type.
func listOf(value any) (texts []string, ok bool) {
	switch v := value.(type) {
	case nil:
		return nil, true
	case []string:
		return v, true
	case []any:
		for _, one := range v {
			text, ok := textOf(one)
			if !ok {
				return nil, false
			}
			texts = append(texts, text)
		}
		return texts, true
	}
	text, ok := textOf(value)
	return []string{text}, ok
}

// textOf returns a value as text.
func textOf(value any) (text string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case day:
		return v.String(), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}
