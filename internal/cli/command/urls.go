package command

import (
	"fmt"

	"assetferry/internal/cli/exit"
	"assetferry/internal/oldurl"
)

// OldURLTemplates returns the templates of old URLs: --old-prefix, or else those of the configuration,
// or else a slash before each key.
func (f *Factory) OldURLTemplates(prefix string) ([]*oldurl.Template, error) {
	if prefix == "" && len(f.Settings.OldURLs) > 0 {
		return f.Settings.OldURLs, nil
	}
	p, err := oldurl.ParsePrefix(prefix)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--old-prefix: %w", err), "write it like https://old.example.com/files/ or /files/")
	}
	return []*oldurl.Template{p.Template()}, nil
}
