package setupcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/doctor"
	"assetferry/internal/event"
	"assetferry/internal/probe"
	"assetferry/internal/profile"
	"assetferry/internal/token"
	"assetferry/internal/ui"
)

type probeOptions struct {
	probe, dryRun, yes bool
	output, aiOutput   string
}

func (o probeOptions) check(cmd *cobra.Command) error {
	for _, name := range []string{"output", "ai-output", "dry-run", "yes"} {
		if cmd.Flags().Changed(name) && !o.probe {
			return exit.Usage(fmt.Errorf("--%s needs --probe", name), "")
		}
	}
	return nil
}

// runProbe probes the services after successful checks.
func (d *examination) runProbe(ctx context.Context, o probeOptions) error {
	if need := d.Requirement(d.dest, d.doctor.To.TokenCommand != ""); !o.dryRun && need.Required {
		return d.Refuse(need, "the probe makes a category and deletes it, and cannot be approved")
	}
	begin, err := d.agree(ctx, o)
	if err != nil || !begin {
		return err
	}
	if err = d.probeAssets(ctx, o); ctx.Err() != nil {
		return err
	}
	return errors.Join(err, d.probeAI(ctx, o.aiOutput))
}

// probeAssets probes the asset management service.
func (d *examination) probeAssets(ctx context.Context, o probeOptions) error {
	counted := &countingTransport{next: d.access.Transport}
	acc := d.access
	acc.Transport = counted
	client, err := d.proberClient(acc)
	if err != nil {
		return err
	}
	options := probe.Options{Client: client, Service: d.dest.URL, Now: clock.Now, Step: func(what string) { d.Out.Log().Debug("probe", "measures", what) }}
	if !d.access.Key.IsEmpty() {
		options.Aged = func(age time.Duration) (*assets.Client, error) { return d.agedClient(acc, age) }
	}
	result, err := probe.Run(ctx, options)
	for _, left := range result.Left {
		d.Out.Notef("Not deleted at the service: %s. Delete it there by hand.", ui.Sanitize(left))
	}
	if result.Measured {
		err = errors.Join(d.saveAssetProfile(result.Profile, o.output, counted.n.Load()), err)
	}
	return err
}

func (d *examination) saveAssetProfile(p probe.Profile, name string, requests int64) error {
	if err := d.saveProfile(p, name, "probe", "Behaviour of the service"); err != nil {
		return err
	}
	d.Out.Printf("\n%s. The profile is in %s.", ui.Counted(requests, "request"), ui.Sanitize(name))
	if p.ListOrder == "ignored" || p.ListingDelay > 0 {
		d.Out.Printf("To use it: --service-profile %s, or service_profile in the configuration.", ui.Sanitize(name))
	}
	return nil
}

// saveProfile writes a profile and shows its values.
func (d *examination) saveProfile(p interface {
	Encode() ([]byte, error)
	Rows() []profile.Row
}, name, check, title string) error {
	text, err := p.Encode()
	if err != nil {
		return err
	}
	if err := command.WriteNew(name, true, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	var rows [][]string
	var facts []event.Fact
	for _, r := range p.Rows() {
		rows = append(rows, r[:])
		facts = append(facts, event.Fact{Name: r[0], Value: r[1]})
	}
	d.Out.Printf("\n%s", ui.Table([]ui.Column{{Title: title}, {Title: "Measured"}}, rows))
	d.Out.Event("check", event.Check{Check: check, Result: doctor.OK, Facts: facts})
	return nil
}

// agree describes the probe and asks for confirmation.
func (d *examination) agree(ctx context.Context, o probeOptions) (begin bool, err error) {
	d.Out.Notef("The probe creates a category %q... at %s\n(workspace %s), uses it for at most %s\n(repeated ones not counted) and uploads of %s, and deletes it for good.",
		probe.Prefix, ui.Sanitize(d.dest.URL), ui.Sanitize(d.doctor.Workspace()), ui.Counted(int64(probe.MostCalls()), "request"), ui.Bytes(probe.MostBytes()))
	d.announceAIProbe()
	switch {
	case o.dryRun:
		return false, nil
	case o.yes:
		return true, nil
	}
	if begin, err = d.Confirm(ctx, "Continue?"); begin || err != nil {
		return begin, err
	}
	return false, exit.With(exit.CodeError, errors.New("not confirmed, so nothing was probed"), "answer y, or use --yes")
}

// proberClient returns a client without a rate limit of its own: the probe measures that of the
// service.
func (d *examination) proberClient(acc command.Access) (*assets.Client, error) {
	c, err := assets.New(assets.Options{
		BaseURL: acc.URL, Tokens: acc.Tokens, AdminTokens: acc.AdminTokens, SuperadminTokens: acc.SuperadminTokens, Workspace: acc.Workspace, Transport: acc.Transport,
		UserAgent: "assetferry/" + cmdline.Version(), AllowHTTP: d.Settings.AllowHTTP, AllowPrivateNetworks: d.Settings.AllowPrivateNetworks, CompensateClock: d.Settings.CompensateClock, Now: clock.Now, Redactor: d.Redactor,
	})
	if err != nil {
		return nil, exit.Usage(err, "")
	}
	return c, nil
}

// agedClient returns a client whose tokens have an earlier issue date.
func (d *examination) agedClient(acc command.Access, age time.Duration) (*assets.Client, error) {
	m, err := token.NewMinter(acc.Key, token.Claims{
		Environment: acc.Environment, Workspace: acc.Workspace, Service: d.doctor.To.Service, User: d.doctor.To.User,
	})
	if err != nil {
		return nil, err
	}
	skew, _ := d.dest.Client.Skew()
	m.Life, m.Now = age+time.Hour, func() time.Time { return clock.Now().Add(skew - age) }
	acc.Tokens = m
	return d.proberClient(acc)
}

// A countingTransport counts requests.
type countingTransport struct {
	next http.RoundTripper
	n    atomic.Int64
}

func (t *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.n.Add(1)
	return t.next.RoundTrip(r)
}

func (t *countingTransport) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}
