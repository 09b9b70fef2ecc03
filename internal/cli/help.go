package cli

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help/*.txt
var helpTexts embed.FS

// topic marks a command that is only there to be read about, and holds what it is called.
const topic = "topic"

// addTopics adds what assetferry help can tell beside its commands. A topic is a
// file whose first line says what it is about. One that is called like a command is kept under
// another name: of two of a name, cobra runs whichever its sorting happens to put first.
func addTopics(root *cobra.Command) {
	entries, err := helpTexts.ReadDir("help")
	if err != nil {
		panic(err) // embedded at build time
	}
	for _, e := range entries {
		text, err := helpTexts.ReadFile("help/" + e.Name())
		if err != nil {
			panic(err) // embedded at build time
		}
		about, long, _ := strings.Cut(string(text), "\n\n")
		called := strings.TrimSuffix(e.Name(), ".txt")
		use := called
		if slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == called }) {
			use += "-topic"
		}
		root.AddCommand(&cobra.Command{
			Use: use, Short: about, Long: about + ".\n\n" + long,
			Annotations: map[string]string{topic: called},
		})
	}
}

func isTopic(c *cobra.Command) bool {
	_, is := c.Annotations[topic]
	return is
}

// topicsFirst has help show a topic rather than the command of the same name, whose
// switches its own --help lists.
func topicsFirst(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // it is one of cobra's
	}
	showCommand := help.Run
	help.Run = func(cmd *cobra.Command, args []string) {
		if t := topicCalled(root, args); t != nil {
			cobra.CheckErr(t.Help())
			return
		}
		showCommand(cmd, args)
	}
}

// topicCalled is nil if no topic has the name.
func topicCalled(root *cobra.Command, name []string) *cobra.Command {
	for _, c := range root.Commands() {
		if len(name) == 1 && isTopic(c) && c.Annotations[topic] == name[0] {
			return c
		}
	}
	return nil
}

// usageTemplate is cobra's, within 80 columns and with topics as they are asked for.
func usageTemplate(root *cobra.Command) string {
	return strings.NewReplacer(
		".FlagUsages", ".FlagUsagesWrapped 80",
		"for more information about a command.", "for more about a command.",
		"Additional help topics:", "Topics of assetferry help:",
		"{{rpad .CommandPath .CommandPathPadding}}", `{{rpad (index .Annotations "topic") .NamePadding}} `,
	).Replace(root.UsageTemplate())
}

// groupCommands has help list commands by what they are for.
func groupCommands(root *cobra.Command) {
	for _, g := range []struct{ title, commands string }{
		{"To begin:", "demo init doctor sandbox"},
		{"To migrate:", "plan apply migrate sync adopt verify undo export"},
		{"To see and to tell:", "status runs explain report urls rewrite assets"},
		{"To describe what arrived:", "enrich ai"},
		{"To look after it:", "schedule state completion man help version"},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for name := range strings.FieldsSeq(g.commands) {
			for _, c := range root.Commands() {
				if c.Name() == name {
					c.GroupID = g.title
				}
			}
		}
	}
}

// didYouMean suggests the command or topic that somebody mistyped, if there is one.
func didYouMean(root *cobra.Command, typed string) string {
	best := ""
	for _, c := range root.Commands() {
		if strings.HasPrefix(c.Name(), typed) {
			best = c.Name()
		}
	}
	if found := root.SuggestionsFor(typed); best == "" && len(found) > 0 {
		best = found[0]
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
