package command

import (
	"context"
	"fmt"
	"strings"

	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/ckfinder"
	"assetferry/sources/remote"
)

const connectorHint = "write ckfinder+https://www.example.com/ckfinder/connector; add ?type=Images&currentFolder=/logos/ for a part of it (see assetferry help ckfinder)"

func connectorName(source string) (string, error) {
	url, err := ckfinder.ParseURL(source)
	if err != nil {
		return "", err
	}
	return url.String(), nil
}

// openConnector opens a CKFinder connector as a source. It sends no request.
func (f *Factory) openConnector(ctx context.Context, source string) (sources.Source, string, error) {
	url, err := ckfinder.ParseURL(source)
	if err != nil {
		return nil, "", badURL(err, connectorHint)
	}
	if url.IsPlain() && !f.Settings.AllowHTTP {
		return nil, "", badURL(remote.ErrPlain, "write ckfinder+https://, or add --allow-http for a trusted network")
	}
	o := ckfinder.Options{AllowHTTP: f.Settings.AllowHTTP}
	if o.Headers, err = f.sourceHeaders(ctx); err != nil {
		return nil, "", err
	}
	if o.TLS, err = Trusting(f.Settings.CAFile); err != nil {
		return nil, "", err
	}
	s := ckfinder.New(url, o)
	f.CloseLater(func() error { s.CloseIdleConnections(); return nil })
	return s, s.Identity(), nil
}

// sourceHeaders returns the headers for a source that uses HTTP. It asks for them once per command.
func (f *Factory) sourceHeaders(ctx context.Context) (remote.Headers, error) {
	if !f.headers.IsZero() {
		return f.headers, nil
	}
	reference, err := f.Settings.SourceHeaders()
	if err != nil || reference.IsZero() {
		return remote.Headers{}, err
	}
	secret, err := reference.Resolve(ctx, func(msg string) { f.Out.Log().Warn(msg) })
	if err != nil {
		return remote.Headers{}, err
	}
	if f.headers, err = remote.ParseHeaders(secret.Reveal()); err != nil {
		return remote.Headers{}, exit.Usage(fmt.Errorf("%s: %w", reference.Origin, err), "write one header per line, such as Cookie: NAME=VALUE or Authorization: Bearer VALUE")
	}
	for line := range strings.Lines(secret.Reveal()) {
		_, value, _ := strings.Cut(line, ":")
		f.Redactor.Key(strings.TrimSpace(value))
	}
	return f.headers, nil
}

// FollowsCategories places each object in the category at the start of its key, if there is one and
// no setting says otherwise.
func (f *Factory) FollowsCategories(r *migrate.Rules, s sources.Source) {
	if s.Traits().Categories {
		f.FollowCategories(r)
	}
}

// FollowCategories is FollowsCategories for a source that has categories.
func (f *Factory) FollowCategories(r *migrate.Rules) {
	if f.Settings.SourceOf("category_by") == config.FromDefault && r.Category == "" {
		r.CategoryBy = "folder"
	}
}
