package collect

import (
	"encoding/json"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
)

// TestFormerAssetIsKept verifies that an asset is restored from the state database unchanged.
func TestFormerAssetIsKept(t *testing.T) {
	asset := assets.Asset{Name: "a", Extension: "jpg", CategoryID: "c", FolderID: "f", Size: 3, Tags: []string{"t"},
		LastModifiedAt: time.Date(2026, 5, 1, 12, 0, 0, 123e6, time.UTC),
		Metadata:       assets.Metadata{Description: "d", CustomAttributes: map[string]any{"k": "v", "n": json.Number("1.5")}}}
	for _, a := range []assets.Asset{asset, {}} {
		kept, err := json.Marshal(FormerOf(a))
		if err != nil {
			t.Fatal(err)
		}
		var back FormerAsset
		if err := json.Unmarshal(kept, &back); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(FormerOf(a), back); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
