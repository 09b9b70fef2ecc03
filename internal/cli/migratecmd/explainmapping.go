package migratecmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/event"
	"assetferry/internal/metadata"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/sources"
)

// explainMapping shows the effect of the rules on one object. It needs no destination.
func explainMapping(ctx context.Context, f *command.Factory, cmd *cobra.Command, source, key string) error {
	for _, other := range []string{"output", "exit-code", "probe"} {
		if err := cmdline.Together(cmd, "explain-mapping", other, "--explain-mapping shows one object and makes no plan"); err != nil {
			return err
		}
	}
	from, _, err := f.OpenSource(ctx, source, nil)
	if err != nil {
		return err
	}
	if from, err = command.Recognise(ctx, from); err != nil {
		return err
	}
	IgnoreEmbedded(f, from.Traits().Complete)
	deps := migrate.Deps{Source: from, Mapping: f.Settings.NewMapping(), Log: f.Out.Log()}
	tables, err := openTables(f)
	if err != nil {
		return err
	}
	if tables != (metadata.Tables{}) {
		deps.Describer = tables
	}
	e, err := collect.New(deps).ExplainMapping(ctx, sources.Key(key))
	if err != nil {
		return err
	}
	for line := range strings.Lines(e.Text(f.Out.Verbose())) {
		f.Out.Printf("%s", ui.Sanitize(strings.TrimSuffix(line, "\n")))
	}
	line := event.Mapping{
		Key: e.Key, Skip: e.Goes.Skip, Category: e.Goes.Category, Folder: e.Goes.Folder, Name: e.Goes.Name, Private: e.Goes.Private,
		Description: e.Said.Description, Tags: e.Said.Tags, Attributes: e.Said.Attributes, Unmapped: e.Unmapped,
	}
	for _, r := range e.Rules {
		if r.Is {
			line.Rules = append(line.Rules, r.Rule)
		}
	}
	for _, n := range e.Notes {
		line.Notes = append(line.Notes, n.String())
	}
	if e.Err != nil {
		line.Error = e.Err.Error()
	}
	f.Out.Event("mapping", line)
	return nil
}
