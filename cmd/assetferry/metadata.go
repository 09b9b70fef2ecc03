package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/pflag"

	"assetferry/internal/config"
	"assetferry/internal/metadata"
	"assetferry/internal/ui"
	"assetferry/sources"
)

const metadataHelp = "describe assets with this `file`: a table of CSV or JSON Lines; assetferry help metadata tells the form"

// addDescribingFlags adds what describes assets.
func addDescribingFlags(f *pflag.FlagSet) {
	setting(f, "metadata", metadataHelp)
	setting(f, "precedence", "the `order` in which origins overrule each other where they say different things of an object")
	setting(f, "ignore-metadata", "`origins` that are not looked at, or all; without sidecar, files beside objects are objects themselves")
	setting(f, "gps", "what becomes of `positions` on earth")
	setting(f, "on-limit", "`policy` for texts that are longer than the service takes them: cut at the end of a word, skip the field, or fail")
}

// openMetadata opens the table that describes objects, nil if there is none. Its mistakes
// are told before anybody is asked for anything.
func (a *app) openMetadata() (*metadata.Table, error) {
	if a.settings.Metadata == "" {
		return nil, nil
	}
	t, err := metadata.OpenTable(a.settings.Metadata, a.settings.NewMapping().Word)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage(err, "check the path given with --metadata")
	} else if err != nil {
		return nil, usage(err, hintOf(err))
	}
	a.closeLater(t.Close)
	return t, nil
}

// trusts has nothing looked for in contents where their source tells all there is to tell,
// unless somebody says where to look: what people or rules left out would be found again.
func (a *app) trusts(s sources.Source) {
	if s.Traits().Complete && a.settings.Origin("precedence") == config.FromDefault && a.settings.Origin("ignore_metadata") == config.FromDefault {
		a.settings.Ignored = []metadata.Origin{metadata.FromXMP, metadata.FromIPTC, metadata.FromEXIF}
	}
}

// introduceMetadata says what describes assets, if anything does.
func (a *app) introduceMetadata(t *metadata.Table) {
	if t != nil {
		a.out.Notef("Metadata     %s, %s", ui.Sanitize(a.settings.Metadata), count(int64(t.Rows()), "row"))
	}
}
