package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
)

// explainMapping tells what rules make of one object. It needs the source, and no
// destination.
func (a *app) explainMapping(ctx context.Context, cmd *cobra.Command, source, key string) error {
	for _, other := range []string{"output", "exit-code", "probe"} {
		if err := together(cmd, "explain-mapping", other, "--explain-mapping is about one object, and makes no plan"); err != nil {
			return err
		}
	}
	from, _, err := a.openSource(ctx, source, nil)
	if err != nil {
		return err
	}
	if from, err = recognise(ctx, from); err != nil {
		return err
	}
	a.trusts(from)
	deps := migrate.Deps{Source: from, Mapping: a.settings.NewMapping(), Log: a.out.Log()}
	table, err := a.openMetadata()
	if err != nil {
		return err
	}
	if table != nil {
		deps.Describer = table
	}
	e, err := deps.ExplainMapping(ctx, sources.Key(key))
	if err != nil {
		return err
	}
	for line := range strings.Lines(e.Text(a.out.Verbose())) {
		a.out.Printf("%s", ui.Sanitize(strings.TrimSuffix(line, "\n")))
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
	a.out.Event("mapping", line)
	return nil
}
