// Package setupcmd has the commands around a migration: doctor checks its requirements, schedule
// prints a timer for it, and demo shows one.
package setupcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/ai"
	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/doctor"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/internal/wordpress"
	"assetferry/sources"
)

const doctorHelp = `Doctor checks everything that a run needs: configuration, credentials, network,
clock, permissions, workspace, limits, categories and the state database. It
also checks the source if you name one, and the AI content service if one is
configured. Each result is ok, warning, failed or not checked. Every problem
comes with a fix.

Doctor sends only GET and HEAD requests. It never shows a key or a token. If
there are only warnings, the exit code is 0.

--probe also measures behaviour of the service that is not documented, such as
name lengths and list delays. This needs an administrator. The probe creates a
category "assetferry probe..." and permanently deletes it at the end, even after
an error. It lists everything that it could not delete.

With an AI content service, the probe also creates and deletes conversations and
a small image. It uses no model, so nothing is billed. The probe writes a
profile for --service-profile and for the sandbox: see assetferry help profile.
`

// NewDoctorCommand makes assetferry doctor.
func NewDoctorCommand(f *command.Factory) *cobra.Command {
	var o probeOptions
	c := &cobra.Command{
		Use:               "doctor [SOURCE]",
		Short:             "Check everything that a run needs",
		Long:              doctorHelp,
		Args:              cmdline.AtMostOne("SOURCE"),
		ValidArgsFunction: cmdline.Directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			d := &examination{Factory: f}
			// A mistake in the settings is the first result, and not the last.
			d.doctor.Mistake = f.Configure(cmd)
			if _, ok := errors.AsType[*exit.Error](d.doctor.Mistake); ok {
				return d.doctor.Mistake
			}
			if err := d.takeSource(args); err != nil {
				return err
			}
			if err := o.check(cmd); err != nil {
				return err
			}
			if err := d.examine(cmd.Context()); err != nil || !o.probe {
				return err
			}
			return d.runProbe(cmd.Context(), o)
		},
	}
	flags := c.Flags()
	command.AddS3Flags(flags)
	command.AddTableFlags(flags)
	command.AddWordPressFlags(flags)
	command.AddRcloneFlags(flags)
	command.AddAIFlags(flags)
	command.AddScanFlags(flags)
	flags.BoolVar(&o.probe, "probe", false, "measure undocumented behaviour of the service")
	flags.StringVar(&o.output, "output", "assetferry-profile.yaml", "write the profile to this `file`")
	flags.StringVar(&o.aiOutput, "ai-output", "assetferry-ai-profile.yaml", "write the profile of the AI content service to this `file`")
	flags.BoolVarP(&o.dryRun, "dry-run", "n", false, "show what --probe would do and stop")
	flags.BoolVar(&o.yes, "yes", false, "skip the confirmation of --probe")
	return c
}

// An examination shows the results of a doctor, and opens everything that it checks.
type examination struct {
	*command.Factory
	doctor   doctor.Doctor
	dest     *command.Destination // nil without credentials
	access   command.Access
	ai       *command.AIService // nil if it is not configured or not usable
	counts   event.Counts
	code     int
	failures int
}

// takeSource takes the source to check, if there is one.
func (d *examination) takeSource(args []string) (err error) {
	if d.doctor.Mistake != nil { // the jobs are not known
		d.doctor.Source = strings.Join(args, "")
		return nil
	}
	d.doctor.Source, err = d.SourceOf(args)
	return err
}

func (d *examination) examine(ctx context.Context) error {
	began := time.Now()
	d.Summary = &event.Summary{Command: "doctor"}
	d.counts = event.Counts{}
	d.doctor.Host, d.doctor.Settings, d.doctor.Lookup, d.doctor.Verbose = d, d.Settings, d.Lookup, d.Out.Verbose()
	d.doctor.Scanner = d.Scanner
	checks := d.doctor.Checks()
	for _, c := range checks {
		f := c.Run(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.show(c.Name, f)
	}
	d.Summary.States, d.Summary.Seconds = d.counts, event.Seconds(time.Since(began))
	if d.dest != nil {
		d.Summary.Destination = d.dest.Identity()
	}
	d.Out.Printf("\n%s.", d.tally())
	if d.failures > 0 {
		return exit.With(d.code, fmt.Errorf("%d of %s failed", d.failures, ui.Counted(int64(len(checks)), "check")), d.firstFailure())
	}
	return nil
}

// firstFailure returns the hint after failed checks.
func (d *examination) firstFailure() string {
	if d.failures == 1 {
		return "fix the failure, then run doctor again"
	}
	return "fix the first failure first; it may cause the others"
}

// show shows a result and counts it.
func (d *examination) show(check string, f doctor.Finding) {
	line := event.Check{Check: check, Result: f.Verdict, Message: f.Message, Hint: cmdline.Callable(f.Hint), Facts: f.Facts}
	d.Out.Printf("%s", ui.Diagnosis(line))
	if f.After != "" {
		d.Out.Printf("%s", f.After)
	}
	line.Facts = slices.Concat(f.Facts, f.Details)
	d.Out.Event("check", line)
	d.counts[f.Verdict]++
	if f.Verdict == doctor.Failed {
		d.failures++
		code := exit.CodeError
		if f.Auth {
			code = exit.CodeAuth
		}
		d.code = exit.Worse(d.code, code)
	}
}

func (d *examination) tally() string {
	var parts []string
	for _, v := range []string{doctor.OK, doctor.Warning, doctor.Failed, doctor.Unchecked} {
		if n := d.counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, ui.CodeText(v)))
		}
	}
	return strings.Join(parts, ", ")
}

// Explain implements doctor.Host.
func (d *examination) Explain(err error) (hint string, auth bool) {
	f := exit.FailureOf(err)
	return f.Hint, f.Code == exit.CodeAuth
}

// CheckCAFile implements doctor.Host.
func (d *examination) CheckCAFile(path string) error {
	_, err := command.Transport(path)
	return err
}

// Enter implements doctor.Host.
func (d *examination) Enter(ctx context.Context, to config.Destination) (_ *doctor.Destination, err error) {
	if d.dest, d.access, err = d.Resolve(ctx, to); err != nil {
		return nil, err
	}
	return &doctor.Destination{
		URL: d.dest.URL, Environment: d.dest.Environment, Workspace: d.dest.Workspace, Dir: d.dest.Dir, Key: d.access.Key, Tokens: d.access.Tokens,
	}, nil
}

// Connect implements doctor.Host.
func (d *examination) Connect() (*assets.Client, error) {
	err := d.Factory.Connect(d.dest, d.access, true)
	return d.dest.Client, err
}

// Ping implements doctor.Host.
func (d *examination) Ping(ctx context.Context) error { return d.dest.Ping(ctx) }

// OpenSource implements doctor.Host.
func (d *examination) OpenSource(ctx context.Context, source, state string) (sources.Source, string, error) {
	var own []string
	if state != "" {
		own = d.OwnFiles(d.dest, state)
	}
	return d.Factory.OpenSource(ctx, source, own)
}

// WordPress implements doctor.Host.
func (d *examination) WordPress(ctx context.Context, site string) (*wordpress.Client, error) {
	return d.Factory.WordPress(ctx, site, false)
}

// OpenAI implements doctor.Host.
func (d *examination) OpenAI(ctx context.Context) (*doctor.AIService, error) {
	s, err := d.Factory.OpenAI(ctx)
	if err != nil {
		return nil, err
	}
	d.ai = s
	return &doctor.AIService{URL: s.URL, Limited: s.Limited, Client: s.Client}, nil
}

// ChooseModel implements doctor.Host.
func (d *examination) ChooseModel(ctx context.Context) (ai.Model, error) {
	return d.Factory.ChooseModel(ctx, d.ai)
}

// Approvals implements doctor.Host. It reads the file of approvers like a command that needs an
// approval.
func (d *examination) Approvals() (doctor.Approvals, error) {
	need := d.Requirement(d.dest, d.doctor.To.TokenCommand != "")
	if !need.Required {
		return doctor.Approvals{}, nil
	}
	list, err := d.Approvers(need.ApproversFile)
	if err != nil {
		return doctor.Approvals{}, err
	}
	return doctor.Approvals{
		Required: true, Destination: need.Destination, Keys: list.Len(), Reachable: d.OutOfReach(d.Settings.File) != nil,
	}, nil
}

// CloseLater implements doctor.Host.
func (d *examination) CloseLater(c func() error) { d.Factory.CloseLater(c) }
