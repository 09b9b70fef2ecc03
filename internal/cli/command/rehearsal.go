package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assetferry/internal/assets"
	"assetferry/internal/config"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"
	"assetferry/state"
)

// scratch is what a rehearsal uses instead of the real files and services: a sandbox in memory, and
// a folder for a copy of the state database.
type scratch struct {
	profile profile.Profile
	dir     string
}

// Rehearse makes this command rehearse. Its state database is a copy that is deleted at the end. If no
// destination is configured, or the sandbox is, the destination is an empty sandbox with the profile.
func (f *Factory) Rehearse(p profile.Profile) error {
	dir, err := os.MkdirTemp("", "assetferry-rehearsal-")
	if err != nil {
		return fmt.Errorf("create a folder for the rehearsal: %w", err)
	}
	f.CloseLater(func() error { return os.RemoveAll(dir) })
	f.scratch = &scratch{timeless(p), dir}
	if f.Settings.To == "" {
		f.Settings.To = "sandbox"
	}
	return nil
}

// timeless returns a profile without its latencies and limits of rates, which a plan needs not wait
// for.
func timeless(p profile.Profile) profile.Profile {
	p.Latency, p.LatencyP95, p.UploadLatency, p.UploadLatencyP95, p.ListingDelay, p.Processing = 0, 0, 0, 0, 0, 0
	p.Rate, p.UploadBandwidth, p.UploadBandwidthTotal = 0, 0, 0
	return p
}

func (f *Factory) startProfiled(ctx context.Context, dest *Destination) (acc Access, err error) {
	dest.embedded = true
	made := tokens.NewCredentials()
	url, stop, err := StartSandbox(ctx, sandbox.Options{
		Log: f.Out.Log(), Profile: f.scratch.profile,
		Environments: []tokens.Environment{{ID: made.EnvironmentID, AccessKey: made.AccessKey}},
	}, "127.0.0.1:0")
	if err != nil {
		return acc, err
	}
	f.CloseLater(stop)
	acc = Access{URL: url, Environment: made.EnvironmentID, Transport: assets.NewTransport(nil)}
	return acc, f.mint(&acc, token.NewSecret(string(made.AccessKey)), config.Destination{Service: "ckbox", User: "assetferry"})
}

// ScratchState returns the path of the state database that this command writes. A command that rehearses
// writes a copy.
func (f *Factory) ScratchState(ctx context.Context, path string) (string, error) {
	if f.scratch == nil {
		return path, nil
	}
	scratch := filepath.Join(f.scratch.dir, "state.db")
	store, err := state.OpenReadOnly(ctx, path)
	if errors.Is(err, os.ErrNotExist) {
		return scratch, nil
	} else if err != nil {
		return "", err
	}
	err = errors.Join(store.CopyTo(ctx, scratch), store.Close())
	if err != nil {
		return "", fmt.Errorf("copy the state database for the rehearsal: %w", err)
	}
	return scratch, state.Takeover(ctx, scratch)
}
