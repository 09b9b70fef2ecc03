package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/aicmd"
	"assetferry/internal/cli/assetcmd"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/enrichcmd"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/migratecmd"
	"assetferry/internal/cli/sandboxcmd"
	"assetferry/internal/cli/setupcmd"
	"assetferry/internal/cli/statecmd"
	"assetferry/internal/cli/urlcmd"
)

func rootCommand(f *command.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "assetferry",
		Short: "Move a library of digital assets into an asset management service, and prove it",
		Long: `assetferry moves a library of digital assets into an asset management service
(CKBox and compatible): it lists a source, decides for every object what has to
happen and why, carries that out resumably, and proves the result.

Start with "assetferry demo": it needs nothing and shows everything.
"assetferry help getting-started" goes on from there.
`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	root.SetOut(f.Stdout)
	root.SetErr(f.Stderr)
	root.SetIn(f.Stdin)
	root.SetUsageTemplate(usageTemplate(root))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		hint := cmd.CommandPath() + " --help lists the switches"
		if _, unknown := errors.AsType[*pflag.NotExistError](err); unknown && strings.Contains(cmd.Use, " ") { // it may be an ID or a key
			hint += "; an argument that begins with - comes last, after --"
		}
		return exit.Usage(err, hint)
	})
	addGlobalFlags(f, root.PersistentFlags())
	root.AddCommand(subcommands(f)...)
	for _, c := range root.Commands() {
		addExitCodes(c)
	}
	addTopics(root)
	root.InitDefaultHelpCmd()
	topicsFirst(root)
	root.InitDefaultCompletionCmd()
	groupCommands(root)
	mistakesAreUsage(root)
	return root
}

// subcommands are those below the root.
func subcommands(f *command.Factory) []*cobra.Command {
	return []*cobra.Command{
		setupcmd.NewDemoCommand(f),
		initCommand(f),
		setupcmd.NewDoctorCommand(f),
		migratecmd.NewPlanCommand(f),
		migratecmd.NewApplyCommand(f),
		migratecmd.NewMigrateCommand(f),
		migratecmd.NewSyncCommand(f),
		migratecmd.NewAdoptCommand(f),
		migratecmd.NewExportCommand(f),
		migratecmd.NewVerifyCommand(f),
		urlcmd.NewURLsCommand(f),
		urlcmd.NewRewriteCommand(f),
		migratecmd.NewUndoCommand(f),
		statecmd.NewStatusCommand(f),
		statecmd.NewRunsCommand(f),
		statecmd.NewExplainCommand(f),
		statecmd.NewReportCommand(f),
		assetcmd.NewCommand(f),
		enrichcmd.NewCommand(f),
		aicmd.NewCommand(f),
		statecmd.NewStateCommand(f),
		setupcmd.NewScheduleCommand(f),
		sandboxcmd.NewCommand(f),
		manCommand(f),
		versionCommand(f),
	}
}

// addExitCodes ends the help of a command, and of those below it, with the exit codes.
func addExitCodes(c *cobra.Command) {
	c.Long = strings.TrimRight(cmp.Or(c.Long, c.Short+"."), "\n") + "\n\n" + exit.Help
	for _, sub := range c.Commands() {
		addExitCodes(sub)
	}
}

// mistakesAreUsage makes mistakes in the arguments of a command, and of those
// below it, usage errors.
func mistakesAreUsage(c *cobra.Command) {
	switch {
	case c.Name() == "help":
		c.Args = usageArgs(func(cmd *cobra.Command, args []string) error {
			if found, _, err := cmd.Root().Find(args); err != nil || found == cmd.Root() && len(args) > 0 {
				return exit.Usage(fmt.Errorf("there is no command and no topic %q%s", strings.Join(args, " "), didYouMean(cmd.Root(), args[0])), "assetferry help lists them")
			}
			return nil
		})
	case isTopic(c):
	case !c.Runnable(): // cobra would show its help, whatever the argument
		c.Args, c.RunE = usageArgs(cobra.NoArgs), func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	case c.Args != nil:
		c.Args = usageArgs(c.Args)
	}
	for _, sub := range c.Commands() {
		mistakesAreUsage(sub)
	}
}

// usageArgs makes mistakes in arguments usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if s, ok := errors.AsType[*exit.Error](err); ok { // which knows better what to try
			return s
		}
		if err != nil {
			return exit.Usage(err, cmd.CommandPath()+" --help shows how it is called")
		}
		return nil
	}
}

func addGlobalFlags(f *command.Factory, flags *pflag.FlagSet) {
	flags.String("config", "", "read settings from this `file` (default ./assetferry.yaml if it is there)")
	flags.String("job", "", "take source and settings of the job of this `name` in the configuration")
	cmdline.Setting(flags, "state", "`file` of the state database, on a local disk (default under $XDG_STATE_HOME, one for each destination): it holds names of files, metadata with GPS coordinates, and account names")
	cmdline.Setting(flags, "to", "where to write: an address, a `name` from the configuration, or sandbox")
	cmdline.Setting(flags, "workspace", "`ID` of the workspace (default: the environment's own)")
	cmdline.Setting(flags, "ai-url", "`address` of the AI content service")
	cmdline.Setting(flags, "service", "`key` under auth in the token")
	cmdline.Setting(flags, "user", "`ID` of the user in the token")
	cmdline.Setting(flags, "service-profile", "`file` that doctor --probe wrote about the service: its delays and its order are reckoned with")
	cmdline.Setting(flags, "ca-file", "`file` with certificates of private authorities")
	cmdline.Setting(flags, "log-file", "append log records to this `file`, as JSON: they hold names of files, hosts and error messages")
	cmdline.Setting(flags, "progress", "`kind` of progress")
	flags.Bool("compensate-clock", false, "date tokens by the server's clock")
	flags.Bool("least-privilege", false, "use tokens of the role user wherever they will do, and of an admin only under /admin/")
	flags.Bool("allow-http", false, "allow plain HTTP to other hosts than this one")
	flags.Bool("allow-private-networks", false, "follow URLs of files, in tables and in answers of the service, that lead to this machine or into private networks")
	flags.Bool("json", false, "write JSON Lines to stdout and nothing else")
	flags.Bool("quiet", false, "results and errors only")
	flags.Bool("verbose", false, "tell more")
}

func versionCommand(f *command.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: f.Do(func(context.Context, *cobra.Command, []string) error {
			f.Out.Printf("assetferry %s", cmdline.Version())
			return nil
		}),
	}
}
