package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/tokens"
)

// A sandboxAt is a running sandbox: its URL, and its service in tokens.
type sandboxAt struct{ url, service string }

// LoadSandbox returns the credentials of the sandbox in a folder. It first closes files that are
// open to other accounts.
func (f *Factory) LoadSandbox(dir string) (tokens.Credentials, error) {
	if err := f.SecureSandbox(dir); err != nil {
		return tokens.Credentials{}, err
	}
	return tokens.LoadOrCreateCredentials(dir)
}

// SecureSandbox closes the files of a sandbox to other accounts.
func (f *Factory) SecureSandbox(dir string) error {
	for _, dir := range []string{dir, Besides(dir)} {
		if err := f.noteRepaired(datadir.Secure(dir)); err != nil {
			return fmt.Errorf("cannot use the sandbox folder: %w", err)
		}
	}
	return nil
}

// StartSandbox serves a sandbox at a listen address until it is stopped.
func StartSandbox(ctx context.Context, o sandbox.Options, listen string) (url string, stop func() error, err error) {
	o.Now = clock.Now
	s, err := sandbox.New(o)
	if err != nil {
		return "", nil, err
	}
	return Serve(ctx, s, listen)
}

// A standIn is the stand-in of a service.
type standIn interface {
	Serve(context.Context, net.Listener) error
	Close() error
}

// Serve serves a stand-in at a listen address until it is stopped.
func Serve(ctx context.Context, s standIn, listen string) (url string, stop func() error, err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("listen: %w", err), s.Close())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // requests that finish a run outlive an interrupt
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	return "http://" + l.Addr().String(), func() error {
		cancel()
		return errors.Join(<-served, s.Close())
	}, nil
}

// ReadProfile reads the profile that a flag names.
func ReadProfile(flag, path string) (profile.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return profile.Profile{}, exit.Usage(fmt.Errorf("%s: %w", flag, err), "create a profile:\n  assetferry doctor --probe")
	}
	defer f.Close()
	p, err := profile.Read(path, f)
	if err != nil {
		return p, exit.Usage(fmt.Errorf("%s: %w", flag, err), "list the settings of a profile:\n  assetferry help profile")
	}
	return p, nil
}

// IsLoopback reports whether a listen address is reachable from this machine only.
func IsLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Besides returns the data directory of the AI content service for that of the other stand-in;
// empty for a stand-in in memory.
func Besides(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "ai")
}
