package sandbox_test

import (
	"strings"
	"testing"

	"assetferry/internal/sandbox"
)

// TestMisreadBodies verifies that bodies without effect and bodies of another form are refused,
// with messages that name the field and contain no Go terms.
func TestMisreadBodies(t *testing.T) {
	c := start(t, sandbox.Options{})
	id := c.category("Files")
	there := `{"target":{"categoryId":"` + id + `"}`
	for _, test := range []struct{ method, path, body, want string }{
		{"POST", "/assets/copy", there + `}`, "The body requires the list assetsActions."},
		{"POST", "/assets/copy", there + `,"assetActions":[{"assetId":"x"}]}`, "The body requires the list assetsActions."},
		{"POST", "/assets/move", there + `,"assetsActions":null}`, "The body requires the list assetsActions."},
		{"POST", "/assets/restore", `{}`, "The body requires the list assetsActions."},
		{"POST", "/assets/restore/validate", `{"assetIds":[]}`, "The body requires the list assetsIds."},
		{"POST", "/assets/analyze", `{"assetsIds":[]}`, "The body requires the list assetIds."},
		{"POST", "/assets/namesExist", there + `}`, "The body requires the list names."},
		{"POST", "/assets/trash", `{"assetsIds":[]}`, "In the body an array is expected, not an object."},
		{"POST", "/assets/delete", `"x"`, "In the body an array is expected, not a string."},
		{"PUT", "/assets/recent", `null`, "The body must be an array, not null."},
		{"POST", "/assets/trash", `["x",7]`, "In the body a string is expected, not a number."},
		{"POST", "/assets/namesExist", there + `,"names":[7]}`, "In the field names a string is expected, not a number."},
		{"POST", "/assets/restore", `[]`, "In the body an object is expected, not an array."},
		{"POST", "/assets/restore", `{"assetsActions":[{"assetId":7}]}`, "In the field assetId a string is expected, not a number."},
		{"POST", "/assets/namesExist", `{"target":{"categoryId":true},"names":[]}`, "In the field categoryId a string is expected, not true or false."},
		{"POST", "/folders", `{"name":{},"categoryId":"` + id + `"}`, "In the field name a string is expected, not an object."},
		{"PUT", "/admin/images/webp", `{"quality":1.5}`, "In the field quality a whole number is expected, not the number 1.5."},
		{"PUT", "/admin/workspaces/" + c.env.ID, `{"enableAIProcessing":"yes"}`, "In the field enableAIProcessing true or false is expected, not a string."},
		{"POST", "/folders", `{"name"`, "The body is not the expected JSON: unexpected end of JSON input."},
	} {
		r, err := c.send(test.method, test.path, "application/json", strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.object(t)["message"]; r.StatusCode != 400 || got != test.want {
			t.Errorf("%s %s %s: got %d, %q, want %q", test.method, test.path, test.body, r.StatusCode, got, test.want)
		}
	}
	empty := []string{}
	c.do(204, "POST", "/assets/restore", object{"assetsActions": empty})
	c.do(202, "POST", "/assets/analyze", object{"assetIds": empty})
	c.do(204, "POST", "/assets/trash", empty)
}
