package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"
)

// A scope is a kind of text. A rule names the scopes that it applies to.
type scope int

const (
	inStrings     scope = 1 << iota // string literals of Go, but not of tests
	inHelp                          // help topics, README.md, and the files below .github
	inTemplates                     // pages, scripts, styles, OpenAPI descriptions
	inIdentifiers                   // what Go code declares, tests included
	inComments                      // comments of Go, tests included, of scripts and of .ci
	inNames                         // names of files and folders
	inSQL                           // schemas, and statements in Go strings

	seen  = inStrings | inHelp | inTemplates
	prose = seen | inComments
	code  = inIdentifiers | inNames | inSQL
	all   = prose | code
)

var scopeNames = map[scope]string{inStrings: "strings", inHelp: "help", inTemplates: "templates", inIdentifiers: "identifiers", inComments: "comments", inNames: "names", inSQL: "sql"}

// A text contains all texts of one scope in one file. Its units, such as literals or comments, are
// separated by a zero byte, so that no pattern matches across two of them.
type text struct {
	file  string
	scope scope
	body  strings.Builder
	lower string // body in lower case, at the same offsets
	parts []part
}

// A part records where a piece of the body comes from.
type part struct {
	offset, line int
	name         string // the identifier as it is written, if the piece is one
}

// add appends a unit made of pieces with line numbers.
func (t *text) add(pieces ...piece) {
	for _, p := range pieces {
		t.parts = append(t.parts, part{offset: t.body.Len(), line: p.line, name: p.name})
		t.body.WriteString(p.text)
	}
	t.body.WriteByte(0)
}

type piece struct {
	text string
	line int
	name string
}

// at returns the line of an offset in the body, and the identifier there, if any.
func (t *text) at(offset int) (int, string) {
	i, exact := slices.BinarySearchFunc(t.parts, offset, func(p part, o int) int { return p.offset - o })
	if !exact {
		i--
	}
	p := t.parts[i]
	return p.line + strings.Count(t.body.String()[p.offset:offset], "\n"), p.name
}

// readTexts reads all texts of the repository.
func readTexts(root string) ([]*text, error) {
	var files []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (rel == ".git" || rel == "internal/test/words" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !d.IsDir() {
			files = append(files, rel)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := make([][]*text, len(files))
	var g errgroup.Group
	g.SetLimit(4)
	for i, name := range files {
		g.Go(func() (err error) {
			found[i], err = textsOf(root, name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	texts := slices.Concat(append(found, []*text{fileNames(files)})...)
	for _, t := range texts {
		t.lower = lower(t.body.String())
	}
	return texts, nil
}

// lower converts ASCII letters only, so that offsets stay valid.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// fileNames returns the text of all names, each folder once.
func fileNames(files []string) *text {
	t := &text{file: ".", scope: inNames}
	done := map[string]bool{}
	for _, name := range files {
		if strings.Contains(name, "testdata/") && !strings.Contains(name, "testdata/script/") {
			continue
		}
		for ; name != "." && !done[name]; name = path.Dir(name) {
			done[name] = true
			base := strings.TrimSuffix(path.Base(name), path.Ext(name))
			t.add(piece{text: splitWords(base), name: name})
		}
	}
	return t
}

// textsOf reads one file. It returns no texts for files of other kinds.
func textsOf(root, name string) ([]*text, error) {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	whole := func(s scope) []*text {
		t := &text{file: name, scope: s}
		t.add(piece{text: string(content), line: 1})
		return []*text{t}
	}
	testdata := strings.Contains(name, "testdata/")
	switch ext := path.Ext(name); {
	case strings.HasPrefix(name, "internal/cli/testdata/script/"):
		return scriptComments(name, string(content)), nil
	case ext == ".go" && !testdata:
		return goTexts(name, content)
	case ext == ".sql" && !testdata:
		return whole(inSQL), nil
	case name == ".github/CONTRIBUTING.md": // its readers know the words of the code
		return whole(inComments), nil
	case ext == ".md" && !testdata, strings.HasPrefix(name, ".github/"), strings.HasPrefix(name, "internal/cli/help/") && ext == ".txt":
		return whole(inHelp), nil
	case strings.HasPrefix(name, ".ci/") && ext == "" && !strings.Contains(name, "tools/"), name == ".golangci.yml":
		return whole(inComments), nil
	case slices.Contains([]string{".html", ".js", ".css", ".tmpl", ".yaml"}, ext) && !testdata && !strings.Contains(name, "internal/test/"):
		return whole(inTemplates), nil
	}
	return nil, nil
}

// scriptComments returns the lines of a script that begin with a number sign.
func scriptComments(name, content string) []*text {
	t := &text{file: name, scope: inComments}
	line := 0
	for l := range strings.Lines(content) {
		line++
		if c, ok := strings.CutPrefix(l, "#"); ok {
			t.add(piece{text: strings.TrimSpace(c), line: line})
		}
		if strings.HasPrefix(l, "-- ") && strings.HasSuffix(strings.TrimSpace(l), " --") {
			break // files follow
		}
	}
	return []*text{t}
}

// goTexts returns the identifiers and comments of a Go file, and its strings unless it is a test.
func goTexts(name string, content []byte) ([]*text, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	line := func(p token.Pos) int { return files.Position(p).Line }
	comments := &text{file: name, scope: inComments}
	for _, group := range file.Comments {
		var pieces []piece
		for _, c := range group.List {
			pieces = append(pieces, piece{text: commentText(c.Text) + "\n", line: line(c.Pos())})
		}
		comments.add(pieces...)
	}
	identifiers := &text{file: name, scope: inIdentifiers}
	declared(file, func(id *ast.Ident) {
		identifiers.add(piece{text: splitWords(id.Name), line: line(id.Pos()), name: id.Name})
	})
	texts := []*text{comments, identifiers}
	if !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "internal/test/") {
		literals, statements := &text{file: name, scope: inStrings}, &text{file: name, scope: inSQL}
		stringsOf(file, line, func(p []piece) {
			if slices.ContainsFunc(p, func(p piece) bool { return keyword.MatchString(p.text) }) {
				statements.add(p...)
			} else {
				literals.add(p...)
			}
		})
		texts = append(texts, literals, statements)
	}
	return texts, nil
}

// keyword matches text that only SQL has.
var keyword = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE FROM|WHERE|JOIN|FROM|VALUES|CREATE|DROP|ALTER|ORDER BY|UNION|CASE WHEN|IS NULL|AND|SET|EXISTS) [a-z(@?]|\w+\.(asset|item|pair|run)\b`)

// commentText returns a comment without its slashes, and an empty string for directives of tools.
func commentText(c string) string {
	c = strings.TrimSuffix(strings.TrimPrefix(c, "/*"), "*/")
	c, isLine := strings.CutPrefix(c, "//")
	if isLine && c != "" && c[0] != ' ' && c[0] != '\t' {
		return ""
	}
	return strings.TrimPrefix(c, " ")
}

// declared calls found for each identifier that a file declares. An identifier that it only uses is
// declared elsewhere, or belongs to a library.
func declared(file *ast.File, found func(*ast.Ident)) {
	found(file.Name)
	names := func(ids []*ast.Ident) {
		for _, id := range ids {
			found(id)
		}
	}
	assigned := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			found(id)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			found(n.Name)
		case *ast.TypeSpec:
			found(n.Name)
		case *ast.ValueSpec:
			names(n.Names)
		case *ast.Field:
			names(n.Names)
		case *ast.ImportSpec:
			if n.Name != nil {
				found(n.Name)
			}
		case *ast.LabeledStmt:
			found(n.Label)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					assigned(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				assigned(n.Key)
				assigned(n.Value)
			}
		}
		return true
	})
}

// stringsOf calls found for each string of a file; concatenated literals are one string, with an
// ellipsis for other operands.
func stringsOf(file *ast.File, line func(token.Pos) int, found func([]piece)) {
	var inspect func(ast.Node)
	var gather func(ast.Expr) []piece
	gather = func(e ast.Expr) []piece {
		switch e := e.(type) {
		case *ast.BinaryExpr:
			if e.Op == token.ADD {
				return append(gather(e.X), gather(e.Y)...)
			}
		case *ast.BasicLit:
			if e.Kind == token.STRING {
				if s, err := strconv.Unquote(e.Value); err == nil {
					return []piece{{text: s, line: line(e.Pos())}}
				}
			}
		}
		inspect(e)
		return []piece{{text: "…", line: line(e.Pos())}}
	}
	inspect = func(root ast.Node) {
		ast.Inspect(root, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BinaryExpr:
				if n == root || n.Op != token.ADD {
					return true
				}
				if p := gather(n); slices.ContainsFunc(p, func(p piece) bool { return p.text != "…" }) {
					found(p)
				}
				return false
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					found(gather(n))
				}
				return false
			}
			return true
		})
	}
	inspect(file)
}

var humps = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])`)

// splitWords separates the words of a name: "beginJournal_of" becomes "begin journal of".
func splitWords(name string) string {
	name = humps.ReplaceAllString(name, "$1$3 $2$4")
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return ' '
	}, name)
}
