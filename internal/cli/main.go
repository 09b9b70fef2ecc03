// Package cli is the command line of assetferry: the root command, its help with the topics in the
// folder help, and completions. Each group of commands has a package below this one. The packages
// command, cmdline, exit and outcome are shared.
package cli

import (
	"context"
	"os"
	"slices"

	"assetferry/internal/cli/command"
	"assetferry/internal/rclone"
)

// Main runs the command in the arguments of this process, and returns its exit code.
//
// Where the system does not end child processes, the program is also the supervisor of rclone.
func Main(args []string) (code int) {
	if len(args) > 1 && args[0] == rclone.SuperviseArg {
		return rclone.Supervise(args[1:], os.Stdin)
	}
	return run(context.Background(), args, command.StdEnv())
}

// run is Main in an environment of its own, for tests.
func run(ctx context.Context, args []string, e command.Environment) int {
	f := command.New(e, slices.Contains(args, "--json"))
	root := rootCommand(f)
	if isCompletion(args) {
		addCompletions(f, root)
	}
	root.SetArgs(args)
	return f.Run(ctx, root)
}
