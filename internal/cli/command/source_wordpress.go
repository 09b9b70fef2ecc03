package command

import (
	"context"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/config"
	"assetferry/internal/wordpress"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/remote"
	library "assetferry/sources/wordpress"
)

const siteHint = "write wordpress+https://www.example.com with the URL of the front page (see assetferry help wordpress)"

func siteName(source string) (string, error) {
	url, err := wordpress.ParseURL(source)
	if err != nil {
		return "", err
	}
	return url.String(), nil
}

// openSite opens the media library of a WordPress site as a source. It sends no request.
func (f *Factory) openSite(ctx context.Context, source string) (sources.Source, string, error) {
	client, err := f.WordPress(ctx, source, false)
	if err != nil {
		return nil, "", err
	}
	c := f.Settings
	o := library.Options{Folders: library.Folders(c.WordPressFolders), AllowHTTP: c.AllowHTTP, AllowPrivate: c.AllowPrivateNetworks}
	if o.TLS, err = Trusting(c.CAFile); err != nil {
		return nil, "", err
	}
	s := library.New(client, o)
	f.CloseLater(s.Close)
	return s, s.Identity(), nil
}

// WordPress returns a client for a site with the application password, if there is one. Only a
// client for writing can write. It sends no request.
func (f *Factory) WordPress(ctx context.Context, site string, write bool) (*wordpress.Client, error) {
	url, err := wordpress.ParseURL(site)
	if err != nil {
		return nil, badURL(err, siteHint)
	}
	if url.IsPlain() && !f.Settings.AllowHTTP {
		return nil, badURL(remote.ErrPlain, "write wordpress+https://, or add --allow-http for a trusted network")
	}
	o := wordpress.Options{AllowHTTP: f.Settings.AllowHTTP, Connections: migrate.Workers(f.Settings.Concurrency), Write: write}
	if o.Headers, err = f.sourceHeaders(ctx); err != nil {
		return nil, err
	}
	if o.TLS, err = Trusting(f.Settings.CAFile); err != nil {
		return nil, err
	}
	if o.User, o.Password, err = f.siteAccount(ctx); err != nil {
		return nil, err
	}
	client := wordpress.New(url, o)
	f.CloseLater(func() error { client.CloseIdleConnections(); return nil })
	return client, nil
}

// A siteAccount has the credentials for a WordPress site.
type siteAccount struct{ user, password string }

// siteAccount returns the user name and the application password for a WordPress site, or "". It asks
// for them once per command.
func (f *Factory) siteAccount(ctx context.Context) (name, secret string, err error) {
	if f.account.password != "" {
		return f.account.user, f.account.password, nil
	}
	user, password, err := f.Settings.WordPress()
	if err != nil || password.IsZero() {
		return "", "", err
	}
	for _, part := range []struct {
		from config.Reference
		to   *string
	}{{user, &f.account.user}, {password, &f.account.password}} {
		text, err := part.from.Resolve(ctx, func(msg string) { f.Out.Log().Warn(msg) })
		if err != nil {
			return "", "", err
		}
		*part.to = text.Reveal()
	}
	for _, text := range wordpress.Secrets(f.account.user, f.account.password) {
		f.Redactor.Key(text)
	}
	return f.account.user, f.account.password, nil
}

// AddWordPressFlags adds the options of WordPress sites.
func AddWordPressFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "wordpress-folders", "folders of a WordPress library: by year and month of the upload, or by the post that a file belongs to")
}
