package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/config"
)

func (a *app) rootCommand() *cobra.Command {
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
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetIn(a.stdin)
	root.SetUsageTemplate(usageTemplate(root))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		hint := cmd.CommandPath() + " --help lists the switches"
		if _, unknown := errors.AsType[*pflag.NotExistError](err); unknown && strings.Contains(cmd.Use, " ") { // it may be an ID or a key
			hint += "; an argument that begins with - comes last, after --"
		}
		return usage(err, hint)
	})
	a.addGlobalFlags(root.PersistentFlags())
	root.AddCommand(
		a.demoCommand(),
		a.initCommand(),
		a.doctorCommand(),
		a.planCommand(),
		a.applyCommand(),
		a.migrateCommand(),
		a.syncCommand(),
		a.adoptCommand(),
		a.exportCommand(),
		a.verifyCommand(),
		a.urlsCommand(),
		a.rewriteCommand(),
		a.undoCommand(),
		a.statusCommand(),
		a.runsCommand(),
		a.explainCommand(),
		a.reportCommand(),
		a.assetsCommand(),
		a.enrichCommand(),
		a.aiCommand(),
		a.stateCommand(),
		a.scheduleCommand(),
		a.sandboxCommand(),
		a.manCommand(),
		versionCommand(a),
	)
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

// addExitCodes ends the help of a command, and of those below it, with the exit codes.
func addExitCodes(c *cobra.Command) {
	c.Long = strings.TrimRight(cmp.Or(c.Long, c.Short+"."), "\n") + "\n\n" + exitHelp
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
				return usage(fmt.Errorf("there is no command and no topic %q%s", strings.Join(args, " "), didYouMean(cmd.Root(), args[0])), "assetferry help lists them")
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
		if s, ok := errors.AsType[*stop](err); ok { // which knows better what to try
			return s
		}
		if err != nil {
			return usage(err, cmd.CommandPath()+" --help shows how it is called")
		}
		return nil
	}
}

// one takes exactly one argument, called by its name in messages.
func one(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s: %s is missing", cmd.Name(), name)
		case 1:
			return nil
		}
		return fmt.Errorf("%s: one %s is taken, not %d", cmd.Name(), name, len(args))
	}
}

// atMostOne takes an argument or none.
func atMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return one(name)(cmd, args)
	}
}

// both takes exactly two arguments, called by their names in messages.
func both(first, second string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s: %s is missing", cmd.Name(), first)
		case 1:
			return fmt.Errorf("%s: %s is missing", cmd.Name(), second)
		case 2:
			return nil
		}
		return fmt.Errorf("%s: %s and %s are taken, not %d arguments", cmd.Name(), first, second, len(args))
	}
}

// oneAndMore takes an argument and then at least one of another kind.
func oneAndMore(first, rest string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return both(first, rest)(cmd, args[:min(len(args), 2)])
	}
}

// atLeastOne takes any number of arguments but none.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return one(name)(cmd, args[:min(len(args), 1)])
	}
}

// together refuses switches that contradict each other.
func together(cmd *cobra.Command, one, other, hint string) error {
	if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
		return usage(fmt.Errorf("--%s and --%s exclude each other", one, other), hint)
	}
	return nil
}

func (a *app) addGlobalFlags(f *pflag.FlagSet) {
	f.String("config", "", "read settings from this `file` (default ./assetferry.yaml if it is there)")
	f.String("job", "", "take source and settings of the job of this `name` in the configuration")
	setting(f, "state", "`file` of the state database, on a local disk (default under $XDG_STATE_HOME, one for each destination): it holds names of files, metadata with GPS coordinates, and account names")
	setting(f, "to", "where to write: an address, a `name` from the configuration, or sandbox")
	setting(f, "workspace", "`ID` of the workspace (default: the environment's own)")
	setting(f, "ai-url", "`address` of the AI content service")
	setting(f, "service", "`key` under auth in the token")
	setting(f, "user", "`ID` of the user in the token")
	setting(f, "service-profile", "`file` that doctor --probe wrote about the service: its delays and its order are reckoned with")
	setting(f, "ca-file", "`file` with certificates of private authorities")
	setting(f, "log-file", "append log records to this `file`, as JSON: they hold names of files, hosts and error messages")
	setting(f, "progress", "`kind` of progress")
	f.Bool("compensate-clock", false, "date tokens by the server's clock")
	f.Bool("least-privilege", false, "use tokens of the role user wherever they will do, and of an admin only under /admin/")
	f.Bool("allow-http", false, "allow plain HTTP to other hosts than this one")
	f.Bool("allow-private-networks", false, "follow URLs of files, in tables and in answers of the service, that lead to this machine or into private networks")
	f.Bool("json", false, "write JSON Lines to stdout and nothing else")
	f.Bool("quiet", false, "results and errors only")
	f.Bool("verbose", false, "tell more")
}

// addSelectionFlags adds what decides which objects are taken and where they go.
func addSelectionFlags(f *pflag.FlagSet) {
	f.StringArray("include", nil, "take only objects that match this `glob` (repeatable)")
	f.StringArray("exclude", nil, "leave out objects that match this `glob` (repeatable)")
	f.String("files-from", "", "take only the keys in this `file`, one a line; - is stdin")
	setting(f, "min-age", "leave out objects that changed less than this `duration` ago")
	setting(f, "symlinks", "`policy` for symbolic links")
	setting(f, "category-by", "`what` categories are chosen by")
	setting(f, "category", "put everything into the category of this `name`")
	setting(f, "on-collision", "`policy` for names that differ only in case or Unicode form")
	setting(f, "on-existing", "`policy` where another asset has the name (equal content is taken over; adopt does so with equal size, duplicate sends or moves beside it)")
	setting(f, "duplicates", "`policy` for objects with the same content: an asset for each, or one asset for all that have the same category and extension")
	setting(f, "source-name", "`name` of the source in the journal (default: its absolute path or its address)")
	addS3Flags(f)
	addTableFlags(f)
}

// setting adds the switch of a setting. Its default is shown and not used: a
// switch that is not given leaves the setting to the environment and the file.
func setting(f *pflag.FlagSet, name, help string) {
	for _, k := range config.Keys() {
		if k.Flag != name {
			continue
		}
		if last := len(k.Values) - 1; last > 0 {
			help += ": " + strings.Join(k.Values[:last], ", ") + " or " + k.Values[last]
		}
		if k.Env != "" {
			help += " [$" + k.Env + "]"
		}
		if k.Default != "" {
			help += fmt.Sprintf(" (default %s)", k.Default)
		}
	}
	f.String(name, "", help)
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: a.do(func(context.Context, *cobra.Command, []string) error {
			a.out.Printf("assetferry %s", version())
			return nil
		}),
	}
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
