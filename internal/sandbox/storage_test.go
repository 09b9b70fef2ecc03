package sandbox

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sandbox/tokens"
)

// The test verifies that the counted bytes are the stored bytes after random changes of assets and
// revisions.
func TestStorageIsCountedRight(t *testing.T) {
	s, err := New(Options{Environments: []tokens.Environment{{ID: "env", AccessKey: "key"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	random := rand.New(rand.NewPCG(1, 2))
	workspace := func(n int) string { return fmt.Sprint("ws", n%3) }
	steps := []struct {
		name string
		do   func(ses *store.Session, n int) error
	}{
		{"insert", func(ses *store.Session, n int) error { return insertSized(ses, workspace(n), n) }},
		{"insert", func(ses *store.Session, n int) error { return insertSized(ses, workspace(n), n) }},
		{"revise", func(ses *store.Session, n int) error {
			return onSome(ses, func(a records.Asset) error {
				return s.exchange(ses, &a, records.Stored{Revision: standin.NewUUID(), Number: n, Content: naming.NewContentID(), Size: int64(n), Picture: records.Picture{State: "no"}, Made: s.now()})
			})
		}},
		{"delete revision", func(ses *store.Session, n int) error {
			_, err := ses.Exec("DELETE FROM revisions WHERE seq IN (SELECT seq FROM revisions ORDER BY size LIMIT 1)")
			return err
		}},
		{"move", func(ses *store.Session, n int) error {
			return onSome(ses, func(a records.Asset) error { a.Name += "x"; return placeAsset(ses, a) })
		}},
		{"delete", func(ses *store.Session, n int) error {
			return onSome(ses, func(a records.Asset) error { return ses.Change("DELETE FROM assets WHERE id = ?", a.ID) })
		}},
		{"drop extension", func(ses *store.Session, n int) error {
			if n%10 > 0 {
				return nil
			}
			_, err := ses.Exec("DELETE FROM extensions WHERE folded = 'txt' AND category_id IN (SELECT id FROM categories WHERE workspace_id = ?)", workspace(n))
			return err
		}},
		{"delete workspace", func(ses *store.Session, n int) error {
			if n%20 > 0 {
				return nil
			}
			_, err := ses.Exec("DELETE FROM workspaces WHERE id = ?", workspace(n))
			return err
		}},
	}
	for n := 1; n <= 600; n++ {
		if _, ok := s.workspaces.Get(workspace(n)); !ok {
			if err := s.addWorkspace(workspaceFor(workspace(n), s.now())); err != nil {
				t.Fatal(err)
			}
		}
		step := steps[random.IntN(len(steps))]
		if err := s.store.Write(func(ses *store.Session) error { return step.do(ses, n) }); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if step.name == "delete workspace" && n%20 == 0 {
			s.workspaces.Remove(workspace(n))
		}
		var used, there int64
		err := s.store.Read(func(ses *store.Session) (err error) {
			if used, err = usedStorage(ses, "env"); err != nil {
				return err
			}
			return ses.Row("SELECT (SELECT coalesce(sum(size), 0) FROM assets) + (SELECT coalesce(sum(size), 0) FROM revisions)", nil, &there)
		})
		if err != nil || used != there {
			t.Fatalf("after %s: %d bytes are counted, %d are there: %v", step.name, used, there, err)
		}
	}
}

func workspaceFor(id string, at time.Time) records.Workspace {
	return records.Workspace{ID: id, Environment: "env", Name: id, Created: at}
}

// insertSized creates an asset in a category that allows it.
func insertSized(ses *store.Session, workspace string, n int) error {
	category, err := records.CategoryFor(ses, workspace, "txt")
	if err != nil {
		return store.IgnoreNotThere(err)
	}
	a := records.Asset{ID: naming.NewAssetID(), Workspace: workspace, Category: category, Name: fmt.Sprint(n), Extension: "txt", Tags: []byte("[]"), Attributes: []byte("{}")}
	a.Stored = records.Stored{Revision: standin.NewUUID(), Number: 1, Content: naming.NewContentID(), Size: int64(n), Picture: records.Picture{State: "no"}}
	return records.InsertAsset(ses, a)
}

// onSome calls a function with an asset, if there is one.
func onSome(ses *store.Session, do func(records.Asset) error) error {
	all, err := records.ReadAssets(ses, " FROM assets ORDER BY content LIMIT 1", nil)
	if err != nil || len(all) == 0 {
		return err
	}
	return do(all[0])
}
