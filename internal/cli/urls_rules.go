package cli

import (
	"fmt"

	"assetferry/internal/oldurl"
)

// addressRules are what old addresses are built by: --old-prefix, or else the rules of the
// configuration, or else a slash before each key.
func (a *app) addressRules(prefix string) ([]*oldurl.Template, error) {
	if prefix == "" && len(a.settings.Addresses) > 0 {
		return a.settings.Addresses, nil
	}
	p, err := oldurl.ParsePrefix(prefix)
	if err != nil {
		return nil, usage(fmt.Errorf("--old-prefix: %w", err), "write it like https://old.example.com/files/ or /files/")
	}
	return []*oldurl.Template{p.Template()}, nil
}

// checkedRules are rules by which each new address stands for one old address: that of the
// file, and those of images in the sizes that there are rules for.
func (a *app) checkedRules() []*oldurl.Template {
	rules := []*oldurl.Template{oldurl.Prefix{}.Template()}
	for _, r := range a.settings.Addresses {
		if r.HasSizes() {
			rules = append(rules, r)
		}
	}
	return rules
}
