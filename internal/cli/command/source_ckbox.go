package command

import (
	"cmp"
	"context"
	"strings"

	"assetferry/internal/config"
	"assetferry/internal/metadata"
	"assetferry/sources"
	"assetferry/sources/ckbox"
)

// workspaceHint is how to name a workspace as a source.
const workspaceHint = "write ckbox://NAME with a destination of the configuration or the ID of an environment, and /WORKSPACE behind it for another workspace than the default one; assetferry help sources tells the rest"

// Workspace works out how to read the workspace at an address.
func (f *Factory) Workspace(address string) (config.Destination, error) {
	at, err := config.ParseWorkspaceAddress(strings.TrimPrefix(address, ckbox.Scheme+"://"))
	if err != nil {
		return config.Destination{}, badAddress(err, workspaceHint)
	}
	return f.Settings.SourceWorkspace(at)
}

// openWorkspace opens a source in the service, once for a command: who opens it may have to
// be asked for a key. Its client cannot write.
func (f *Factory) openWorkspace(ctx context.Context, address string) (sources.Source, string, error) {
	if f.read == nil {
		d, err := f.Workspace(address)
		if err != nil {
			return nil, "", err
		}
		from, acc, err := f.Resolve(ctx, d)
		if err != nil {
			return nil, "", err
		}
		from.Limiter = f.limiter(nil)
		if err := f.dial(from, acc, true); err != nil {
			return nil, "", err
		}
		f.read = from
	}
	s := Library(f.read)
	return s, s.Identity(), nil
}

// Library is what is at the service, as a source.
func Library(d *Destination) *ckbox.Source {
	return ckbox.New(d.Client, ckbox.Options{Environment: d.Environment, Workspace: d.Workspace, Attribute: metadata.Provenance})
}

// nameOfNoWorkspace only reads an address: the name is workspaceName.
func nameOfNoWorkspace(address string) (string, error) {
	_, err := config.ParseWorkspaceAddress(strings.TrimPrefix(address, ckbox.Scheme+"://"))
	return "", err
}

// workspaceName is what a workspace is called in the journal.
func (f *Factory) workspaceName(ctx context.Context, address string) (string, error) {
	d, err := f.Workspace(address)
	if err != nil {
		return "", err
	}
	var environment string
	if d.Kind == config.Sandbox {
		dir, err := config.SandboxDir(f.Lookup)
		if err != nil {
			return "", err
		}
		credentials, err := f.LoadSandbox(dir)
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

// InheritWorkspace adds to an inheritance what opens the workspace at an address.
func (f *Factory) InheritWorkspace(i config.Inheritance, address string) (config.Inheritance, error) {
	d, err := f.Workspace(address)
	if err != nil {
		return i, err
	}
	return f.Settings.InheritSource(i, d)
}
