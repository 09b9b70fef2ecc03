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

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/manual"
	"assetferry/internal/ui"
)

func manCommand(f *command.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages into a folder",
		Long: `Man writes a manual page for each command, and one in section 7 for each topic
of assetferry help. The folder is made if it is not there, and pages that are in
it are replaced. The pages are the same every time: their date is that of the
build, or SOURCE_DATE_EPOCH.
`,
		Example:           "  assetferry man share/man",
		Args:              cmdline.One("DIR"),
		ValidArgsFunction: cmdline.Directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Out = f.NewOut(cmd, "none", nil) // and no settings: none is needed
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
		return exit.Usage(fmt.Errorf("make the folder of the pages: %w", err), "name another folder")
	}
	pages := manPages(root, date)
	for name, page := range pages {
		write := func(w io.Writer) error { _, err := io.WriteString(w, page); return err }
		if err := command.WriteNew(filepath.Join(dir, name), true, write); err != nil {
			return err
		}
	}
	f.Out.Printf("Wrote %s into %s.", ui.Counted(int64(len(pages)), "page"), ui.Sanitize(dir))
	return nil
}

// buildDate is the date of the pages; empty where nothing tells it.
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

// manPages makes all pages, by the name of their file.
func manPages(root *cobra.Command, date string) map[string]string {
	return manual.Pages(root, manual.Options{Date: date, Version: cmdline.Version(), ExitCodes: exit.Help, Topic: topicOf})
}

// topicOf gives what a topic is called; ok is false for a command.
func topicOf(c *cobra.Command) (name string, ok bool) {
	name, ok = c.Annotations[topic]
	return name, ok
}
