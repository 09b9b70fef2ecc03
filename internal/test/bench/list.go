package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"assetferry/sources/local"
)

// listMode is the first argument of a helper process that lists a directory: "bare" with the
// standard library only, or as a source.
const listMode = "list"

func list(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("list needs a method and a directory")
	}
	n, dir := 0, args[1]
	if args[0] == "bare" {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if _, err := e.Info(); err != nil {
				return err
			}
			n++
		}
		fmt.Println(n)
		return nil
	}
	s, err := local.New(dir, local.Options{})
	if err != nil {
		return err
	}
	for _, err := range s.Objects(ctx, "") {
		if err != nil {
			return err
		}
		n++
	}
	fmt.Println(n)
	return nil
}
