package sandbox_test

import (
	"fmt"
	"slices"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
)

// named returns the same client for another user.
func (c *client) named(user string) *client {
	claims := sandboxtest.Claims(c.env, "user")
	claims["sub"] = user
	other := *c
	other.token = sandboxtest.Sign(c.env.AccessKey, claims)
	return &other
}

func TestRecent(t *testing.T) {
	c := start(t, sandbox.Options{})
	ws := c.do(201, "POST", "/superadmin/workspaces", object{"name": "w"}).object(t)["id"].(string)
	ada, bob := c.named("ada"), c.named("bob")
	var ids []string
	for i := range 4 {
		ids = append(ids, ada.upload(fmt.Sprint(i, ".txt"), "x")["id"].(string))
	}
	check := func(c *client, want ...string) {
		t.Helper()
		list := c.get("/assets/recent")
		if got := column(list, "id"); !slices.Equal(got, want) || list["totalCount"] != float64(len(want)) {
			t.Errorf("got %v of %v, want %v", got, list["totalCount"], want)
		}
	}
	check(ada, ids[3], ids[2], ids[1], ids[0])
	check(bob)
	ada.do(204, "PUT", "/assets/recent", []string{ids[1], ids[0], "none"})
	check(ada, ids[1], ids[0], ids[3], ids[2])
	bob.do(204, "PUT", "/assets/recent", []string{ids[2]})
	check(bob, ids[2])
	ada.do(204, "POST", "/assets/trash", []string{ids[0]})
	check(ada, ids[1], ids[3], ids[2])
	if got := column(ada.get("/assets/recent?limit=1&offset=1"), "id"); !slices.Equal(got, ids[3:]) {
		t.Errorf("a page: %v", got)
	}
	if got := column(c.get("/assets/recent?workspaceId="+ws), "id"); len(got) != 0 {
		t.Errorf("in another workspace: %v", got)
	}
	c.do(204, "PUT", "/assets/recent?workspaceId="+ws, ids) // none of these exists
	if got := column(c.get("/assets/recent?workspaceId="+ws), "id"); len(got) != 0 {
		t.Errorf("in another workspace: %v", got)
	}
	c.do(400, "PUT", "/assets/recent", object{})
	ada.do(204, "POST", "/assets/delete", ids)
	check(ada)
}

func TestOldUsesAreForgotten(t *testing.T) {
	c := start(t, sandbox.Options{})
	first := c.upload("first.txt", "x")["id"]
	for i := range 200 {
		c.upload(fmt.Sprint(i, ".txt"), "x")
	}
	list := c.get("/assets/recent?limit=500")
	if list["totalCount"] != 200.0 || slices.Contains(column(list, "id"), first.(string)) {
		t.Errorf("%v are remembered", list["totalCount"])
	}
}
