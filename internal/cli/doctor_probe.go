package cli

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
			return usage(fmt.Errorf("--%s is for --probe", name), "")
		}
	}
	return nil
}

// runProbe probes the services, after everything was found to be in order.
func (d *examination) runProbe(ctx context.Context, o probeOptions) error {
	if need := d.requirement(d.dest, d.doctor.To.TokenCommand != ""); !o.dryRun && need.Required {
		return d.refuse(need, "the probe makes a category and deletes it, and cannot be approved")
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
	counted := &countingTransport{next: d.access.transport}
	acc := d.access
	acc.transport = counted
	client, err := d.proberClient(acc)
	if err != nil {
		return err
	}
	options := probe.Options{Client: client, Service: d.dest.url, Now: clock.Now, Step: func(what string) { d.out.Log().Debug("probe", "measures", what) }}
	if !d.access.key.IsEmpty() {
		options.Aged = func(age time.Duration) (*assets.Client, error) { return d.agedClient(acc, age) }
	}
	result, err := probe.Run(ctx, options)
	for _, left := range result.Left {
		d.out.Notef("Left at the service: %s. Delete it there by hand.", ui.Sanitize(left))
	}
	if result.Measured {
		err = errors.Join(d.saveAssetProfile(result.Profile, o.output, counted.n.Load()), err)
	}
	return err
}

func (d *examination) saveAssetProfile(p probe.Profile, name string, requests int64) error {
	if err := d.saveProfile(p, name, "probe", "What the service does"); err != nil {
		return err
	}
	d.out.Printf("\n%s. The profile is in %s.", count(requests, "request"), ui.Sanitize(name))
	if p.ListOrder == "ignored" || p.ListingDelay > 0 {
		d.out.Printf("Reckon with it: --service-profile %s, or service_profile in the configuration.", ui.Sanitize(name))
	}
	return nil
}

// saveProfile writes a profile and shows what is in it.
func (d *examination) saveProfile(p interface {
	Encode() ([]byte, error)
	Rows() []profile.Row
}, name, check, title string) error {
	text, err := p.Encode()
	if err != nil {
		return err
	}
	if err := writeNew(name, true, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	var rows [][]string
	var facts []event.Fact
	for _, r := range p.Rows() {
		rows = append(rows, r[:])
		facts = append(facts, event.Fact{Name: r[0], Value: r[1]})
	}
	d.out.Printf("\n%s", ui.Table([]ui.Column{{Title: title}, {Title: "Measured"}}, rows))
	d.out.Event("check", event.Check{Check: check, Result: doctor.OK, Facts: facts})
	return nil
}

// agree says what a probe does, and asks whether it may.
func (d *examination) agree(ctx context.Context, o probeOptions) (begin bool, err error) {
	d.out.Notef("The probe makes a category %q... at %s\n(workspace %s), works in it with at most %s\n(more if some have to be repeated), and deletes it for good.",
		probe.Prefix, ui.Sanitize(d.dest.url), ui.Sanitize(d.doctor.Workspace()), count(int64(probe.MostCalls()), "request"))
	d.announceAIProbe()
	switch {
	case o.dryRun:
		return false, nil
	case o.yes:
		return true, nil
	}
	if begin, err = d.confirm(ctx, "Go ahead?"); begin || err != nil {
		return begin, err
	}
	return false, with(exitError, errors.New("nobody said yes, so nothing was probed"), "answer y, or use --yes")
}

// proberClient is a client without limits of its own: its pace is what is measured.
func (d *examination) proberClient(acc access) (*assets.Client, error) {
	c, err := assets.New(assets.Options{
		BaseURL: acc.url, Tokens: acc.tokens, AdminTokens: acc.adminTokens, SuperadminTokens: acc.superadminTokens, Workspace: acc.workspace, Transport: acc.transport,
		UserAgent: "assetferry/" + version(), AllowHTTP: d.settings.AllowHTTP, AllowPrivateNetworks: d.settings.AllowPrivateNetworks, CompensateClock: d.settings.CompensateClock, Now: clock.Now, Redactor: d.redactor,
	})
	if err != nil {
		return nil, usage(err, "")
	}
	return c, nil
}

// agedClient has tokens that were issued a while ago.
func (d *examination) agedClient(acc access, age time.Duration) (*assets.Client, error) {
	m, err := token.NewMinter(acc.key, token.Claims{
		Environment: acc.environment, Workspace: acc.workspace, Service: d.doctor.To.Service, User: d.doctor.To.User,
	})
	if err != nil {
		return nil, err
	}
	skew, _ := d.dest.client.Skew()
	m.Life, m.Now = age+time.Hour, func() time.Time { return clock.Now().Add(skew - age) }
	acc.tokens = m
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
