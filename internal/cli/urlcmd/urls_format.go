package urlcmd

import (
	"errors"
	"path/filepath"
	"strings"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
	"assetferry/internal/ui"
)

// urlsHelp is the help of urls, with all formats.
const urlsHelp = `Urls writes the old and the new URL of every object that has an asset. The old
URL is --old-prefix plus the encoded key: harbour 1.jpg becomes
harbour%201.jpg. Templates in the configuration add URLs for image sizes and for
former keys. See assetferry help redirects.

  tsv               old URL, tab, new URL, without a header
  csv               also key, asset, size, image widths, verification, kind of
                    old URL. An apostrophe precedes a cell that begins with
                    = + - @, a tab or a line break, so that spreadsheets do not
                    evaluate it as a formula. rewrite --map removes the
                    apostrophe
  json              the same as csv, with one object per line and the URL of
                    each image size
  nginx             a map to include; its first comment shows the lines that
                    redirect
  apache            a text map for RewriteMap, with the lines that redirect
  iis               a rewrite map for IIS URL Rewrite, with the lines that
                    redirect
  cloudflare        a list for Cloudflare Bulk Redirects. It compares hosts: the
                    old prefix needs one
  cloudflare-pages  a file _redirects for Cloudflare Pages
  cloudfront        the data of a key value store for CloudFront Functions. With
                    --output assetferry.json, the function is written to
                    assetferry.js
  netlify           a file _redirects for Netlify
  sql               a table asset_urls, for PostgreSQL, MySQL and SQLite

Maps redirect with 301 (permanent) for assets that were verified after their
upload, and with 302 for others. To get more 301 redirects, run assetferry
verify and write the map again. Except for cloudflare, maps compare paths and
ignore the host of the old prefix. For the limits of each service, see
assetferry help redirects.

Assets in private categories are omitted. Assets with unknown privacy are also
omitted until you run assetferry verify. Without --check, urls reads only the
state database.

--check writes no map. It requests 200 random new URLs without credentials, as a
visitor to a site would. A wrong size, or a private asset that opens without
credentials, is a difference.
`

// cloudFront is the format that needs a function beside the map.
const cloudFront = "cloudfront"

// functionFile returns the file for the function, which is beside the map; empty if there is none.
func (j urlsJob) functionFile() string {
	if j.format != cloudFront || j.toStdout() {
		return ""
	}
	return strings.TrimSuffix(j.output, filepath.Ext(j.output)) + ".js"
}

// checkHosts returns an error for templates without a host if the format compares hosts. Nothing of
// such a map would ever be found.
func (j urlsJob) checkHosts(rules []*oldurl.Template) error {
	if format, _ := redirect.FormatOf(j.format); !format.NeedsHost {
		return nil
	}
	for _, rule := range rules {
		if !strings.HasPrefix(rule.Beginning(), "//") {
			return exit.Usage(errors.New("--format "+j.format+" compares hosts, and the old URL "+ui.Sanitize(rule.String())+" has none"),
				"add the host:\n  assetferry urls --format "+j.format+" --old-prefix https://old.example.com/files/")
		}
	}
	return nil
}

// printFormatNotes prints what the user has to know about a map in its format.
func printFormatNotes(f *command.Factory, t redirect.Tally, job urlsJob) {
	format, _ := redirect.FormatOf(job.format)
	if f.Out.JSON() && job.toStdout() {
		return
	}
	if t.Verified < t.Written && format.Redirects {
		f.Out.Notef("Unverified assets are redirected with 302. For 301, run this and write the map again:\n  assetferry verify")
	}
	if advice := format.Advice(t); advice != "" {
		f.Out.Notef("%s", advice)
	}
	switch {
	case job.functionFile() != "":
		f.Out.Notef("The function that reads this map is in %s.", ui.Sanitize(job.functionFile()))
	case job.format == cloudFront:
		f.Out.Notef("To write the function that reads this map, too, add --output assetferry.json.")
	}
}
