package sandbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
)

func TestRestoreActions(t *testing.T) {
	for action, test := range map[string]struct {
		status int // 0: success
		names  string
	}{
		"": {409, "a"}, "rename": {0, "a a (1)"}, "replace": {0, "a"},
	} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q elsewhere %v", action, elsewhere), func(t *testing.T) {
				c := start(t, sandbox.Options{})
				documents := c.category("Documents")
				folder := c.folder("f", "categoryId", documents)
				trashed := c.upload("a.txt", "x", "categoryId", documents)["id"].(string)
				c.do(204, "POST", "/assets/trash", []string{trashed})
				list, field, id := "/assets?categoryId="+documents, "categoryId", documents
				one := object{"assetId": trashed}
				if action != "" {
					one["action"] = action
				}
				if elsewhere {
					list, field, id = "/assets?folderId="+folder, "folderId", folder
					one["target"] = object{"folderId": folder}
				}
				other := c.upload("a.TXT", "y", field, id)["id"].(string)
				body := object{"assetsActions": []object{one}}
				if test.status == 0 {
					c.do(204, "POST", "/assets/restore", body)
				} else if failed := c.do(207, "POST", "/assets/restore", body).object(t); failed[trashed] != float64(test.status) {
					t.Errorf("failed: %v", failed)
				}
				if got := strings.Join(column(c.get(list+"&sortBy=name"), "name"), " "); got != test.names {
					t.Errorf("names %s, want %s", got, test.names)
				}
				var want []string
				switch action {
				case "":
					want = []string{trashed}
				case "replace":
					want = []string{other}
				}
				if got := column(c.get("/assets/trash"), "id"); !slices.Equal(got, append([]string{}, want...)) {
					t.Errorf("in the trash: %v, want %v", got, want)
				}
			})
		}
	}
}

func TestRestoreRefusals(t *testing.T) {
	c := start(t, sandbox.Options{})
	id := c.upload("a.txt", "x")["id"].(string)
	c.do(204, "POST", "/assets/trash", []string{id})
	for want, one := range map[int][]object{
		400: {{"assetId": id, "action": "merge"}, {"assetId": id, "target": object{}}},
		404: {{"assetId": id, "target": object{"folderId": "none"}}},
	} {
		for _, o := range one {
			c.do(want, "POST", "/assets/restore", object{"assetsActions": []object{o}})
		}
	}
	c.do(400, "POST", "/assets/restore", []string{})
	if got := len(items(c.get("/assets/trash"))); got != 1 {
		t.Errorf("%d in the trash", got)
	}
}

func TestValidateRestore(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents := c.category("Documents")
	folder := c.folder("f", "categoryId", documents)
	free := c.upload("free.txt", "x", "categoryId", documents)["id"].(string)
	taken := c.upload("taken.txt", "x", "categoryId", documents)["id"].(string)
	homeless := c.upload("homeless.txt", "x", "folderId", folder)["id"].(string)
	there := c.upload("there.txt", "x", "folderId", folder)["id"].(string)
	c.do(204, "POST", "/assets/trash", []string{free, taken, homeless})
	c.upload("taken.txt", "y", "categoryId", documents)
	c.do(204, "DELETE", "/folders/"+folder, nil)
	got := c.do(200, "POST", "/assets/restore/validate", object{"assetsIds": []string{free, taken, homeless, there, "none"}}).object(t)
	verdict := func(source, conflict bool) object {
		return object{"sourceExists": source, "hasNameConflict": conflict, "isExtensionAllowed": true}
	}
	want := object{"assets": object{free: verdict(true, false), taken: verdict(true, true), homeless: verdict(false, false)}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}

	// An asset whose folder was deleted is restored to where the contents of the folder moved.
	c.do(204, "POST", "/assets/restore", object{"assetsActions": []object{{"assetId": homeless}}})
	if a := c.get("/assets/" + homeless); a["categoryId"] != documents || a["folderId"] != nil {
		t.Errorf("restored to %v", a)
	}
	c.do(204, "POST", "/assets/trash", []string{homeless})
	got = c.do(200, "POST", "/assets/restore/validate", object{"assetsIds": []string{homeless}}).object(t)
	if fmt.Sprint(got) != fmt.Sprint(object{"assets": object{homeless: verdict(true, false)}}) {
		t.Errorf("trashed once more: %v", got)
	}
	c.do(400, "POST", "/assets/restore/validate", []string{})
}

// The test verifies that a deleted folder moves its contents, including the trash, to its parent.
func TestDeletedFolderKeepsCopiesAndRevisions(t *testing.T) {
	dir := t.TempDir()
	c := start(t, sandbox.Options{Dir: dir})
	documents := c.category("Documents")
	outer := c.folder("outer", "categoryId", documents)
	inner := c.folder("inner", "parentId", outer)
	a := c.upload("a.txt", "one", "folderId", inner)
	id := a["id"].(string)
	c.replace(id, "a.txt", "two")
	if got := c.transfer("copy", id, "", object{"categoryId": documents}); got != 0 {
		t.Fatalf("status %d", got)
	}
	c.do(204, "DELETE", "/folders/"+inner, nil)
	if got := c.get("/assets/" + id); got["folderId"] != outer {
		t.Errorf("moved to %v", got)
	}
	if got := items(c.get("/assets/" + id + "/revisions")); len(got) != 2 {
		t.Errorf("revisions %v", got)
	}
	checkNoLeftovers(t, dir, 2)
}
