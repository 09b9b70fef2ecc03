package sandbox_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
)

// together sends requests in parallel and returns their statuses.
func (c *client) together(requests ...func() (reply, error)) []int {
	c.Helper()
	statuses := make([]int, len(requests))
	var group sync.WaitGroup
	for i, request := range requests {
		group.Go(func() {
			r, err := request()
			if err != nil {
				c.Error(err)
				return
			}
			statuses[i] = r.StatusCode
		})
	}
	group.Wait()
	return statuses
}

func (c *client) asking(method, path string, body any) func() (reply, error) {
	return func() (reply, error) {
		return c.send(method, path, "application/json", strings.NewReader(string(mustJSON(c, body))))
	}
}

// The test verifies that objects that are deleted during changes stay deleted, and that no response
// reports an internal error.
func TestChangesAgainstDeletion(t *testing.T) {
	c := start(t, sandbox.Options{})
	for round := range 20 {
		ws := c.do(201, "POST", "/superadmin/workspaces", object{"name": "w"}).object(t)["id"].(string)
		category := c.do(201, "POST", "/admin/categories", object{"name": "n", "extensions": []string{"txt"}}).object(t)["id"].(string)
		folder := c.do(201, "POST", "/folders", object{"name": "f", "categoryId": category}).object(t)["id"].(string)
		group := c.do(201, "POST", "/admin/groups", object{"name": "g"}).object(t)["id"].(string)
		got := c.together(
			c.asking("PUT", "/superadmin/workspaces/"+ws, object{"name": "v"}),
			c.asking("PUT", "/admin/workspaces/"+ws, object{"enableAIProcessing": true}),
			c.asking("DELETE", "/superadmin/workspaces/"+ws, nil),
			c.asking("POST", "/admin/categories?workspaceId="+ws, object{"name": "n", "extensions": []string{"txt"}}),
			c.asking("POST", "/admin/groups?workspaceId="+ws, object{"name": "n"}),
			c.asking("PUT", "/admin/categories/"+category, object{"name": "n", "extensions": []string{"md"}}),
			c.asking("DELETE", "/admin/categories/"+category, nil),
			c.asking("PUT", "/folders/"+folder, object{"name": "n"}),
			c.asking("DELETE", "/folders/"+folder, nil),
			c.asking("PUT", "/admin/groups/"+group, object{"name": "n"}),
			c.asking("DELETE", "/admin/groups/"+group, nil),
		)
		for i, status := range got {
			// 403: the token has no access to the deleted workspace
			if !slices.Contains([]int{200, 201, 204, 403, 404}, status) {
				t.Errorf("round %d: request %d: %d", round, i, status)
			}
		}
		if ids := column(c.get("/workspaces"), "id"); slices.Contains(ids, ws) {
			t.Fatalf("round %d: the workspace is back: %v", round, ids)
		}
		c.do(404, "DELETE", "/superadmin/workspaces/"+ws, nil)
	}
}

// The test verifies that two parallel changes of different properties of a workspace are both
// stored.
func TestChangesOfAWorkspaceAtOnce(t *testing.T) {
	c := start(t, sandbox.Options{})
	for round := range 20 {
		name, on := fmt.Sprint("w", round), round%2 == 0
		path := "/admin/workspaces/" + c.env.ID
		if got := c.together(c.asking("PUT", path, object{"name": name}), c.asking("PUT", path, object{"enableAIProcessing": on})); !slices.Equal(got, []int{200, 200}) {
			t.Fatal(got)
		}
		w := items(c.get("/workspaces"))[0]
		if w["name"] != name || w["enableAIProcessing"] != on {
			t.Fatalf("round %d: %v", round, w)
		}
	}
}

// The test verifies that a name that is changed in two attempts, because the first was rolled back,
// is reported once.
func TestUploadsOfOneNameAtOnce(t *testing.T) {
	c := start(t, sandbox.Options{Profile: profile.Profile{EqualAssets: "rename"}})
	category := c.category("Documents")
	var requests []func() (reply, error)
	for range 24 {
		content, contentType := form(t, "a.txt", []byte("x"), "categoryId", category)
		requests = append(requests,
			func() (reply, error) {
				return c.send("POST", "/assets", contentType, strings.NewReader(string(content)))
			},
			c.asking("PUT", "/admin/categories/order", object{"categoriesIds": []string{}})) // it is refused, and rolls back the others
	}
	for i, status := range c.together(requests...) {
		if want := []int{http.StatusCreated, http.StatusBadRequest}[i%2]; status != want {
			t.Errorf("request %d: %d", i, status)
		}
	}
	for _, name := range column(c.get("/assets?categoryId="+category), "name") {
		if strings.Count(name, "(") > 1 {
			t.Errorf("an asset is called %q", name)
		}
	}
}
