package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRedirectsSendNoReferer verifies that each HTTP client defines how it follows redirects, or
// that it does not, and that none is the default client. By default net/http sends the URL of a
// redirected request as Referer, and that URL may contain a key to a file or a webhook.
func TestRedirectsSendNoReferer(t *testing.T) {
	clients := 0
	for name, file := range productFiles(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		follows := strings.Contains(string(text), "outbound.FollowRedirects(") || strings.Contains(string(text), "http.ErrUseLastResponse") ||
			strings.Contains(string(text), `Header.Del("Referer")`)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if isOf(n, "http", "DefaultClient", "Get", "Head", "Post", "PostForm") {
					t.Errorf("%s uses http.%s, which sends a Referer", name, n.Sel.Name)
				}
			case *ast.CompositeLit:
				if kind, ok := n.Type.(*ast.SelectorExpr); ok && isOf(kind, "http", "Client") {
					clients++
					if !hasKey(n, "CheckRedirect") || !follows {
						t.Errorf("%s makes an http.Client that sends a Referer: give it outbound.FollowRedirects", name)
					}
				}
			}
			return true
		})
	}
	if clients < 5 {
		t.Errorf("only %d clients were found", clients)
	}
}

// productFiles parses all Go files except those that only tests use.
func productFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir("../../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bench" || d.Name() == ".git" || strings.HasSuffix(d.Name(), "test") || strings.HasSuffix(d.Name(), "e2e") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func isOf(s *ast.SelectorExpr, pkg string, names ...string) bool {
	x, ok := s.X.(*ast.Ident)
	if !ok || x.Name != pkg {
		return false
	}
	for _, name := range names {
		if s.Sel.Name == name {
			return true
		}
	}
	return false
}

func hasKey(lit *ast.CompositeLit, key string) bool {
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok && name.Name == key {
				return true
			}
		}
	}
	return false
}
