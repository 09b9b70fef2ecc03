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

	"assetferry/internal/manual"
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
	return manual.Pages(root, manual.Options{Date: date, Version: version(), ExitCodes: exitHelp, Topic: topicOf})
}

// topicOf gives what a topic is called; ok is false for a command.
func topicOf(c *cobra.Command) (name string, ok bool) {
	name, ok = c.Annotations[topic]
	return name, ok
}
