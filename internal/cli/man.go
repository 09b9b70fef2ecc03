package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/manual"
	"assetferry/internal/ui"
)

func manCommand(f *command.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages to a folder",
		Long: `Man writes a manual page for each command and each help topic. Pages of topics
are in section 7. Man creates the folder if necessary and replaces existing
pages. The date of the pages is SOURCE_DATE_EPOCH, or the date of the build.
`,
		Example:           "  assetferry man share/man",
		Args:              cmdline.One("DIR"),
		ValidArgsFunction: cmdline.Directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Out = f.NewOut(cmd, "none", nil) // without settings
			return man(f, cmd.Root(), args[0])
		},
	}
}

func man(f *command.Factory, root *cobra.Command, dir string) error {
	date, err := buildDate(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.Usage(fmt.Errorf("create the folder of the pages: %w", err), "name another folder")
	}
	pages := manPages(root, date)
	for name, page := range pages {
		write := func(w io.Writer) error { _, err := io.WriteString(w, page); return err }
		if err := command.WriteNew(filepath.Join(dir, name), true, write); err != nil {
			return err
		}
	}
	f.Out.Printf("Wrote %s to %s.", ui.Counted(int64(len(pages)), "page"), ui.Sanitize(dir))
	return nil
}

// buildDate returns the date of the pages; empty if it is not known.
func buildDate(f *command.Factory) (string, error) {
	if epoch, ok := f.Lookup("SOURCE_DATE_EPOCH"); ok {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", exit.Usage(fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", epoch), "unset it, or set it to seconds since 1970")
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

// manPages returns all pages by their file names.
func manPages(root *cobra.Command, date string) map[string]string {
	return manual.Pages(root, manual.Options{Date: date, Version: cmdline.Version(), ExitCodes: manualCodes, Flags: manualFlags, Topic: topicOf})
}

// manualCodes lists the exit codes of a command for its page.
func manualCodes(c *cobra.Command) (list []manual.Item) {
	for _, code := range exitCodesOf(c) {
		list = append(list, manual.Item{Name: strconv.Itoa(code.code), Meaning: code.text})
	}
	return list
}

// manualFlags lists all flags of a command for its page, in the sections of its help.
func manualFlags(c *cobra.Command) (sections []manual.Section) {
	first, rest := cmdline.Common(c)
	global, restGlobal := cmdline.CommonGlobal(c)
	add := func(title string, flags []*pflag.Flag) {
		if len(flags) > 0 {
			sections = append(sections, manual.Section{Title: title, Items: manualItems(flags)})
		}
	}
	add("Common flags", first)
	for _, g := range cmdline.Groups(rest) {
		add(g.Title, g.Flags)
	}
	add("Global flags", global)
	for _, g := range cmdline.Groups(restGlobal) {
		add(g.Title, g.Flags)
	}
	return sections
}

func manualItems(flags []*pflag.Flag) (list []manual.Item) {
	for _, f := range flags {
		kind, meaning := cmdline.Describe(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		list = append(list, manual.Item{Name: name, Kind: kind, Meaning: meaning})
	}
	return list
}

// topicOf returns the name of a topic; ok is false for a command.
func topicOf(c *cobra.Command) (name string, ok bool) {
	name, ok = c.Annotations[topic]
	return name, ok
}
