package sandbox_test

import (
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
)

func TestBandwidthLimit(t *testing.T) {
	for plan, stops := range map[string]bool{"ckbox.personal": true, "ckbox.pro": false} {
		t.Run(plan, func(t *testing.T) {
			c := start(t, sandbox.Options{Limits: profile.Limits{MaxBandwidthInBytes: 1000, PricingPlan: plan}})
			path := strings.TrimPrefix(c.upload("a.txt", strings.Repeat("x", 600))["url"].(string), c.url)
			c.do(200, "HEAD", path, nil) // sends no body
			c.do(200, "GET", path, nil)
			if c.get("/limits")["isMaxBandwidthExceeded"] != false {
				t.Error("exceeded before the limit was reached")
			}
			c.do(200, "GET", path, nil)
			if c.get("/limits")["isMaxBandwidthExceeded"] != true {
				t.Error("not exceeded")
			}
			status := 200
			if stops {
				status = 402
			}
			c.do(status, "GET", path, nil)
			if r := c.tryUpload("/assets", "b.txt", "x"); (r.StatusCode == 402) != stops {
				t.Errorf("upload: %d", r.StatusCode)
			}
			c.get("/categories") // all other requests succeed
		})
	}
}

// The test verifies that no files are delivered if the storage exceeds the limit of the plan.
func TestStorageOfASmallerPlan(t *testing.T) {
	dir := t.TempDir()
	var path string
	t.Run("larger", func(t *testing.T) {
		c := start(t, sandbox.Options{Dir: dir})
		path = strings.TrimPrefix(c.upload("a.txt", strings.Repeat("x", 600))["url"].(string), c.url)
		c.do(200, "GET", path, nil)
	})
	for plan, status := range map[string]int{"ckbox.personal": 402, "ckbox.pro": 200} {
		t.Run(plan, func(t *testing.T) {
			c := start(t, sandbox.Options{Dir: dir, Limits: profile.Limits{MaxStorageInBytes: 500, PricingPlan: plan}})
			c.do(status, "GET", path, nil)
		})
	}
}
