//go:build wordpress

package wordpress

import (
	"os/exec"
	"strings"
)

// Dump returns tables as the SQL statements that load them again, as wp db export writes them.
func (s *Site) Dump(tables ...string) string {
	s.t.Helper()
	cmd := exec.Command("mariadb-dump", append([]string{"--no-defaults", "--socket=" + s.socket, "--user=root", "--default-character-set=utf8mb4", "wordpress"}, tables...)...)
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("dump: %v\n%s", err, problems.String())
	}
	return out.String()
}

// Load executes SQL statements, as wp db import does.
func (s *Site) Load(statements string) {
	s.t.Helper()
	s.sql("wordpress", statements)
}
