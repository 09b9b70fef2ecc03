package sandbox_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/sandbox"
)

// rulesForAll returns options with the same rules for every route.
func rulesForAll(t *testing.T, rules ...string) sandbox.Options {
	t.Helper()
	var all []string
	for _, route := range sandbox.Routes() {
		for _, rule := range rules {
			all = append(all, route.Method+" "+route.Pattern+" "+rule)
		}
	}
	return faulty(t, all...)
}

func TestEveryRouteIsSlowAndFails(t *testing.T) {
	wildcard := regexp.MustCompile(`\{\w+\}`)
	synctest.Test(t, func(t *testing.T) {
		o := rulesForAll(t, "delay=3s once=1", "status=418 retry-after=7 once=2", "drop=before once=3", "drop=after once=4")
		o.Latency = 2 * time.Second
		s := newServer(t, o)
		for _, route := range sandbox.Routes() {
			name, path := route.Method+" "+route.Pattern, wildcard.ReplaceAllString(route.Pattern, "x")
			for i, want := range []struct {
				wait time.Duration
				cut  bool
			}{{wait: 5 * time.Second}, {wait: 2 * time.Second}, {2 * time.Second, true}, {2 * time.Second, true}} {
				begun := time.Now()
				answer, cut := ask(s, request(t, route.Method, path, strings.NewReader("{}"), "application/json"))
				if waited := time.Since(begun); waited != want.wait || cut != want.cut {
					t.Errorf("%s, call %d: waited %v, want %v; cut %v, want %v", name, i+1, waited, want.wait, cut, want.cut)
				}
				failed := answer.Code == http.StatusTeapot && answer.Header().Get("Retry-After") == "7"
				if failed != (i == 1) || answer.Code == http.StatusNotImplemented {
					t.Errorf("%s, call %d: status %d", name, i+1, answer.Code)
				}
			}
		}
	})
}

// ask reports whether the connection was closed.
func ask(s *sandbox.Server, r *http.Request) (w *httptest.ResponseRecorder, cut bool) {
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			cut = true
		} else if v != nil {
			panic(v)
		}
	}()
	w = httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w, false
}

// A changeable world has one object of everything that a route can change.
type changeable struct {
	*guarded
	workspace, group, grant string
}

// changes returns a successful call for every route that changes something.
func changes() map[string]func(w changeable) reply {
	all := map[string]func(w changeable) reply{
		"POST /assets/restore": changing("POST", func(w changeable) (string, any) {
			return "/assets/restore", object{"assetsActions": []object{{"assetId": w.trashed}}}
		}),
		"PUT /assets/recent":        changing("PUT", func(w changeable) (string, any) { return "/assets/recent", []string{w.asset} }),
		"POST /admin/groups":        changing("POST", func(changeable) (string, any) { return "/admin/groups", object{"name": "n"} }),
		"PUT /admin/groups/{id}":    changing("PUT", func(w changeable) (string, any) { return "/admin/groups/" + w.group, object{"name": "n"} }),
		"DELETE /admin/groups/{id}": changing("DELETE", func(w changeable) (string, any) { return "/admin/groups/" + w.group, nil }),
		"POST /admin/permissions": changing("POST", func(w changeable) (string, any) {
			return "/admin/permissions", object{"groupId": w.group, "categoriesIds": []string{}, "permissionsList": object{}}
		}),
		"PUT /admin/permissions/{id}": changing("PUT", func(w changeable) (string, any) {
			return "/admin/permissions/" + w.grant, object{"groupId": w.group, "categoriesIds": []string{w.category}, "permissionsList": object{}}
		}),
		"DELETE /admin/permissions/{id}": changing("DELETE", func(w changeable) (string, any) { return "/admin/permissions/" + w.grant, nil }),
		"POST /admin/categories": changing("POST", func(changeable) (string, any) {
			return "/admin/categories", object{"name": "n", "extensions": []string{"txt"}}
		}),
		"PUT /admin/categories/{id}": changing("PUT", func(w changeable) (string, any) {
			return "/admin/categories/" + w.category, object{"name": "n", "extensions": []string{"pdf"}}
		}),
		"DELETE /admin/categories/{id}": changing("DELETE", func(w changeable) (string, any) { return "/admin/categories/" + w.category, nil }),
		"PUT /admin/categories/order": changing("PUT", func(w changeable) (string, any) {
			ids := column(w.get("/categories"), "id")
			slices.Reverse(ids)
			return "/admin/categories/order", object{"categoriesIds": ids}
		}),
		"PUT /admin/images/{format}":      changing("PUT", func(changeable) (string, any) { return "/admin/images/gif", object{"quality": 50} }),
		"POST /superadmin/workspaces":     changing("POST", func(changeable) (string, any) { return "/superadmin/workspaces", object{"name": "n"} }),
		"PUT /superadmin/workspaces/{id}": changing("PUT", func(w changeable) (string, any) { return "/superadmin/workspaces/" + w.workspace, object{"name": "n"} }),
		"PUT /admin/workspaces/{id}": changing("PUT", func(w changeable) (string, any) {
			return "/admin/workspaces/" + w.workspace, object{"enableAIProcessing": true}
		}),
		"PUT /superadmin/workspacesTemplate": changing("PUT", func(changeable) (string, any) {
			return "/superadmin/workspacesTemplate", object{"categories": []object{}}
		}),
		"PUT /superadmin/environmentConfig": changing("PUT", func(changeable) (string, any) {
			return "/superadmin/environmentConfig", object{"allowedExtensions": []string{"txt"}, "isAllowedExtensionsEnabled": true}
		}),
		"DELETE /superadmin/workspaces/{id}": changing("DELETE", func(w changeable) (string, any) { return "/superadmin/workspaces/" + w.workspace, nil }),
	}
	for name, r := range guardedRoutes() {
		if all[name] == nil {
			all[name] = func(w changeable) reply { return r.call(w.client, w.guarded) }
		}
	}
	return all
}

func changing(method string, what func(w changeable) (path string, body any)) func(w changeable) reply {
	return func(w changeable) reply {
		path, body := what(w)
		r, err := w.send(method, path, "", strings.NewReader(string(mustJSON(w, body))))
		if err != nil {
			w.Fatal(err)
		}
		return r
	}
}

// changeless lists routes with other methods than GET that change nothing.
func changeless() []string {
	return []string{"POST /assets/namesExist", "POST /assets/restore/validate", "POST /search", "POST /categories/authorizePrivateAccess"}
}

// The test verifies that a fault prevents or permits the change of every route that changes
// something.
func TestFaultsBeforeAndAfterEveryChange(t *testing.T) {
	template := t.TempDir()
	world := makeChangeable(t, template)
	known := changes()
	for _, route := range sandbox.Routes() {
		name := route.Method + " " + route.Pattern
		if route.Method == http.MethodGet || slices.Contains(changeless(), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			call, ok := known[name]
			if !ok {
				t.Fatal("no test says how to call it so that it changes something")
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
				t.Fatal(err)
			}
			o := faulty(t, name+" status=503 once=1", name+" status=503 commit=after once=2")
			o.Dir = dir
			g := *world.guarded
			g.client = start(t, o)
			w := world
			w.guarded = &g
			states := []string{dump(t, dir)}
			for range 2 {
				if r := call(w); r.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("status %d: %s", r.StatusCode, r.body)
				}
				states = append(states, dump(t, dir))
			}
			if states[1] != states[0] {
				t.Error("commit=before: there is a change")
			}
			if states[2] == states[1] {
				t.Error("commit=after: there is no change")
			}
		})
	}
}

// makeChangeable fills a directory.
func makeChangeable(t *testing.T, dir string) changeable {
	t.Helper()
	g := newGuarded(t, start(t, sandbox.Options{Dir: dir}))
	w := changeable{guarded: g}
	w.workspace = g.do(201, "POST", "/superadmin/workspaces", object{"name": "w"}).object(t)["id"].(string)
	w.group = g.do(201, "POST", "/admin/groups", object{"name": "g"}).object(t)["id"].(string)
	w.client.grant(w.group, nil, "category:access")
	for _, grant := range items(g.get("/admin/permissions?groupId=" + w.group)) {
		w.grant = grant["id"].(string)
	}
	if err := g.server.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// dump returns all tables of a sandbox as text.
func dump(t *testing.T, dir string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "sandbox.db"))+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var b strings.Builder
	for _, table := range texts(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
		columns := texts(t, db, "SELECT 'quote(' || name || ')' FROM pragma_table_info('"+table+"')")
		rows := texts(t, db, "SELECT "+strings.Join(columns, " || ',' || ")+" FROM "+table+" ORDER BY 1")
		fmt.Fprintln(&b, table, rows)
	}
	return b.String()
}

func texts(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
