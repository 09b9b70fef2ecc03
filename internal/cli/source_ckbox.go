package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"assetferry/internal/config"
	"assetferry/internal/metadata"
	"assetferry/sources"
	"assetferry/sources/ckbox"
)

// workspaceHint is how to name a workspace as a source.
const workspaceHint = "write ckbox://NAME with a destination of the configuration or the ID of an environment, and /WORKSPACE behind it for another workspace than the default one; assetferry help sources tells the rest"

// workspace works out how to read the workspace at an address.
func (a *app) workspace(address string) (config.Destination, error) {
	at, err := config.ParseWorkspaceAddress(strings.TrimPrefix(address, ckbox.Scheme+"://"))
	if err != nil {
		return config.Destination{}, usage(fmt.Errorf("source: %w", err), workspaceHint)
	}
	return a.settings.SourceWorkspace(at)
}

// openWorkspace opens a source in the service, once for a command: who opens it may have to
// be asked for a key. Its client cannot write.
func (a *app) openWorkspace(ctx context.Context, address string) (sources.Source, string, error) {
	if a.read == nil {
		d, err := a.workspace(address)
		if err != nil {
			return nil, "", err
		}
		from, acc, err := a.enter(ctx, d)
		if err != nil {
			return nil, "", err
		}
		from.limiter = a.limiter(nil)
		if err := a.dial(from, acc, true); err != nil {
			return nil, "", err
		}
		a.read = from
	}
	s := library(a.read)
	return s, s.Identity(), nil
}

// library is what is at the service, as a source.
func library(d *destination) *ckbox.Source {
	return ckbox.New(d.client, ckbox.Options{Environment: d.environment, Workspace: d.workspace, Attribute: metadata.Provenance})
}

// workspaceName is what a workspace is called in the journal.
func (a *app) workspaceName(ctx context.Context, address string) (string, error) {
	d, err := a.workspace(address)
	if err != nil {
		return "", err
	}
	var environment string
	if d.Kind == config.Sandbox {
		dir, err := config.SandboxDir(a.lookup)
		if err != nil {
			return "", err
		}
		credentials, err := a.loadSandbox(dir)
		if err != nil {
			return "", err
		}
		environment = credentials.EnvironmentID
	} else {
		id, err := d.Environment.Resolve(ctx, nil)
		if err != nil {
			return "", err
		}
		environment = id.Reveal()
	}
	return ckbox.New(nil, ckbox.Options{Environment: environment, Workspace: cmp.Or(d.Workspace, environment)}).Identity(), nil
}

// inheritWorkspace adds to an inheritance what opens the workspace at an address.
func (a *app) inheritWorkspace(i config.Inheritance, address string) (config.Inheritance, error) {
	d, err := a.workspace(address)
	if err != nil {
		return i, err
	}
	return a.settings.InheritSource(i, d)
}

// notItself refuses to read a workspace and write into the same one: every asset would be
// there twice.
func (s *endpoints) notItself() error {
	if from, ok := s.source.(*ckbox.Source); !ok || from.Identity() != library(s.dest).Identity() {
		return nil
	}
	return usage(errors.New("source and destination are the same workspace of the same environment"),
		"name another one, with --to and --workspace or in the address of the source")
}
