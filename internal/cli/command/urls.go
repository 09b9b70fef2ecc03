package command

import (
	"fmt"

	"assetferry/internal/cli/exit"
	"assetferry/internal/oldurl"
)

// AddressRules are what old addresses are built by: --old-prefix, or else the rules of the
// configuration, or else a slash before each key.
func (f *Factory) AddressRules(prefix string) ([]*oldurl.Template, error) {
	if prefix == "" && len(f.Settings.Addresses) > 0 {
		return f.Settings.Addresses, nil
	}
	p, err := oldurl.ParsePrefix(prefix)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--old-prefix: %w", err), "write it like https://old.example.com/files/ or /files/")
	}
	return []*oldurl.Template{p.Template()}, nil
}
