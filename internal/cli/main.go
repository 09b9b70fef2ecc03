// Package cli is the command line of assetferry: the root command with its help, its topics in
// the folder help, and completions. Flags become settings, settings become the parts of the
// engine, errors become exit codes and one line with a hint. Each group of commands has a
// package below this one, and what they share is in command, cmdline, exit and outcome.
package cli

import (
	"context"
	"slices"

	"assetferry/internal/cli/command"
)

// Main carries out the command that the arguments of this process are, and gives its exit code.
func Main(args []string) (code int) { return run(context.Background(), args, command.StdEnv()) }

// run is Main without the process.
func run(ctx context.Context, args []string, e command.Environment) int {
	f := command.New(e, slices.Contains(args, "--json"))
	root := rootCommand(f)
	if isCompletion(args) {
		addCompletions(f, root)
	}
	root.SetArgs(args)
	return f.Run(ctx, root)
}
