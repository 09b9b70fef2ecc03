// Package permissionscmd contains assetferry permissions: the commands that give groups of the
// service the permissions of a table or of another workspace.
package permissionscmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/approval"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/permissions"
	"assetferry/internal/tabular"
	"assetferry/internal/ui"
	"assetferry/sources/ckbox"
)

// NewCommand returns assetferry permissions.
func NewCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "permissions",
		Short: "Give groups the permissions of a table or of another workspace",
		Long: `These commands compare the groups and permissions of the destination with a
table, and add what is missing. They never remove or change a group or a
permission. They need an admin token.

FROM is a table (.csv, .tsv, .jsonl or .ndjson), or the URL of another workspace
such as ckbox://production. For the columns and an example, see assetferry help
permissions.
`,
	}
	c.AddCommand(newPlanCommand(f), newApplyCommand(f))
	return c
}

func newPlanCommand(f *command.Factory) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "plan FROM",
		Short: "Show which groups and permissions are missing",
		Long: `Plan shows what permissions apply would add. Plan changes nothing. --output also
writes the table of FROM to a CSV file, which apply accepts: with another
workspace as FROM, you can edit and approve its permissions before you apply
them.
`,
		Example: `  assetferry permissions plan rights.csv
  assetferry permissions plan ckbox://production --to sandbox --output all.csv`,
		Args: cmdline.One("FROM"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error { return plan(ctx, f, args[0], output) }),
	}
	c.Flags().StringVar(&output, "output", "", "also write the table to this CSV `file`")
	return c
}

func newApplyCommand(f *command.Factory) *cobra.Command {
	var ch command.Change
	var hash string
	c := &cobra.Command{
		Use:   "apply FROM",
		Short: "Add missing groups and permissions",
		Long: `Apply adds missing groups and permissions, and reads them again at the end. The
command asks for confirmation, unless you give --yes. After an interruption,
repeat the command: it checks first, and adds only what is missing.

With --hash, apply refuses a table with another hash than the one that
permissions plan printed.
`,
		Example: `  assetferry permissions apply rights.csv --dry-run
  assetferry permissions apply rights.csv --yes`,
		Args: cmdline.One("FROM"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return apply(ctx, f, args[0], hash, ch)
		}),
	}
	ch.AddFlags(c)
	ch.AddYes(c, "add groups and permissions without confirmation")
	c.Flags().StringVar(&hash, "hash", "", "refuse a table whose `hash` is another one")
	return c
}

// A wanted is the table of a command.
type wanted struct {
	permissions.Table
	omitted permissions.Omitted
	from    string
}

// read reads the table of FROM.
func read(ctx context.Context, f *command.Factory, from string) (w *wanted, err error) {
	w = &wanted{from: from}
	if strings.HasPrefix(from, ckbox.Scheme+"://") {
		source, err := f.SourceWorkspace(ctx, from)
		if err != nil {
			return w, err
		}
		w.Table, w.omitted, err = permissions.Of(ctx, permissions.In(source.Client))
		return w, err
	}
	w.Table, err = permissions.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return w, exit.Usage(fmt.Errorf("the table %s does not exist", ui.Sanitize(from)), "check the path")
	}
	if _, wrong := errors.AsType[*tabular.Mistakes](err); wrong {
		return w, exit.Usage(err, exit.HintOf(err))
	}
	if _, wrong := errors.AsType[*tabular.FormatError](err); wrong {
		return w, exit.Usage(err, exit.HintOf(err)+", or name a workspace, such as ckbox://production")
	}
	return w, err
}

// sumUp has the output of --json end with a summary, also after an error.
func sumUp(f *command.Factory, from string) {
	f.Summary = &event.Summary{Command: strings.TrimPrefix(f.Command, "assetferry "), Source: from, Actions: event.Counts{}, States: event.Counts{}}
}

func plan(ctx context.Context, f *command.Factory, from, output string) error {
	if output == from {
		return exit.Usage(errors.New("--output is the table itself"), "name another file")
	}
	sumUp(f, from)
	dest, err := f.OpenDestination(ctx, true)
	if err != nil {
		return err
	}
	f.Summary.Destination = dest.Identity()
	table, err := read(ctx, f, from)
	if err != nil {
		return err
	}
	f.Out.Notef("Destination  %s", dest)
	if output != "" {
		if err := f.WriteOutput(output, table.Write); err != nil {
			return err
		}
		f.Out.Notef("Table        %s", ui.Sanitize(output))
	}
	p, err := permissions.Preview(ctx, permissions.In(dest.Client), table.Table)
	if err != nil {
		return err
	}
	r := &result{f: f, dest: dest, table: table, plan: p, planned: true}
	r.show()
	r.summary()
	if output != "" && output != "-" {
		from = output
	}
	if p.Adds() {
		f.Out.Next("add them:", f.Again("permissions apply", []string{from}, "--hash", table.Hash()))
	}
	return r.outcome(nil)
}

func apply(ctx context.Context, f *command.Factory, from, hash string, ch command.Change) error {
	if err := f.CanAnswer(ch); err != nil {
		return err
	}
	sumUp(f, from)
	table, err := read(ctx, f, from)
	if err != nil {
		return err
	}
	if hash != "" && hash != table.Hash() {
		return exit.With(exit.CodeSafetyCheck, errors.New("the table is not the one of --hash; nothing was sent"), "show the changes and the hash of the table:\n  "+f.Again("permissions plan", []string{from}))
	}
	dest, err := openToAdd(ctx, f, table, ch)
	if err != nil {
		return err
	}
	f.Summary.Destination = dest.Identity()
	f.Out.Notef("Destination  %s", dest)
	service := permissions.In(dest.Client)
	p, err := permissions.Preview(ctx, service, table.Table)
	if err != nil {
		return err
	}
	r := &result{f: f, dest: dest, table: table, plan: p, planned: true}
	if ch.DryRun || !p.Adds() {
		r.show()
		r.summary()
		f.NoteDryRun(ch)
		return r.outcome(nil)
	}
	if !ch.Yes && !f.Out.JSON() {
		r.show()
	}
	groups, added := r.toAdd()
	question := fmt.Sprintf("Add %s at %s?", counted(groups, added), ui.Sanitize(dest.String()))
	if err := f.Agree(ctx, ch, question, "not confirmed: nothing was sent"); err != nil {
		return err
	}
	r.planned = false
	r.plan, err = permissions.Apply(ctx, service, table.Table)
	r.show()
	r.summary()
	return r.outcome(err)
}

// openToAdd opens the destination. An approval covers the command and the content of the table.
func openToAdd(ctx context.Context, f *command.Factory, table *wanted, ch command.Change) (*command.Destination, error) {
	s := f.CommandSubject()
	named, content := s, table.Hash()
	s.Fill = func(r *approval.Request) error {
		r.Content = content
		return named.Fill(r)
	}
	s.Covers = func(r approval.Request) ([]string, error) {
		if differs, err := named.Covers(r); len(differs) > 0 || err != nil {
			return differs, err
		}
		if r.Content != content {
			return []string{"the table has changed"}, nil
		}
		return nil, nil
	}
	return f.OpenPermitted(ctx, ch.DryRun, s)
}
