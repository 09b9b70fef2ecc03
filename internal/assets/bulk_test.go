package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/retry"
)

func numberedIDs(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("id-%d", i))
	}
	return ids
}

// bulkCalls returns all operations on several assets.
func bulkCalls() map[string]func(context.Context, *Client, []string) error {
	transfers := func(ids []string) (all []Transfer) {
		for _, id := range ids {
			all = append(all, Transfer{AssetID: id})
		}
		return all
	}
	return map[string]func(context.Context, *Client, []string) error{
		"trash":  func(ctx context.Context, c *Client, ids []string) error { return c.Trash(ctx, ids...) },
		"delete": func(ctx context.Context, c *Client, ids []string) error { return c.Delete(ctx, ids...) },
		"copy": func(ctx context.Context, c *Client, ids []string) error {
			return c.Copy(ctx, Target{CategoryID: "c"}, transfers(ids)...)
		},
		"move": func(ctx context.Context, c *Client, ids []string) error {
			return c.Move(ctx, Target{CategoryID: "c"}, transfers(ids)...)
		},
		"restore": func(ctx context.Context, c *Client, ids []string) error {
			var all []Restoration
			for _, id := range ids {
				all = append(all, Restoration{AssetID: id})
			}
			return c.Restore(ctx, all...)
		},
	}
}

// asked returns the IDs in the body of a bulk request.
func asked(t *testing.T, r *http.Request) (ids []string) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if json.Unmarshal(body, &ids) == nil {
		return ids
	}
	var actions struct {
		AssetsActions []struct{ AssetID string }
	}
	if err := json.Unmarshal(body, &actions); err != nil {
		t.Error(err)
	}
	for _, a := range actions.AssetsActions {
		ids = append(ids, a.AssetID)
	}
	return ids
}

func TestBulkInBatches(t *testing.T) {
	for name, call := range bulkCalls() {
		t.Run(name, func(t *testing.T) {
			var got [][]string
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				ids := asked(t, r)
				got = append(got, ids)
				if ids[0] == "id-100" {
					w.WriteHeader(http.StatusMultiStatus)
					fmt.Fprint(w, `{"id-100":404,"id-101":403}`)
					return
				}
				w.WriteHeader(http.StatusNoContent)
			})
			ids := numberedIDs(250)
			err := call(t.Context(), c, ids)
			bulk, ok := errors.AsType[*BulkError](err)
			if !ok || !cmp.Equal(bulk, &BulkError{Op: name, Failed: map[string]int{"id-100": 404, "id-101": 403}}) {
				t.Errorf("got %v", err)
			}
			if got, want := err.Error(), name+": failed for 2 assets: id-100 (404), id-101 (403)"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if want := [][]string{ids[:100], ids[100:200], ids[200:]}; !cmp.Equal(got, want) {
				t.Errorf("batches: got %v", got)
			}
			if err := call(t.Context(), c, nil); err != nil || len(got) != 3 {
				t.Errorf("nothing to do: got %v", err)
			}
		})
	}
}

// The test verifies that after an error, the assets of the current batch and of later ones are
// open.
func TestBulkEnded(t *testing.T) {
	for name, call := range bulkCalls() {
		t.Run(name, func(t *testing.T) {
			c := serve(t, answers(`207 {"id-7":404}`, "403").ServeHTTP)
			ids := numberedIDs(250)
			err := call(t.Context(), c, ids)
			bulk, ok := errors.AsType[*BulkError](err)
			if !ok || !cmp.Equal(bulk.Failed, map[string]int{"id-7": 404}) || !cmp.Equal(bulk.Open, ids[100:]) {
				t.Fatalf("got %+v", err)
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Status != 403 || !IsAuth(err) {
				t.Errorf("got %+v", err)
			}
			for _, want := range []string{"id-7 (404)", "not completed for 150 assets", "403 Forbidden"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// The test verifies that the refusal of one asset is an error like that of a request for it alone.
func TestRefusal(t *testing.T) {
	bulk := &BulkError{Op: "trash", Failed: map[string]int{"gone": 404, "forbidden": 403, "busy": 503}}
	for id, want := range map[string]retry.Class{"gone": retry.Permanent, "forbidden": retry.Fatal, "busy": retry.Throttled} {
		err := bulk.Refusal(id)
		if class, _ := retry.Classify(err); class != want || errors.Is(err, fs.ErrNotExist) != (id == "gone") || !strings.Contains(err.Error(), "trash "+id) {
			t.Errorf("%s: %v is %s, want %s", id, err, class, want)
		}
	}
	if err := bulk.Refusal("another"); err != nil {
		t.Errorf("refused without a reason: %v", err)
	}
}

func TestBulkAnswers(t *testing.T) {
	for name, call := range bulkCalls() {
		for answer, ok := range map[string]bool{
			"204": true, "200": true, "200 {}": true, `200 {"statusCode":500}`: false, `200 {"StatusCode":500}`: false,
			"207": false, "207 {}": false, `207 {"a":"x"}`: false, "404": false,
		} {
			err := call(t.Context(), serve(t, answers(answer).ServeHTTP), []string{"a"})
			if (err == nil) != ok {
				t.Errorf("%s: %s: got %v", name, answer, err)
			}
		}
	}
}

func TestTransfersNeedATarget(t *testing.T) {
	c := newClient(t, Options{BaseURL: "https://localhost"})
	_, names := c.NamesTaken(t.Context(), Target{}, "a")
	for name, err := range map[string]error{
		"copy": c.Copy(t.Context(), Target{}, Transfer{AssetID: "a"}), "move": c.Move(t.Context(), Target{}), "names": names,
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNamesTakenAnswers(t *testing.T) {
	for answer, ok := range map[string]bool{"200 []": true, `200 ["a"]`: true, "200 null": false, "200 {}": false, "204": false} {
		_, err := serve(t, answers(answer).ServeHTTP).NamesTaken(t.Context(), Target{CategoryID: "c"}, "a")
		if (err == nil) != ok {
			t.Errorf("%s: got %v", answer, err)
		}
	}
	a := answers(`200 ["id-1"]`, `200 ["id-100","id-101"]`)
	got, err := serve(t, a.ServeHTTP).NamesTaken(t.Context(), Target{CategoryID: "c"}, numberedIDs(150)...)
	if err != nil || !cmp.Equal(got, []string{"id-1", "id-100", "id-101"}) || a.count() != 2 {
		t.Errorf("got %v, %v", got, err)
	}
}

// The test verifies that a read-only client may look up names, because that changes nothing.
func TestNamesTakenReadOnly(t *testing.T) {
	srv := httptest.NewServer(answers(`200 ["a.jpg"]`))
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL, ReadOnly: true})
	if got, err := c.NamesTaken(t.Context(), Target{CategoryID: "c"}, "a.jpg"); err != nil || !cmp.Equal(got, []string{"a.jpg"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// The test verifies that a read-only client may search.
func TestSearchReadOnly(t *testing.T) {
	srv := httptest.NewServer(answers(`200 {"items":[{"id":"x"}],"total":1}`))
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL, ReadOnly: true})
	for asset, err := range c.Search(t.Context(), Search{Phrase: "p"}) {
		if err != nil || asset.ID != "x" {
			t.Errorf("got %+v, %v", asset, err)
		}
	}
}

func TestValidateRestoreAnswers(t *testing.T) {
	const one = `200 {"assets":{"a":{"sourceExists":true,"hasNameConflict":true,"isExtensionAllowed":false}}}`
	a := answers(one, `200 {"assets":{"b":{"sourceExists":false,"hasNameConflict":false,"isExtensionAllowed":true}}}`)
	got, err := serve(t, a.ServeHTTP).ValidateRestore(t.Context(), numberedIDs(101)...)
	want := map[string]Restorability{"a": {true, true, false}, "b": {false, false, true}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, answer := range []string{"200 {}", "200 []", `200 {"assets":null}`} {
		if _, err := serve(t, answers(answer).ServeHTTP).ValidateRestore(t.Context(), "a"); err == nil {
			t.Errorf("%s: no error", answer)
		}
	}
}

// The test verifies that the first asset counts as used last, also across several requests.
func TestMarkUsedOrder(t *testing.T) {
	var got [][]string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, asked(t, r))
		w.WriteHeader(http.StatusNoContent)
	})
	ids := numberedIDs(150)
	if err := c.MarkUsed(t.Context(), ids...); err != nil || !cmp.Equal(got, [][]string{ids[100:], ids[:100]}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// The test verifies that only idempotent calls are repeated after an answer that does not show
// whether the request was executed.
func TestRepeats(t *testing.T) {
	replacement := Replacement{Filename: "a.jpg", Size: 3, Open: content("abc")}
	to, one := Target{CategoryID: "c"}, Transfer{AssetID: "a"}
	renamed := Transfer{AssetID: "a", IfTaken: RenameIt}
	for name, test := range map[string]struct {
		call    func(context.Context, *Client) error
		repeats bool
	}{
		"trash":            {func(ctx context.Context, c *Client) error { return c.Trash(ctx, "a") }, true},
		"delete":           {func(ctx context.Context, c *Client) error { return c.Delete(ctx, "a") }, true},
		"restore":          {func(ctx context.Context, c *Client) error { return c.Restore(ctx, Restoration{AssetID: "a"}) }, true},
		"move":             {func(ctx context.Context, c *Client) error { return c.Move(ctx, to, one) }, true},
		"move and rename":  {func(ctx context.Context, c *Client) error { return c.Move(ctx, to, one, renamed) }, false},
		"copy":             {func(ctx context.Context, c *Client) error { return c.Copy(ctx, to, one) }, false},
		"replace":          {func(ctx context.Context, c *Client) error { _, err := c.Replace(ctx, "a", replacement); return err }, false},
		"use a revision":   {func(ctx context.Context, c *Client) error { return c.UseRevision(ctx, "a", "r") }, true},
		"delete revision":  {func(ctx context.Context, c *Client) error { return c.DeleteRevision(ctx, "a", "r") }, true},
		"mark used":        {func(ctx context.Context, c *Client) error { return c.MarkUsed(ctx, "a") }, true},
		"names taken":      {func(ctx context.Context, c *Client) error { _, err := c.NamesTaken(ctx, to, "n"); return err }, true},
		"validate restore": {func(ctx context.Context, c *Client) error { _, err := c.ValidateRestore(ctx, "a"); return err }, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := answers("502", `200 ["n"]`)
			if name == "validate restore" {
				a = answers("502", `200 {"assets":{}}`)
			}
			err := test.call(t.Context(), serve(t, a.ServeHTTP))
			if want := map[bool]int{true: 2, false: 1}[test.repeats]; a.count() != want {
				t.Errorf("sent %d times, want %d", a.count(), want)
			}
			if test.repeats != (err == nil) || test.repeats == errors.Is(err, ErrUnconfirmed) {
				t.Errorf("got %v", err)
			}
		})
	}
}
