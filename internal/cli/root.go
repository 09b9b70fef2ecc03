package cli

import (
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
	"assetferry/internal/cli/evidencecmd"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/migratecmd"
	"assetferry/internal/cli/permissionscmd"
	"assetferry/internal/cli/sandboxcmd"
	"assetferry/internal/cli/setupcmd"
	"assetferry/internal/cli/statecmd"
	"assetferry/internal/cli/urlcmd"
)

func rootCommand(f *command.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "assetferry",
		Short: "Migrate digital assets to an asset management service",
		Long: `Migrate digital assets to CKBox or a compatible asset management service, and
keep the service in sync with the source. You can resume, verify and undo runs.

Start with the demo, which requires no setup. Then read the first topic:
  assetferry demo
  assetferry help getting-started
`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(f.Stdout)
	root.SetErr(f.Stderr)
	root.SetIn(f.Stdin)
	root.SetHelpFunc(showHelp)
	root.SetFlagErrorFunc(wrongFlag)
	addGlobalFlags(f, root.PersistentFlags())
	addHelpFlags(root.PersistentFlags())
	root.AddCommand(subcommands(f)...)
	addTopics(root)
	root.InitDefaultHelpCmd()
	topicsFirst(root)
	root.InitDefaultCompletionCmd()
	rewordCobra(root)
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
		migratecmd.NewRehearseCommand(f),
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
		evidencecmd.NewCommand(f),
		assetcmd.NewCommand(f),
		permissionscmd.NewCommand(f),
		enrichcmd.NewCommand(f),
		aicmd.NewCommand(f),
		statecmd.NewStateCommand(f),
		setupcmd.NewScheduleCommand(f),
		sandboxcmd.NewCommand(f),
		manCommand(f),
		versionCommand(f),
	}
}

// wrongFlag is the error of a flag that cannot be read. It also shows the help of --help-all.
func wrongFlag(c *cobra.Command, err error) error {
	if errors.Is(err, errHelpAll) {
		writeHelp(c.OutOrStdout(), c, true)
		return exit.Said(exit.CodeDone)
	}
	hint := "list the flags"
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = invalidValue(invalid)
	} else if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if unknown.GetSpecifiedShortnames() == "" {
			err = fmt.Errorf("%w%s", err, suggestFlag(c, unknown.GetSpecifiedName()))
		} else if strings.Contains(c.Use, " ") { // it may be an ID or a key
			hint = "write arguments that begin with - last, after --, or list the flags"
		}
	}
	return exit.Usage(err, hint+":\n  "+c.CommandPath()+" --help-all")
}

// invalidValue words the error of a flag value that is not of its type. Values that check
// themselves already say what they accept.
func invalidValue(err *pflag.InvalidValueError) error {
	f := err.GetFlag()
	expected := map[string]string{"int": "a number", "int64": "a number", "duration": "a duration such as 30s, 10m or 24h", "bool": "true or false"}[f.Value.Type()]
	if expected == "" {
		return err
	}
	return fmt.Errorf("--%s: %q is not %s", f.Name, err.GetValue(), expected)
}

// noCommand refuses arguments of a command that only has others below it.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), didYouMean(args[0], namesBelow(c)))
}

// groupOnly marks a command that does nothing itself.
const groupOnly = "group only"

// mistakesAreUsage makes mistakes in the arguments of a command, and of those
// below it, usage errors.
func mistakesAreUsage(c *cobra.Command) {
	switch {
	case c.Name() == "help":
		c.Args = usageArgs(func(cmd *cobra.Command, args []string) error {
			if found, _, err := cmd.Root().Find(args); err != nil || found == cmd.Root() && len(args) > 0 {
				return exit.Usage(fmt.Errorf("there is no command and no topic %q%s", strings.Join(args, " "), didYouMean(args[0], namesBelow(cmd.Root()))), "list the commands and topics:\n  assetferry help")
			}
			return nil
		})
	case isTopic(c):
	case !c.Runnable(): // cobra would show its help, whatever the argument
		c.Annotations = map[string]string{groupOnly: "true"}
		c.Args, c.RunE = usageArgs(noCommand), func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
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
		if s, ok := errors.AsType[*exit.Error](err); ok { // it has a better hint
			return s
		}
		if err != nil {
			return exit.Usage(err, "show the usage:\n  "+cmd.CommandPath()+" --help")
		}
		return nil
	}
}

func addGlobalFlags(f *command.Factory, flags *pflag.FlagSet) {
	flags.String("config", "", "configuration `file` (default ./assetferry.yaml, if it exists)")
	flags.String("job", "", "use the source and settings of the job with this `name` in the configuration")
	cmdline.Setting(flags, "state", "state database `file` on a local disk; contains file names, metadata and account names (default: one per destination under $XDG_STATE_HOME)")
	cmdline.Setting(flags, "to", "`destination`: a name in the configuration, a URL, or sandbox")
	cmdline.Setting(flags, "workspace", "`ID` of the workspace (default: that of the environment)")
	cmdline.Setting(flags, "ai-url", "`URL` of the AI content service")
	cmdline.Setting(flags, "service", "`key` under auth in the token")
	cmdline.Setting(flags, "user", "user `ID` in the token")
	cmdline.Setting(flags, "service-profile", "`file` with delays and list order of the service, from doctor --probe")
	cmdline.Setting(flags, "ca-file", "`file` with certificates of private certificate authorities")
	cmdline.Setting(flags, "log-file", "append log records as JSON to this `file`; contains file names, hosts and error messages")
	cmdline.Setting(flags, "progress", "kind of progress display")
	flags.Bool("compensate-clock", false, "date tokens by the clock of the server")
	flags.Bool("least-privilege", false, "use admin tokens only for paths below /admin/")
	flags.Bool("allow-http", false, "allow plain HTTP to hosts other than this machine")
	flags.Bool("allow-private-networks", false, "follow file URLs from tables and from the service into private networks")
	flags.Bool("json", false, "write JSON Lines to stdout, and nothing else")
	flags.Bool("quiet", false, "show only results and errors")
	flags.Bool("verbose", false, "show more details")
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
