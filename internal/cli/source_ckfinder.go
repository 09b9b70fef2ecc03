package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/config"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/ckfinder"
	"assetferry/sources/remote"
)

// isConnector reports whether a source is at a CKFinder connector.
func isConnector(source string) bool {
	scheme, _, ok := strings.Cut(source, "://")
	return ok && slices.Contains(ckfinder.Schemes[:], scheme)
}

func parseConnector(source string) (ckfinder.Address, error) {
	address, err := ckfinder.ParseAddress(source)
	if err != nil {
		return address, usage(fmt.Errorf("source: %w", err), "write ckfinder+https://www.example.com/ckfinder/connector, and ?type=Images&currentFolder=/logos/ behind it for a part of it; assetferry help sources tells the rest")
	}
	return address, nil
}

// openConnector opens a source at a CKFinder connector. It makes no request.
func (a *app) openConnector(ctx context.Context, source string) (sources.Source, string, error) {
	address, err := parseConnector(source)
	if err != nil {
		return nil, "", err
	}
	if address.IsPlain() && !a.settings.AllowHTTP {
		return nil, "", usage(fmt.Errorf("source: %w", remote.ErrPlain), "write ckfinder+https://, or add --allow-http if the network in between is trusted")
	}
	o := ckfinder.Options{AllowHTTP: a.settings.AllowHTTP}
	if o.Headers, err = a.sourceHeaders(ctx); err != nil {
		return nil, "", err
	}
	if o.TLS, err = trusting(a.settings.CAFile); err != nil {
		return nil, "", err
	}
	s := ckfinder.New(address, o)
	a.closeLater(func() error { s.CloseIdleConnections(); return nil })
	return s, s.Identity(), nil
}

// sourceHeaders are what opens a source that speaks HTTP. They are asked for once in a
// command: who gives them may ask for something.
func (a *app) sourceHeaders(ctx context.Context) (remote.Headers, error) {
	if !a.headers.IsZero() {
		return a.headers, nil
	}
	reference, err := a.settings.SourceHeaders()
	if err != nil || reference.IsZero() {
		return remote.Headers{}, err
	}
	secret, err := reference.Resolve(ctx, func(msg string) { a.out.Log().Warn(msg) })
	if err != nil {
		return remote.Headers{}, err
	}
	if a.headers, err = remote.ParseHeaders(secret.Reveal()); err != nil {
		return remote.Headers{}, usage(fmt.Errorf("%s: %w", reference.Origin, err), "write a header a line, such as Cookie: NAME=VALUE or Authorization: Bearer VALUE")
	}
	for line := range strings.Lines(secret.Reveal()) {
		_, value, _ := strings.Cut(line, ":")
		a.redactor.Key(strings.TrimSpace(value))
	}
	return a.headers, nil
}

// followsCategories has objects come into the category that their key begins with, where
// that is the name of one and nobody wants it otherwise.
func (a *app) followsCategories(r *migrate.Rules, s sources.Source) {
	if s.Traits().Categories {
		a.followCategories(r)
	}
}

// followCategories is followsCategories for a source that has categories.
func (a *app) followCategories(r *migrate.Rules) {
	if a.settings.Origin("category_by") == config.FromDefault && r.Category == "" {
		r.CategoryBy = "folder"
	}
}
