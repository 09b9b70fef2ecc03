package profile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadProfile(t *testing.T) {
	tests := []struct {
		text string
		want Profile
		err  string // part of the error; empty: none
	}{
		{"version: 1\n", Profile{Version: 1}, ""},
		{"# odd\nversion: 1\nequal_assets: rename\nmax_tag: -1\nlacks: [head, etag]\ntoken_age: 12h\nunknown:\n  rate: not asked\n",
			Profile{Version: 1, EqualAssets: "rename", MaxTag: -1, Lacks: []string{"head", "etag"}, TokenAge: 12 * time.Hour, Unknown: map[string]string{"rate": "not asked"}}, ""},
		{"", Profile{}, "p.yaml: the file is empty"},
		{"version: 2\n", Profile{}, "p.yaml:1:10: version 2 is not supported; only version 1 is\n  1 | version: 2\n               ^"},
		{"rate: 2\n", Profile{}, "p.yaml:1:1: version 0 is not supported"},
		{"version: 1\nequal_asset: rename\n", Profile{}, "p.yaml:2:1: unknown key \"equal_asset\"; did you mean \"equal_assets\"?\n  2 | equal_asset: rename\n      ^"},
		{"version: 1\nequal_assets: ignore\n", Profile{}, "p.yaml:2:15: equal_assets: \"ignore\" is not one of accept, rename, refuse\n"},
		{"version: 1\nlacks: [head, heart]\n", Profile{}, "p.yaml:2:8: lacks: \"heart\" is not one of"},
		{"version: 1\nlacks: head\n", Profile{}, "lacks must be a list"},
		{"version: 1\nrate: -1\n", Profile{}, "p.yaml:2:7: rate is negative"},
		{"version: 1\nlatency: -1s\n", Profile{}, "p.yaml:2:10: latency is negative"},
		{"version: 1\nlatency: soon\n", Profile{}, "p.yaml:2:10: latency must be a duration such as 30ms or 2s\n  2 | latency: soon\n               ^"},
		{"version: 1\nmax_name: many\n", Profile{}, "p.yaml:2:11: max_name must be a whole number"},
		{"version: 1\nmax_file_size: 1.5\n", Profile{}, "max_file_size must be a whole number"},
		{"version: 1\nbearer: perhaps\n", Profile{}, "bearer must be true or false"},
		{"version: 1\nplan: [a]\n", Profile{}, "plan must be text"},
		{"version: 1\nunknown: text\n", Profile{}, "unknown must be \"key: text\" lines"},
		{"version: 1\nrate: 1\nrate: 2\n", Profile{}, "p.yaml:3:1: \"rate\" appears twice, first in line 2"},
		{"version: 1\n---\nversion: 1\n", Profile{}, "p.yaml:3:1: the file has a second document"},
		{"version: 1\n\trate: 1\n", Profile{}, "p.yaml:2:1: a tab cannot indent"},
		{"version: 1\nlacks: !list ", Profile{}, "p.yaml:2:8: a profile must not contain tags, anchors or aliases"},
		{"version: 1\nlacks: [head, !x a]\n", Profile{}, "p.yaml:2:8: a profile must not contain tags"},
		{"version: 1\nunknown:\n  rate: &a b\n", Profile{}, "a profile must not contain tags"},
		{"version: 1\nunknown: {rate: *a}\n", Profile{}, "a profile must not contain tags"},
		{"- version\n", Profile{}, "p.yaml:1:1: \"key: value\" lines are expected here"},
		{"version: 1\n#" + strings.Repeat("x", maxProfile), Profile{}, "too long"},
	}
	for _, tt := range tests {
		got, err := Read("p.yaml", strings.NewReader(tt.text))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%.40q: got %v, want %q", tt.text, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%.40q: %v, -want +got:\n%s", tt.text, err, diff)
		}
	}
}
