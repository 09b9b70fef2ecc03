package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/ui"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages into a folder",
		Long: `Man writes a manual page for each command, and one in section 7 for each topic
of assetferry help. The folder is made if it is not there, and pages that are in
it are replaced. The pages are the same every time: their date is that of the
build, or SOURCE_DATE_EPOCH.
`,
		Example:           "  assetferry man share/man",
		Args:              one("DIR"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.out = a.newOut(cmd, "none", nil) // and no settings: none is needed
			return a.man(cmd.Root(), args[0])
		},
	}
}

func (a *app) man(root *cobra.Command, dir string) error {
	date, err := a.buildDate()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage(fmt.Errorf("make the folder of the pages: %w", err), "name another folder")
	}
	pages := manPages(root, date)
	for name, page := range pages {
		write := func(w io.Writer) error { _, err := io.WriteString(w, page); return err }
		if err := writeNew(filepath.Join(dir, name), true, write); err != nil {
			return err
		}
	}
	a.out.Printf("Wrote %s into %s.", count(int64(len(pages)), "page"), ui.Sanitize(dir))
	return nil
}

// buildDate is the date of the pages; empty where nothing tells it.
func (a *app) buildDate() (string, error) {
	if epoch, ok := a.lookup("SOURCE_DATE_EPOCH"); ok {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", usage(fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", epoch), "unset it, or set it to seconds since 1970")
		}
		return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", nil
	}
	for _, s := range info.Settings {
		if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
			return at.UTC().Format(time.DateOnly), nil
		}
	}
	return "", nil
}

// manPages makes all pages, by the name of their file.
func manPages(root *cobra.Command, date string) map[string]string {
	pages := map[string]string{}
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		switch {
		case isTopic(c):
			pages[manName(c)+".7"] = topicPage(c, date)
		case c.IsAvailableCommand() || c.Name() == "help" || c == root:
			pages[manName(c)+".1"] = commandPage(c, date)
		}
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(root)
	return pages
}

func manName(c *cobra.Command) string {
	if isTopic(c) {
		return manName(c.Parent()) + "-" + c.Annotations[topic]
	}
	return strings.ReplaceAll(c.CommandPath(), " ", "-")
}

func commandPage(c *cobra.Command, date string) string {
	p := newPage(c, "1", date)
	p.heading("SYNOPSIS")
	p.macro("B", c.CommandPath())
	p.text(strings.TrimSpace(strings.TrimPrefix(c.UseLine(), c.CommandPath())))
	p.heading("DESCRIPTION")
	p.paragraphs(strings.TrimSuffix(c.Long, exitHelp))
	if subs := available(c); len(subs) > 0 {
		p.heading("COMMANDS")
		for _, sub := range subs {
			p.item(sub.Name(), "", sub.Short)
		}
	}
	p.heading("OPTIONS")
	p.flags(c.NonInheritedFlags())
	if c.HasAvailableInheritedFlags() {
		p.heading("GLOBAL OPTIONS")
		p.flags(c.InheritedFlags())
	}
	if c.HasExample() {
		p.heading("EXAMPLES")
		p.verbatim(c.Example)
	}
	p.heading("EXIT STATUS")
	for line := range strings.Lines(strings.TrimPrefix(exitHelp, exitHeading)) {
		if code, meaning, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			p.item(code, "", meaning)
		} else {
			p.text(line)
		}
	}
	p.heading("SEE ALSO")
	p.text(strings.Join(seeAlso(c), ", "))
	return p.String()
}

// available are the commands below one.
func available(c *cobra.Command) (subs []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			subs = append(subs, sub)
		}
	}
	return subs
}

// seeAlso names the page above a command, or all of those below the first.
func seeAlso(c *cobra.Command) (pages []string) {
	if c.HasParent() {
		return []string{manName(c.Parent()) + "(1)"}
	}
	for _, sub := range c.Commands() {
		switch {
		case isTopic(sub):
			pages = append(pages, manName(sub)+"(7)")
		case sub.IsAvailableCommand():
			pages = append(pages, manName(sub)+"(1)")
		}
	}
	return pages
}

// topicPage keeps the layout of a topic, at the margin so that it fits.
func topicPage(c *cobra.Command, date string) string {
	p := newPage(c, "7", date)
	p.heading("DESCRIPTION")
	_, body, _ := strings.Cut(c.Long, "\n\n")
	p.verbatim(body)
	p.heading("SEE ALSO")
	p.text("assetferry(1)")
	return p.String()
}

func newPage(c *cobra.Command, section, date string) *page {
	p := &page{}
	p.macro("TH", strings.ToUpper(manName(c)), section, date, "assetferry "+version(), "assetferry")
	p.WriteString(".nh\n.ad l\n") // a command that is broken or stretched cannot be copied
	p.heading("NAME")
	p.text(manName(c) + " - " + c.Short)
	return p
}

// flags lists switches with the names of their values.
func (p *page) flags(f *pflag.FlagSet) {
	f.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, meaning := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		p.item(name, value, meaning)
	})
}
