package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// TestSecretsOfAI is TestSecrets for the credentials of the AI content service.
func TestSecretsOfAI(t *testing.T) {
	t.Parallel()
	random := seedtest.Rand(t) // half of the cases, or all in the long form
	key := tokens.AccessKey(mark + "-access-key-of-the-environment")
	environment := tokens.Environment{ID: "5f0c8a1be27d934610fe", AccessKey: key}
	words := tokens.Environment{ID: "77aa0c1be27d93461b0b", AccessKey: mark + "-access-key-of-the-words"}
	const id = "ASSETFERRY_AI_ENVIRONMENT_ID="
	contentScopes := []string{"ai:conversations:*", "ai:models:*", "ai:actions:*", "ai:reviews:*", "ai:documents:process"}
	signed := func() string {
		return aiservicetest.Sign(words.AccessKey, aiservicetest.Claims(words, "assetferry", contentScopes...))
	}
	fine := map[string]int{}
	denied := map[string]int{"ai models": exit.CodeAuth, "enrich describe": exit.CodeAuth}

	for name, test := range map[string]func(*testing.T, *leakTest, *wordService) map[string]int{
		"variable": func(_ *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, id+words.ID, "ASSETFERRY_AI_ACCESS_KEY="+string(words.AccessKey))
			return fine
		},
		"file": func(t *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, id+words.ID, "ASSETFERRY_AI_ACCESS_KEY_FILE="+l.input(t, "key", string(words.AccessKey)+"\n"))
			return fine
		},
		"command": func(t *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, id+words.ID, "ASSETFERRY_AI_ACCESS_KEY_COMMAND="+l.program(t, string(words.AccessKey)))
			return fine
		},
		"wrong key": func(_ *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, id+words.ID, "ASSETFERRY_AI_ACCESS_KEY="+mark+"-that-is-wrong")
			return denied
		},
		"token command": func(t *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, "ASSETFERRY_AI_TOKEN_COMMAND="+l.program(t, signed()))
			return fine
		},
		"token endpoint": func(t *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, "ASSETFERRY_AI_TOKEN_URL="+endpoint(t, http.StatusOK, signed())+"/"+mark+"-path?key="+mark+"-query")
			return fine
		},
		"token endpoint in a file": func(t *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, "ASSETFERRY_AI_TOKEN_URL_FILE="+l.input(t, "endpoint", endpoint(t, http.StatusOK, signed())+"/"+mark+"-path\n"))
			return fine
		},
		"token endpoint from a command": func(t *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, "ASSETFERRY_AI_TOKEN_URL_COMMAND="+l.program(t, endpoint(t, http.StatusOK, signed())+"/"+mark+"-path"))
			return fine
		},
		"token endpoint that refuses": func(t *testing.T, l *leakTest, _ *wordService) map[string]int {
			l.env = append(l.env, "ASSETFERRY_AI_TOKEN_URL="+endpoint(t, http.StatusForbidden, mark+"-said")+"/"+mark+"-path")
			return denied
		},
		"401 that echoes": func(_ *testing.T, l *leakTest, w *wordService) map[string]int {
			l.env = append(l.env, id+words.ID, "ASSETFERRY_AI_ACCESS_KEY="+string(words.AccessKey))
			w.wrap(echo(http.StatusUnauthorized))
			return denied
		},
		"400 that echoes": func(_ *testing.T, l *leakTest, w *wordService) map[string]int {
			l.env = append(l.env, id+words.ID, "ASSETFERRY_AI_ACCESS_KEY="+string(words.AccessKey))
			w.wrap(echo(http.StatusBadRequest))
			return map[string]int{"ai models": exit.CodeError, "enrich describe": exit.CodeError}
		},
		"error in a stream that echoes": func(_ *testing.T, l *leakTest, w *wordService) map[string]int {
			l.env = append(l.env, id+words.ID, "ASSETFERRY_AI_ACCESS_KEY="+string(words.AccessKey))
			w.wrap(echoInStream)
			return map[string]int{"enrich describe": exit.CodeItems}
		},
	} {
		if !longtest.Takes(random, 2) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLeakTest(t)
			paint(t, l.dir+"/src/pictures", 1)
			s := startService(t, sandbox.Options{Environments: []tokens.Environment{environment}})
			w := startWordsOf(t, aiservice.Options{Environments: []tokens.Environment{words}})
			l.env = append(s.variables(), w.variables()...)
			assetferry(t, l.dir, l.env, "migrate", "src", "--include", "*.png").must(t, exit.CodeDone)
			want := test(t, l, w)
			for _, form := range [][]string{nil, {"--json"}, {"--verbose", "--log-file", "log"}} {
				for _, line := range []string{"ai models", "enrich describe", "enrich proposals"} {
					args := append(strings.Fields(line), form...)
					if line == "enrich describe" {
						args = append(args, "--yes", "--again", "--confirm-timeout", "10ms")
					}
					p := assetferry(t, l.dir, l.env, args...)
					if code := p.run(t); code != want[line] {
						t.Errorf("%v: exit code %d, want %d\n%s", p.Args, code, want[line], p.stderr.String())
					}
					for _, leak := range append(leaks("stdout", p.stdout.Bytes()), leaks("stderr", p.stderr.Bytes())...) {
						t.Errorf("%v: %s", p.Args, leak)
					}
				}
			}
			l.searchFiles(t)
		})
	}
}

// endpoint returns the URL of a server that answers with a status and a text.
func endpoint(t *testing.T, status int, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // a client that closed the connection reports it
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// The test verifies that a token is not shown if it arrives in several parts of an answer. The
// answer is printed while it arrives, and a part may be shorter than any token.
func TestTokenInPartsOfAnAnswer(t *testing.T) {
	t.Parallel()
	environment := tokens.Environment{ID: "77aa0c1be27d93461b0b", AccessKey: mark + "-access-key"}
	l := newLeakTest(t)
	w := startWordsOf(t, aiservice.Options{Environments: []tokens.Environment{environment}})
	w.wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
				next.ServeHTTP(rw, r)
				return
			}
			rw.Header().Set("Content-Type", "text/event-stream")
			for n, c := range "The token is " + r.Header.Get("Authorization") + ", and that is all that there is to be said of it." {
				_, _ = fmt.Fprintf(rw, "event: text-delta\ndata: {\"textDelta\":%q}\n\n", string(c))
				if n%50 == 0 {
					_ = http.NewResponseController(rw).Flush()
				}
			}
			_, _ = fmt.Fprint(rw, "event: done\ndata: {}\n\n")
		})
	})
	env := append(w.variables(), "ASSETFERRY_AI_ENVIRONMENT_ID="+environment.ID, "ASSETFERRY_AI_ACCESS_KEY="+string(environment.AccessKey))
	for _, form := range [][]string{nil, {"--json"}} {
		p := assetferry(t, l.dir, env, append([]string{"ai", "ask", "What is it?"}, form...)...)
		p.must(t, exit.CodeDone)
		for _, leak := range leaks("stdout", p.stdout.Bytes()) {
			t.Error(leak)
		}
		if got := p.stdout.String(); !strings.Contains(got, "The token is Bearer [redacted], and that is all that there is to be said of it.") {
			t.Errorf("got %s", got)
		}
	}
}

// echoInStream answers messages with a stream that ends with an error that contains the token.
func echoInStream(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("event: error\ndata: {\"message\":\"no, not with " + r.Header.Get("Authorization") + "\"}\n\n")) // a client that closed the connection reports it
	})
}
