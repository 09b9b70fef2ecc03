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

// workspaceHint is the form of the URL of a workspace.
const workspaceHint = "write ckbox://NAME with the name of a destination or the ID of an environment; add /WORKSPACE for another workspace than the default one (see assetferry help ckbox)"

// Workspace returns the access to the workspace at a URL.
func (f *Factory) Workspace(url string) (config.Destination, error) {
	at, err := config.ParseWorkspaceURL(strings.TrimPrefix(url, ckbox.Scheme+"://"))
	if err != nil {
		return config.Destination{}, badURL(err, workspaceHint)
	}
	return f.Settings.SourceWorkspace(at)
}

// openWorkspace opens a workspace as a source.
func (f *Factory) openWorkspace(ctx context.Context, url string) (sources.Source, string, error) {
	from, err := f.SourceWorkspace(ctx, url)
	if err != nil {
		return nil, "", err
	}
	s := Library(from)
	return s, s.Identity(), nil
}

// SourceWorkspace opens the workspace at a URL, once per command, because its key may need an
// answer. The client cannot write.
func (f *Factory) SourceWorkspace(ctx context.Context, url string) (*Destination, error) {
	if f.read == nil {
		d, err := f.Workspace(url)
		if err != nil {
			return nil, err
		}
		from, acc, err := f.Resolve(ctx, d)
		if err != nil {
			return nil, err
		}
		from.Limiter = f.limiter(nil)
		if err := f.dial(from, acc, true); err != nil {
			return nil, err
		}
		f.read = from
	}
	return f.read, nil
}

// Library returns the assets of a service as a source.
func Library(d *Destination) *ckbox.Source {
	return ckbox.New(d.Client, ckbox.Options{Environment: d.Environment, Workspace: d.Workspace, Attribute: metadata.Provenance})
}

// nameOfNoWorkspace only checks a URL: workspaceName returns the name.
func nameOfNoWorkspace(url string) (string, error) {
	_, err := config.ParseWorkspaceURL(strings.TrimPrefix(url, ckbox.Scheme+"://"))
	return "", err
}

// workspaceName returns the name of a workspace in the state database.
func (f *Factory) workspaceName(ctx context.Context, url string) (string, error) {
	d, err := f.Workspace(url)
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

// InheritWorkspace adds the access to a workspace to an inheritance.
func (f *Factory) InheritWorkspace(i config.Inheritance, url string) (config.Inheritance, error) {
	d, err := f.Workspace(url)
	if err != nil {
		return i, err
	}
	return f.Settings.InheritSource(i, d)
}
