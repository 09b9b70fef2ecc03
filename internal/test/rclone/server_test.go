//go:build rclone

package rclone

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/rclone"
)

// newest returns the newest rclone, which serves the storages of the tests.
func newest(t *testing.T) rclone.Program {
	t.Helper()
	return slices.MaxFunc(programs(t), func(a, b rclone.Program) int {
		switch {
		case a.Version.Before(b.Version):
			return -1
		case b.Version.Before(a.Version):
			return 1
		}
		return 0
	})
}

// environment returns the environment without settings of the machine that change the storages.
func environment(extra ...string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "AWS_") || strings.HasPrefix(v, "RCLONE_")
	}), extra...)
}

// configFile returns a file with the configuration of a remote.
func configFile(tb testing.TB, config string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "rclone.conf")
	must(tb, os.WriteFile(path, []byte(config), 0o600))
	return path
}

// command returns a command of a program.
func command(p rclone.Program, args ...string) *exec.Cmd {
	c := exec.Command(p.Path, args...) // no context: a server ends after the test
	c.Env = environment()
	return c
}

// startServer starts a program as the product does.
func startServer(tb testing.TB, p rclone.Program, config string, extra ...string) *rclone.Server {
	tb.Helper()
	environ := environment(append(extra, "RCLONE_CONFIG="+configFile(tb, config))...)
	s, err := rclone.Start(tb.Context(), p, rclone.Options{Environ: environ, Connections: 16})
	must(tb, err)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
