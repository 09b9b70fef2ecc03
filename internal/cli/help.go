package cli

import (
	"embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help/*.txt
var helpTexts embed.FS

// topic marks a command that is a help topic, and holds the name of the topic.
const topic = "topic"

// addTopics adds the help topics. A topic is a file whose first line is its title. A topic with
// the name of a command gets another name, because cobra would run either of the two.
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
			Use: use, Short: about, Long: about + "\n\n" + long,
			Annotations: map[string]string{topic: called},
		})
	}
}

func isTopic(c *cobra.Command) bool {
	_, is := c.Annotations[topic]
	return is
}

// topicsFirst has help show a topic instead of the command with the same name, which has --help.
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

// topicCalled returns the topic with a name; nil if there is none.
func topicCalled(root *cobra.Command, name []string) *cobra.Command {
	for _, c := range root.Commands() {
		if len(name) == 1 && isTopic(c) && c.Annotations[topic] == name[0] {
			return c
		}
	}
	return nil
}

// rewordCobra gives the commands that cobra adds texts like those of the others.
func rewordCobra(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Use = "help [COMMAND|TOPIC]"
			c.Short = "Show help for a command or topic"
			c.Long = "Help describes a command or topic. Without an argument, help lists all commands\nand topics."
		case "completion":
			c.Short = "Print a completion script for a shell"
			c.Long = "Completion prints a script that completes commands, flags and values in a shell.\nThe help of each command below shows how to load it."
			for _, sub := range c.Commands() {
				text := shellTexts[sub.Name()]
				sub.Short, sub.Long, sub.DisableFlagsInUseLine = "Print the completion script for "+text.name, text.long, false
			}
		}
	}
}

// shellTexts are the names of shells, and the help of the commands that print their completion
// scripts, by command.
var shellTexts = map[string]struct{ name, long string }{
	"bash": {"bash", `Bash prints the completion script for bash. The script needs the package
bash-completion. To load the script in the current shell:

  source <(assetferry completion bash)

To load it in each new shell on Linux:

  assetferry completion bash > /etc/bash_completion.d/assetferry

To load it in each new shell on macOS:

  assetferry completion bash > $(brew --prefix)/etc/bash_completion.d/assetferry`},
	"fish": {"fish", `Fish prints the completion script for fish. To load the script in the current
shell:

  assetferry completion fish | source

To load it in each new shell:

  assetferry completion fish > ~/.config/fish/completions/assetferry.fish`},
	"powershell": {"PowerShell", `Powershell prints the completion script for PowerShell. The following line loads
the script in the current shell. To load it in each new shell, add the line to
your PowerShell profile.

  assetferry completion powershell | Out-String | Invoke-Expression`},
	"zsh": {"zsh", `Zsh prints the completion script for zsh. If completion is not enabled in zsh,
enable it once:

  echo "autoload -U compinit; compinit" >> ~/.zshrc

To load the script in the current shell:

  source <(assetferry completion zsh)

To load it in each new shell on Linux:

  assetferry completion zsh > "${fpath[1]}/_assetferry"

To load it in each new shell on macOS:

  assetferry completion zsh \
    > "$(brew --prefix)/share/zsh/site-functions/_assetferry"`},
}

// commandGroups lists the commands in the order of the help.
var commandGroups = []struct{ title, commands string }{
	{"Getting started:", "demo init doctor sandbox"},
	{"Migration:", "plan rehearse apply migrate sync adopt verify undo export"},
	{"Results:", "status runs explain report certificate urls rewrite assets permissions"},
	{"AI descriptions:", "enrich ai"},
	{"Maintenance:", "schedule state completion man help version"},
}

// groupCommands has the help list commands in groups.
func groupCommands(root *cobra.Command) {
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for name := range strings.FieldsSeq(g.commands) {
			if c := below(root, name); c != nil {
				c.GroupID = g.title
			}
		}
	}
}

// below returns a command by its name; nil if there is none.
func below(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}
