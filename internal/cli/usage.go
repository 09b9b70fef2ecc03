package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/config"
	"assetferry/internal/pattern"
	"assetferry/internal/ui"
)

// helpColumns is the width that every help page keeps to.
const helpColumns = 80

// errHelpAll stops the parsing of flags at --help-all.
var errHelpAll = errors.New("help with all flags")

// helpAll is the value of --help-all, which stops the command like --help.
type helpAll struct{}

func (helpAll) String() string   { return "false" }
func (helpAll) Set(string) error { return errHelpAll }
func (helpAll) Type() string     { return "bool" }

func addHelpFlags(f *pflag.FlagSet) {
	f.BoolP("help", "h", false, "show this help")
	f.Var(helpAll{}, "help-all", "show the help with all flags")
	f.Lookup("help-all").NoOptDefVal = "true"
}

// showHelp is the help function of all commands.
func showHelp(c *cobra.Command, _ []string) { writeHelp(c.OutOrStdout(), c, false) }

// writeHelp writes the help of a command or a topic: examples before flags, and the flags that most
// people need before all others. It lists the others only if all is set.
func writeHelp(w io.Writer, c *cobra.Command, all bool) {
	if isTopic(c) {
		fmt.Fprintln(w, strings.TrimSpace(c.Long))
		return
	}
	text := strings.TrimSpace(c.Long)
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n", text)
	if c.Runnable() && c.HasParent() {
		fmt.Fprintln(w, "  "+c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintln(w, "  "+c.CommandPath()+" COMMAND [flags]")
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	writeCommands(w, c)
	first, rest := cmdline.Common(c)
	title := "Flags:"
	if len(rest) > 0 {
		title = "Common flags:"
	}
	writeFlags(w, title, first)
	if all {
		writeGroups(w, rest)
	}
	if c.Flags().Lookup("preset") != nil {
		writePresets(w)
	}
	global, restGlobal := cmdline.CommonGlobal(c)
	writeFlags(w, "Global flags:", global)
	if all {
		writeGroups(w, restGlobal)
	}
	writeExitCodes(w, c)
	writeMore(w, c, all, rest)
}

// writeMore ends a help page with the commands that show the omitted parts.
func writeMore(w io.Writer, c *cobra.Command, all bool, rest []*pflag.Flag) {
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help shows help for a command.\n", c.CommandPath())
	}
	switch {
	case all:
	case len(rest) == 0:
		fmt.Fprintf(w, "\n%s --help-all lists all global flags.\n", c.CommandPath())
	default:
		var titles []string
		for _, g := range cmdline.Groups(rest) {
			titles = append(titles, g.Title)
		}
		text := fmt.Sprintf("%s --help-all lists %d more flags: %s.", c.CommandPath(), len(rest), strings.Join(titles, ", "))
		fmt.Fprintf(w, "\n%s\n", strings.Join(wrapHelp(text, helpColumns), "\n"))
	}
}

// subject returns the title of a topic without the part before the colon, which repeats the name of
// the topic.
func subject(title string) string {
	_, text, found := strings.Cut(title, ": ")
	if !found || text == "" {
		return title
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// writeCommands lists the commands below one, and below the first the topics as well.
func writeCommands(w io.Writer, c *cobra.Command) {
	var topics, others [][2]string
	for _, sub := range c.Commands() {
		switch {
		case isTopic(sub):
			topics = append(topics, [2]string{sub.Annotations[topic], subject(sub.Short)})
		case sub.GroupID == "" && (sub.IsAvailableCommand() || sub.Name() == "help"):
			others = append(others, [2]string{sub.Name(), sub.Short})
		}
	}
	if !c.HasParent() {
		for _, g := range commandGroups {
			var rows [][2]string
			for name := range strings.FieldsSeq(g.commands) {
				if sub := below(c, name); sub != nil {
					rows = append(rows, [2]string{name, sub.Short})
				}
			}
			writeRows(w, g.title, rows, 0)
		}
	}
	writeRows(w, "Commands:", others, 0)
	writeRows(w, "Topics (assetferry help TOPIC):", topics, 0)
}

// writeGroups lists flags in their sections.
func writeGroups(w io.Writer, flags []*pflag.Flag) {
	for _, g := range cmdline.Groups(flags) {
		writeFlags(w, g.Title+":", g.Flags)
	}
}

// flagColumn is the widest name of a flag that has its meaning on the same line.
const flagColumn = 28

func writeFlags(w io.Writer, title string, flags []*pflag.Flag) {
	var rows [][2]string
	for _, f := range flags {
		kind, meaning := cmdline.Describe(f)
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		rows = append(rows, [2]string{strings.TrimRight(name+" "+kind, " "), meaning})
	}
	writeRows(w, title, rows, flagColumn-2)
}

// writeRows writes names with their meaning beside them. A name that is wider than the column has
// its meaning below; without a limit the column fits all names.
func writeRows(w io.Writer, title string, rows [][2]string, limit int) {
	if len(rows) == 0 {
		return
	}
	column := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]); limit == 0 || n <= limit {
			column = max(column, n)
		}
	}
	if column == 0 {
		column = 8
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, r := range rows {
		lines := wrapHelp(r[1], helpColumns-column-4)
		if utf8.RuneCountInString(r[0]) > column {
			fmt.Fprintln(w, "  "+r[0])
		} else {
			fmt.Fprintf(w, "  %-*s  %s\n", column, r[0], lines[0])
			lines = lines[1:]
		}
		for _, line := range lines {
			fmt.Fprintf(w, "  %*s  %s\n", column, "", line)
		}
	}
}

// writePresets lists the presets with the flags that each stands for.
func writePresets(w io.Writer) {
	var rows [][2]string
	for _, p := range config.Presets() {
		rows = append(rows, [2]string{p.Name, p.About + ": " + strings.Join(p.Flags(), " ")})
	}
	writeRows(w, "Presets (precedence: flag, environment, job, rest of the file, preset, default):", rows, 0)
}

func writeExitCodes(w io.Writer, c *cobra.Command) {
	fmt.Fprintln(w, "\nExit codes:")
	for _, code := range exitCodesOf(c) {
		lines := wrapHelp(code.text, helpColumns-7)
		fmt.Fprintf(w, "  %3d  %s\n", code.code, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(w, "       %s\n", line)
		}
	}
	if !c.HasParent() {
		fmt.Fprintf(w, "\nCommands can return other codes (%s help exit-codes).\n", c.CommandPath())
	}
}

// together matches parts of a text that stay on one line: a default, a variable, a flag with its
// value, and any other word.
var together = pattern.Lazy(`\(default [^()]{1,30}\)\S*|\[\$\w+\]\S*|\(?--[a-z0-9-]+ (?:[A-Z]+|[a-z0-9/]*[0-9][a-z0-9/]*|[a-z]+(?:\|[a-z-]+)+)(?:[).,;:]+|\b)|\S+`)

// wrapHelp breaks a text into lines of at most columns characters.
func wrapHelp(text string, columns int) []string {
	return ui.Fill(together().FindAllString(text, -1), columns)
}
