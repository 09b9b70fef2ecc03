package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
	"assetferry/sources/ckfinder/ckfindertest"
	"assetferry/sources/wordpress/wordpresstest"
)

// Every secret of TestSecrets begins with this mark, so that one search finds them all.
const mark = "Zq7hush"

var jwt = regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`)

// leaks returns the secrets in a text.
func leaks(where string, text []byte) (found []string) {
	for _, secret := range append(regexp.MustCompile(`(?i)`+mark+`[\w-]*`).FindAll(text, -1), jwt.FindAll(text, -1)...) {
		found = append(found, fmt.Sprintf("%s holds %s", where, secret))
	}
	return found
}

// A leakTest is a directory with a source. The output of commands in it is searched for secrets.
// The folder inputs contains the files that the test wrote.
type leakTest struct {
	dir    string
	source string
	env    []string
	conf   []string // for every call
	hook   *hook
}

func newLeakTest(t *testing.T) *leakTest {
	t.Helper()
	dir := t.TempDir()
	smallTree(4).write(t, filepath.Join(dir, "src"))
	if err := os.Mkdir(filepath.Join(dir, "inputs"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &leakTest{dir: dir, source: "src", hook: startHook(t, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no, not at "+r.URL.String(), http.StatusNotFound) // an error that is reported
	})}
}

// notified returns the variables for notifications to a hook whose URL is a secret.
func (l *leakTest) notified() []string {
	return append(l.env, "ASSETFERRY_NOTIFY=http://"+mark+"-user:"+mark+"-password@"+strings.TrimPrefix(l.hook.url, "http://")+"/"+mark+"-path?key="+mark+"-query")
}

// input writes a file that contains a secret and returns its path.
func (l *leakTest) input(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(l.dir, "inputs", name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// program writes a program that prints a text, and returns its command line, which contains a
// secret.
func (l *leakTest) program(t *testing.T, prints string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	return l.input(t, "print", "#!/bin/sh\necho "+mark+"-on-stderr >&2\nprintf '%s\\n' '"+prints+"'\n") + " --password " + mark + "-argument"
}

// bucket makes the source a bucket that rejects some requests and repeats their content in the
// errors. It returns the variables to reach the bucket.
func (l *leakTest) bucket(t *testing.T, refused func(*http.Request) bool) []string {
	t.Helper()
	b := startBucket(t, "photos")
	if err := b.putTree(filepath.Join(l.dir, l.source)); err != nil {
		t.Fatal(err)
	}
	b.wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refused == nil || !refused(r) {
				next.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>no, not with %s, %s or %s-secret</Message></Error>",
				r.Header.Get("Authorization"), r.Header.Get("X-Amz-Security-Token"), mark)
		})
	})
	l.source = "s3://photos"
	return append(b.variables(), "AWS_ACCESS_KEY_ID="+mark+"-id", "AWS_SECRET_ACCESS_KEY="+mark+"-secret", "AWS_SESSION_TOKEN="+mark+"-token")
}

// connector makes the source a connector that requires a login, with wrappers, and returns the
// header with the session.
func (l *leakTest) connector(t *testing.T, around ...func(http.Handler) http.Handler) string {
	t.Helper()
	c := ckfindertest.New(t, "Images")
	c.Set(ckfindertest.Knobs{Session: mark + "-session"})
	c.Put("Images/a.jpg", []byte("content"))
	for _, wrap := range around {
		c.Wrap(wrap)
	}
	l.source = "ckfinder+" + c.URL
	return "Cookie: PHPSESSID=" + mark + "-session"
}

// wordPress makes the source a WordPress site whose password contains the mark, and returns the
// variable with the user name.
func (l *leakTest) wordPress(t *testing.T) (user string) {
	t.Helper()
	s := &wordpresstest.Site{}
	s.Replace(mark + " secret word")
	s.Put("2024/05/a.jpg", []byte("content"), nil)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	l.source = "wordpress+" + server.URL
	return "ASSETFERRY_WORDPRESS_USER=" + wordpresstest.User
}

// workspace makes the source an environment of a service, and returns the service, its key, and the
// variable with its URL.
func (l *leakTest) workspace(t *testing.T) (from *service, key tokens.AccessKey, url string) {
	t.Helper()
	e := tokens.Environment{ID: "9d1e7c40ab25f638c0d7", AccessKey: mark + "-access-key-of-the-source"}
	from = startService(t, sandbox.Options{Environments: []tokens.Environment{e}})
	assetferry(t, l.dir, from.variables(), "migrate", l.source).must(t, exit.CodeDone)
	l.source = "ckbox://" + e.ID
	return from, e.AccessKey, "ASSETFERRY_SOURCE_URL=" + from.url
}

// search runs commands with all forms of output, and searches everything that they write for
// secrets.
func (l *leakTest) search(t *testing.T, want map[string]int) {
	t.Helper()
	forms := [][]string{nil, {"--json"}, {"--verbose"}, {"--json", "--verbose", "--log-file", "log"}, {"--verbose", "--log-file", "log"}}
	n := seedtest.Rand(t).IntN(len(forms))
	for _, form := range longtest.Size(forms[n:n+1], forms) {
		for _, name := range []string{"plan", "migrate", "verify", "status"} {
			args := []string{name}
			if name == "plan" || name == "migrate" {
				args = append(args, l.source)
			}
			switch name {
			case "plan":
				args = append(args, "--output", "PLAN.jsonl")
			case "migrate":
				args = append(args, "--confirm-timeout", "10ms", "--metrics", "metrics.prom")
			}
			p := assetferry(t, l.dir, l.notified(), append(append(args, l.conf...), form...)...)
			if code := p.run(t); code != want[name] {
				t.Errorf("%v: exit code %d, want %d\n%s", p.Args, code, want[name], p.stderr.String())
			}
			for _, leak := range append(leaks("stdout", p.stdout.Bytes()), leaks("stderr", p.stderr.Bytes())...) {
				t.Errorf("%v: %s", p.Args, leak)
			}
		}
	}
	l.searchFiles(t)
	for _, sent := range l.hook.all() {
		for _, leak := range leaks("a notification", []byte(sent.body)) {
			t.Error(leak)
		}
	}
}

func (l *leakTest) searchFiles(t *testing.T, allowed ...string) {
	t.Helper()
	err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(l.dir, path)
		if d.IsDir() {
			if name == "inputs" {
				return fs.SkipDir
			}
			return err
		}
		text, rerr := os.ReadFile(path)
		if rerr != nil {
			return rerr
		}
		for _, a := range allowed {
			if filepath.ToSlash(name) == a {
				return nil
			}
		}
		for _, leak := range leaks(name, text) {
			t.Error(leak)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// echo answers with a status and repeats the request in the answer.
func echo(status int) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"statusCode":%d,"message":"no, not with %s","traceId":"%s","data":{"token":"%s"}}`, status,
				r.Header.Get("Authorization"), r.Header.Get("Authorization"), r.Header.Get("Authorization"))
		})
	}
}

// uploadsOnly applies a wrapper to uploads only.
func uploadsOnly(f func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		odd := f(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Path == "/assets" {
				odd.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// TestSecrets uses secrets in every input that can contain one. It verifies that no output contains
// them: streams, logs, state databases, and other files.
func TestSecrets(t *testing.T) {
	t.Parallel()
	random := seedtest.Rand(t) // half of the cases, or all in the long form
	key := tokens.AccessKey(mark + "-access-key-of-the-environment")
	environment := tokens.Environment{ID: "5f0c8a1be27d934610fe", AccessKey: key}
	start := func(t *testing.T) *service {
		return startService(t, sandbox.Options{Environments: []tokens.Environment{environment}})
	}
	fine := map[string]int{}
	all := func(code int) map[string]int {
		return map[string]int{"plan": code, "migrate": code, "verify": code, "status": code}
	}
	denied := map[string]int{"plan": exit.CodeAuth, "migrate": exit.CodeAuth, "verify": exit.CodeAuth, "status": exit.CodeNoSuch}
	id := "ASSETFERRY_ENVIRONMENT_ID=" + environment.ID

	for name, test := range map[string]func(*testing.T, *leakTest) map[string]int{
		"variable": func(t *testing.T, l *leakTest) map[string]int {
			l.env = start(t).variables()
			return fine
		},
		"file": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{"ASSETFERRY_URL=" + start(t).url, id, "ASSETFERRY_ACCESS_KEY_FILE=" + l.input(t, "key", string(key)+"\n")}
			return fine
		},
		"command": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{"ASSETFERRY_URL=" + start(t).url, id, "ASSETFERRY_ACCESS_KEY_COMMAND=" + l.program(t, string(key))}
			return fine
		},
		"token command": func(t *testing.T, l *leakTest) map[string]int {
			token := sandboxtest.Sign(key, sandboxtest.Claims(environment, "superadmin"))
			l.env = []string{"ASSETFERRY_URL=" + start(t).url, id, "ASSETFERRY_TOKEN_COMMAND=" + l.program(t, token)}
			return fine
		},
		"token command that prints something else": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{"ASSETFERRY_URL=" + start(t).url, id, "ASSETFERRY_TOKEN_COMMAND=" + l.program(t, mark+"-is-no-token at all")}
			return denied
		},
		"token command that fails": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{"ASSETFERRY_URL=" + start(t).url, id, "ASSETFERRY_TOKEN_COMMAND=/no/such/program " + mark + "-argument"}
			return denied
		},
		"user information in the URL": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{"ASSETFERRY_URL=http://user:" + mark + "-password@" + strings.TrimPrefix(start(t).url, "http://"), id, "ASSETFERRY_ACCESS_KEY=" + string(key)}
			return all(exit.CodeUsage)
		},
		"user information that is no URL": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{id, "ASSETFERRY_ACCESS_KEY=" + string(key)}
			l.conf = []string{"--to", "user:" + mark + "-password@host"}
			return all(exit.CodeUsage)
		},
		"query of the URL": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{"ASSETFERRY_URL=" + start(t).url + "/?token=" + mark + "-in-query", id, "ASSETFERRY_ACCESS_KEY=" + string(key)}
			return all(exit.CodeUsage)
		},
		"key in the configuration": func(t *testing.T, l *leakTest) map[string]int {
			l.conf = []string{"--config", l.input(t, "c.yaml", "to: here\ndestinations:\n  here:\n    url: "+start(t).url+"\n    environment: x\n    access_key: "+mark+"-in-file\n")}
			return all(exit.CodeUsage)
		},
		"password in the configuration": func(t *testing.T, l *leakTest) map[string]int {
			l.conf = []string{"--config", l.input(t, "c.yaml", "to: https://user:"+mark+"-password@example.com\npassword: "+mark+"-more\n")}
			return all(exit.CodeUsage)
		},
		"wrong key": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{"ASSETFERRY_URL=" + start(t).url, id, "ASSETFERRY_ACCESS_KEY=" + mark + "-that-is-wrong"}
			return denied
		},
		"401 that echoes": func(t *testing.T, l *leakTest) map[string]int {
			s := start(t)
			s.wrap(echo(http.StatusUnauthorized))
			l.env = s.variables()
			return denied
		},
		"500 that echoes": func(t *testing.T, l *leakTest) map[string]int {
			s := start(t)
			s.wrap(uploadsOnly(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					next.ServeHTTP(httptest.NewRecorder(), r) // the asset exists, so the upload can be confirmed
					echo(http.StatusInternalServerError)(next).ServeHTTP(w, r)
				})
			}))
			l.env = s.variables()
			return fine
		},
		"400 that echoes": func(t *testing.T, l *leakTest) map[string]int {
			s := start(t)
			s.wrap(uploadsOnly(echo(http.StatusBadRequest)))
			l.env = s.variables()
			return map[string]int{"migrate": exit.CodeItems, "verify": exit.CodeItems}
		},
		"headers of a source": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), "ASSETFERRY_SOURCE_HEADERS_FILE="+l.input(t, "headers", l.connector(t)))
			return fine
		},
		"headers of a source from a command": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), "ASSETFERRY_SOURCE_HEADERS_COMMAND="+l.program(t, l.connector(t)))
			return fine
		},
		"headers that are none": func(t *testing.T, l *leakTest) map[string]int {
			l.connector(t)
			l.env = append(start(t).variables(), "ASSETFERRY_SOURCE_HEADERS="+mark+"-session")
			return map[string]int{"plan": exit.CodeUsage, "migrate": exit.CodeUsage, "verify": exit.CodeNoSuch, "status": exit.CodeNoSuch}
		},
		"connector that echoes": func(t *testing.T, l *leakTest) map[string]int {
			headers := l.connector(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(http.StatusForbidden)
					fmt.Fprintf(w, `{"error":{"number":103,"message":"no, not with %s, %s"}}`, r.Header.Get("Cookie"), r.Header.Get("X-Token"))
				})
			})
			l.env = append(start(t).variables(), "ASSETFERRY_SOURCE_HEADERS="+headers+"\nX-Token: "+mark+"-token")
			return map[string]int{"plan": exit.CodeAuth, "migrate": exit.CodeAuth, "verify": exit.CodeNoSuch, "status": exit.CodeDone}
		},
		"password of a WordPress site": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.wordPress(t), "ASSETFERRY_WORDPRESS_PASSWORD="+mark+" secret word")
			return fine
		},
		"password of a WordPress site in a file": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.wordPress(t), "ASSETFERRY_WORDPRESS_PASSWORD_FILE="+l.input(t, "password", mark+" secret word"))
			return fine
		},
		"WordPress site that echoes": func(t *testing.T, l *leakTest) map[string]int {
			user := l.wordPress(t)
			echoes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, password, _ := r.BasicAuth()
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprintf(w, `{"code":"incorrect_password","message":"not %s, %s or %s"}`, password, strings.ReplaceAll(password, " ", ""), r.Header.Get("Authorization"))
			}))
			t.Cleanup(echoes.Close)
			l.source = "wordpress+" + echoes.URL
			l.env = append(start(t).variables(), user, "ASSETFERRY_WORDPRESS_PASSWORD="+mark+" secret word")
			return map[string]int{"plan": exit.CodeAuth, "migrate": exit.CodeAuth, "verify": exit.CodeNoSuch, "status": exit.CodeDone}
		},
		"password in the URL of a source": func(t *testing.T, l *leakTest) map[string]int {
			l.env, l.source = start(t).variables(), "ckfinder+https://user:"+mark+"-password@www.example.com/connector"
			return map[string]int{"plan": exit.CodeUsage, "migrate": exit.CodeUsage, "verify": exit.CodeNoSuch, "status": exit.CodeNoSuch}
		},
		"key of a source": func(t *testing.T, l *leakTest) map[string]int {
			_, key, url := l.workspace(t)
			l.env = append(start(t).variables(), url, "ASSETFERRY_SOURCE_ACCESS_KEY="+string(key))
			return fine
		},
		"key of a source in a file": func(t *testing.T, l *leakTest) map[string]int {
			_, key, url := l.workspace(t)
			l.env = append(start(t).variables(), url, "ASSETFERRY_SOURCE_ACCESS_KEY_FILE="+l.input(t, "key", string(key)+"\n"))
			return fine
		},
		"key of a source from a command": func(t *testing.T, l *leakTest) map[string]int {
			_, key, url := l.workspace(t)
			l.env = append(start(t).variables(), url, "ASSETFERRY_SOURCE_ACCESS_KEY_COMMAND="+l.program(t, string(key)))
			return fine
		},
		"token of a source": func(t *testing.T, l *leakTest) map[string]int {
			from, key, url := l.workspace(t)
			token := sandboxtest.Sign(key, sandboxtest.Claims(from.env, "superadmin"))
			l.env = append(start(t).variables(), url, "ASSETFERRY_SOURCE_TOKEN_COMMAND="+l.program(t, token))
			return fine
		},
		"source that echoes": func(t *testing.T, l *leakTest) map[string]int {
			from, key, url := l.workspace(t)
			from.wrap(echo(http.StatusUnauthorized))
			l.env = append(start(t).variables(), url, "ASSETFERRY_SOURCE_ACCESS_KEY="+string(key))
			return map[string]int{"plan": exit.CodeAuth, "migrate": exit.CodeAuth, "verify": exit.CodeNoSuch, "status": exit.CodeDone}
		},
		"password in the URL of a workspace": func(t *testing.T, l *leakTest) map[string]int {
			l.env, l.source = append(start(t).variables(), "ASSETFERRY_SOURCE_URL=https://user:"+mark+"-password@example.com", "ASSETFERRY_SOURCE_ACCESS_KEY="+mark+"-key"), "ckbox://somewhere"
			return map[string]int{"plan": exit.CodeUsage, "migrate": exit.CodeUsage, "verify": exit.CodeNoSuch, "status": exit.CodeNoSuch}
		},
		"secrets that the configuration leads to": func(t *testing.T, l *leakTest) map[string]int {
			s := start(t)
			hooks := l.input(t, "hooks", "http://"+mark+"-user:"+mark+"-password@"+strings.TrimPrefix(l.hook.url, "http://")+"/"+mark+"-in-a-file\n")
			l.env = []string{"HUSH=" + string(key), "ASSETFERRY_NOTIFY_FILE=" + hooks}
			l.conf = []string{"--config", l.input(t, "c.yaml", "to: here\nnotify: "+l.hook.url+"/"+mark+"-in-the-configuration\ndestinations:\n  here:\n    url: "+s.url+
				"\n    environment: "+environment.ID+"\n    access_key_env: HUSH\n")}
			return fine
		},
		"commands in the configuration": func(t *testing.T, l *leakTest) map[string]int {
			token := sandboxtest.Sign(key, sandboxtest.Claims(environment, "superadmin"))
			l.conf = []string{"--config", l.input(t, "c.yaml", "to: here\ndestinations:\n  here:\n    url: "+start(t).url+
				"\n    environment: "+environment.ID+"\n    token_command: "+l.program(t, token)+"\n")}
			return fine
		},
		"variables of AWS": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.bucket(t, nil)...)
			return fine
		},
		"profile of AWS": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.bucket(t, nil)...)
			l.env = append(l.env, "AWS_ACCESS_KEY_ID=", "AWS_SHARED_CREDENTIALS_FILE="+l.input(t, "credentials",
				"[default]\naws_access_key_id = "+mark+"-id\naws_secret_access_key = "+mark+"-secret\n"))
			return fine
		},
		"profile of AWS that is broken": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.bucket(t, nil)...)
			l.env = append(l.env, "AWS_ACCESS_KEY_ID=", "AWS_SHARED_CREDENTIALS_FILE="+l.input(t, "credentials",
				"[default\naws_secret_access_key "+mark+"-secret\n["+mark+"\n"))
			return map[string]int{"plan": exit.CodeAuth, "migrate": exit.CodeAuth, "verify": exit.CodeNoSuch, "status": exit.CodeDone}
		},
		"bucket that echoes": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.bucket(t, func(*http.Request) bool { return true })...)
			return map[string]int{"plan": exit.CodeAuth, "migrate": exit.CodeAuth, "verify": exit.CodeNoSuch, "status": exit.CodeDone}
		},
		"objects that echo": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.bucket(t, func(r *http.Request) bool { return !r.URL.Query().Has("list-type") })...)
			return map[string]int{"migrate": exit.CodeItems, "verify": exit.CodeItems}
		},
		"table that is opened by headers and signatures": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.table(t, toInsiders)...)
			return map[string]int{"plan": exit.CodeItems, "migrate": exit.CodeItems, "verify": exit.CodeItems}
		},
		"server of a table that echoes": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), l.table(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", r.Header.Get("Authorization"))
				w.Header().Set("X-Echo", r.URL.String())
			})...)
			return map[string]int{"plan": exit.CodeItems, "migrate": exit.CodeItems, "verify": exit.CodeItems}
		},
		"password in the URL of a bucket": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), withoutAWS()...)
			l.source = "s3://" + mark + "-id:" + mark + "-secret@photos/lib"
			return map[string]int{"plan": exit.CodeUsage, "migrate": exit.CodeUsage, "verify": exit.CodeNoSuch, "status": exit.CodeNoSuch}
		},
		"password in the endpoint": func(t *testing.T, l *leakTest) map[string]int {
			l.env = append(start(t).variables(), "ASSETFERRY_S3_ENDPOINT=https://user:"+mark+"-password@s3.example.com")
			return all(exit.CodeUsage)
		},
		"unreachable": func(t *testing.T, l *leakTest) map[string]int {
			l.env = []string{"ASSETFERRY_URL=http://127.0.0.1:1", id, "ASSETFERRY_ACCESS_KEY=" + string(key)}
			return map[string]int{"plan": exit.CodeError, "migrate": exit.CodeError, "verify": exit.CodeError, "status": exit.CodeNoSuch}
		},
	} {
		if !longtest.Takes(random, 2) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLeakTest(t)
			l.search(t, test(t, l))
		})
	}
}

// The test verifies that TestSecrets uses every variable that may contain a secret.
func TestEverySecretIsTried(t *testing.T) {
	t.Parallel()
	var tried []byte
	for _, name := range []string{"secrets_test.go", "secretsai_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tried = append(tried, text...)
	}
	var documents []string
	for _, pattern := range []string{"help/*.txt", "*.go", "../../internal/config/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		documents = append(documents, files...)
	}
	secret := regexp.MustCompile(`ASSETFERRY_[A-Z_]*(KEY|TOKEN|HEADERS|NOTIFY)[A-Z_]*`)
	for _, file := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range secret.FindAllString(string(text), -1) {
			if !strings.Contains(string(tried), name+"=") {
				t.Errorf("%s tells of %s, which no test of secrets sets", file, name)
			}
		}
	}
}

// The test verifies that the files of a killed process contain no secret.
func TestSecretsAfterKill(t *testing.T) {
	t.Parallel()
	e := tokens.Environment{ID: "5f0c8a1be27d934610fe", AccessKey: mark + "-key"}
	s := startService(t, sandbox.Options{Environments: []tokens.Environment{e}})
	l := newLeakTest(t)
	g := hold(s, 2)
	p := assetferry(t, l.dir, s.variables(), "migrate", "src", "--log-file", "log", "--verbose", "-j", "1")
	p.follow(t)
	<-g.reached
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	close(g.open)
	states, err := filepath.Glob(filepath.Join(l.dir, "state", "assetferry", "*.db-wal"))
	if err != nil || len(states) != 1 {
		t.Errorf("the state database leaves %v, %v behind", states, err)
	}
	l.searchFiles(t)
	for _, leak := range append(leaks("stdout", p.stdout.Bytes()), leaks("stderr", p.stderr.Bytes())...) {
		t.Error(leak)
	}
}

// The test verifies that a sandbox shows its key only in the lines for a shell and in the file of
// credentials.
func TestSecretsOfSandboxes(t *testing.T) {
	t.Parallel()
	l := newLeakTest(t)
	mine := []string{"ASSETFERRY_ENVIRONMENT_ID=id", "ASSETFERRY_ACCESS_KEY=" + mark + "-mine"}
	p := assetferry(t, l.dir, mine, "sandbox", "--data", "box", "--credentials-from-env", "--verbose", "--log-file", "log")
	p.follow(t)
	var url, last string
	for line := range p.lines { // until stdout is closed
		if _, value, ok := strings.Cut(line, "ASSETFERRY_URL="); ok {
			url = strings.Trim(value, "'")
		}
		last = line
	}
	if last != "export ASSETFERRY_ACCESS_KEY='"+mark+"-mine'" {
		t.Errorf("the last line is %q", last)
	}
	env := append(mine, "ASSETFERRY_URL="+url)
	assetferry(t, l.dir, env, "migrate", "src", "--log-file", "log", "--verbose").must(t, exit.CodeDone)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	for _, leak := range leaks("stderr", p.stderr.Bytes()) {
		t.Error(leak)
	}
	l.searchFiles(t)

	embedded := assetferry(t, l.dir, nil, "migrate", "src", "--to", "sandbox", "--verbose", "--log-file", "log")
	embedded.must(t, exit.CodeDone)
	credentials, err := os.ReadFile(filepath.Join(l.dir, "data", "assetferry", "sandbox", "credentials.env"))
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := bytes.Cut(bytes.TrimSpace(credentials), []byte("ASSETFERRY_ACCESS_KEY="))
	if len(key) == 0 {
		t.Fatalf("no key in %q", credentials)
	}
	seen := 0
	err = filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, key) {
			seen++
		}
		return err
	})
	if seen != 1 || err != nil || bytes.Contains(append(embedded.stdout.Bytes(), embedded.stderr.Bytes()...), key) {
		t.Errorf("the key of the embedded sandbox is in %d files, or was printed (%v)", seen, err)
	}
	l.searchFiles(t)
}
