// Command assetferry moves a library of digital assets into an asset management
// service and proves that it arrived.
//
// This package is wiring: flags become settings, settings become the parts of
// the engine, errors become exit codes and one line with a hint. Each command
// has a file of its own.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], stdEnv())) }
