// Package cmdline reads and writes command lines: how many arguments a command takes, the flags
// of settings, and commands that a person can paste into a shell.
package cmdline

import (
	"fmt"

	"github.com/spf13/cobra"
)

// One takes exactly one argument, called by its name in messages.
func One(name string) cobra.PositionalArgs {
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

// AtMostOne takes an argument or none.
func AtMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return One(name)(cmd, args)
	}
}

// Both takes exactly two arguments, called by their names in messages.
func Both(first, second string) cobra.PositionalArgs {
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

// OneAndMore takes an argument and then at least one of another kind.
func OneAndMore(first, rest string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return Both(first, rest)(cmd, args[:min(len(args), 2)])
	}
}

// AtLeastOne takes any number of arguments but none.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return One(name)(cmd, args[:min(len(args), 1)])
	}
}
