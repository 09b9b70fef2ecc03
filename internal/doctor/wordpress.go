package doctor

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"assetferry/internal/event"
	"assetferry/internal/wordpress"
)

// usesWordPress reports whether the source is a WordPress site.
func (d *Doctor) usesWordPress() bool {
	_, err := wordpress.ParseURL(d.Source)
	return err == nil && d.Settings != nil
}

// rights are the capabilities of an account that decide what a source and rewrite can do.
var rights = []struct{ capability, name string }{
	{wordpress.EditOthers, "read the texts of media"},
	{wordpress.EditOthers, "change posts of others"},
	{"unfiltered_html", "save scripts and frames"},
}

// checkWordPress finds the API of a site, signs in, and reports the account and its rights.
func (d *Doctor) checkWordPress(ctx context.Context) Finding {
	client, err := d.Host.WordPress(ctx, d.Source)
	if err != nil {
		return d.broken(err)
	}
	site, err := client.Site(ctx)
	if err != nil {
		return d.broken(err)
	}
	facts := []event.Fact{{Name: "site", Value: cmp.Or(site.Name, client.URL().Page())}}
	if !client.HasPassword() {
		return ok("the API answers; without an application password, only what is public is read").with(facts...)
	}
	account, err := client.Account(ctx)
	if e, answered := errors.AsType[*wordpress.Error](err); answered && e.Status() != 0 && !e.IsAuth() {
		return ok("the API answers; the site does not show the account").with(facts...) // some plugins hide accounts
	}
	if err != nil {
		return d.broken(err).with(facts...)
	}
	facts = append(facts, event.Fact{Name: "account", Value: account.Name}, event.Fact{Name: "roles", Value: cmp.Or(strings.Join(account.Roles, ", "), "none")})
	for _, r := range rights {
		facts = append(facts, event.Fact{Name: "may " + r.name, Value: yesNo(account.Capabilities[r.capability])})
	}
	if err := client.CheckMedia(account); err != nil {
		return d.broken(err).with(facts...)
	}
	return ok("signed in as %s", account.Name).with(facts...)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
