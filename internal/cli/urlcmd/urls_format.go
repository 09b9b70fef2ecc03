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
