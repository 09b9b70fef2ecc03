package urlcmd

import (
	"assetferry/internal/cli/command"
	"assetferry/internal/oldurl"
)

// checkedRules are rules by which each new address stands for one old address: that of the
// file, and those of images in the sizes that there are rules for.
func checkedRules(f *command.Factory) []*oldurl.Template {
	rules := []*oldurl.Template{oldurl.Prefix{}.Template()}
	for _, r := range f.Settings.Addresses {
		if r.HasSizes() {
			rules = append(rules, r)
		}
	}
	return rules
}
