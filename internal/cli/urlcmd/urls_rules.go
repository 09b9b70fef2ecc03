package urlcmd

import (
	"assetferry/internal/cli/command"
	"assetferry/internal/oldurl"
)

// checkedRules returns templates that build one old URL for each new URL: that of the file,
// and those of the image sizes in the configuration.
func checkedRules(f *command.Factory) []*oldurl.Template {
	rules := []*oldurl.Template{oldurl.Prefix{}.Template()}
	for _, r := range f.Settings.OldURLs {
		if r.HasSizes() {
			rules = append(rules, r)
		}
	}
	return rules
}
