package main

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"assetferry/internal/report"
)

func (a *app) reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "report",
		Short: "Say what became of a run, from the journal alone",
		Long: `Report reads the journal and nothing else: no request is sent, and it works
while another process is at work.
`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, _ []string) error { return a.reportRun(ctx, cmd) }),
	}
	addRunFlags(c.Flags())
	return c
}

func (a *app) reportRun(ctx context.Context, cmd *cobra.Command) error {
	journal, err := a.readJournal(ctx)
	if err != nil {
		return err
	}
	run, err := a.selectRun(ctx, cmd, journal)
	if err != nil {
		return err
	}
	r, err := report.Read(ctx, journal, run)
	if err != nil {
		return err
	}
	r.Tool = version()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		return err
	}
	a.out.Printf("%s", b.String())
	return nil
}
