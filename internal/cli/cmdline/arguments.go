// Package cmdline reads and writes command lines: numbers of arguments, flags of settings and their
// sections in the help, and commands that a person can paste into a shell.
package cmdline

import (
	"fmt"

	"github.com/spf13/cobra"
)

// One accepts exactly one argument. Messages call it by its name.
func One(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s: %s is missing", cmd.Name(), name)
		case 1:
			return nil
		}
		return fmt.Errorf("%s: expected one %s, got %d", cmd.Name(), name, len(args))
	}
}

// AtMostOne accepts one argument or none.
func AtMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return One(name)(cmd, args)
	}
}

// Both accepts exactly two arguments.
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
		return fmt.Errorf("%s: expected %s and %s, got %d arguments", cmd.Name(), first, second, len(args))
	}
}

// OneAndMore accepts one argument, and then at least one of another kind.
func OneAndMore(first, rest string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return Both(first, rest)(cmd, args[:min(len(args), 2)])
	}
}

// AtLeastOne accepts one argument or more.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return One(name)(cmd, args[:min(len(args), 1)])
	}
}
