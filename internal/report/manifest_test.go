package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assetferry/internal/report"
	"assetferry/migrate"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

// TestManifest verifies that a manifest has each object with an asset, in key order, with its facts.
func TestManifest(t *testing.T) {
	w := newWorld(t)
	w.put("b.jpg", "b", "a.txt", "same", "c.txt", "same", "d.jpg", "same as e", "e.jpg", "same as e", "none.xyz", "unsupported")
	r := migrate.DefaultRules()
	r.Unsupported, r.Duplicates = "skip", "one-asset"
	run := w.migrate(r)
	var out bytes.Buffer
	must(t, report.WriteManifest(t.Context(), &out, w.store, run.Pair, nil, "1.0", nil))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if !strings.HasPrefix(lines[0], "# Manifest of assetferry, form 1.") || !strings.HasPrefix(lines[1], "# {") || !strings.Contains(lines[len(lines)-1], `{"objects":5,`) {
		t.Errorf("got\n%s", out.String())
	}
	contents := map[string]string{"c.txt": "same", "a.txt": "same", "b.jpg": "b", "d.jpg": "same as e", "e.jpg": "same as e"}
	var got []report.ManifestEntry
	for n := 2; n < len(lines)-1; n += 2 {
		var e report.ManifestEntry
		must(t, json.Unmarshal([]byte(strings.TrimPrefix(lines[n], "# ")), &e))
		sum := sha256.Sum256([]byte(contents[string(e.Key)]))
		if !strings.Contains(lines[n+1], hex.EncodeToString(sum[:])+" *") {
			t.Errorf("%s: got %s", e.Key, lines[n+1])
		}
		if e.AssetID == "" || e.URL == "" || e.At.IsZero() || e.Run != run.ID {
			t.Errorf("got %+v", e)
		}
		got = append(got, e)
	}
	want := []report.ManifestEntry{
		{Key: "a.txt", Size: 4, State: "uploaded"}, {Key: "b.jpg", Size: 1, State: "uploaded"}, {Key: "c.txt", Size: 4, State: "shared"},
		{Key: "d.jpg", Size: 9, State: "uploaded"}, {Key: "e.jpg", Size: 9, State: "shared"},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(report.ManifestEntry{}, "Version", "AssetID", "URL", "At", "Run"), cmpopts.IgnoreUnexported(report.ManifestEntry{})); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
	if err := report.WriteManifest(t.Context(), full{}, w.store, run.Pair, nil, "1.0", nil); err == nil {
		t.Error("a full disk is no error")
	}
}
