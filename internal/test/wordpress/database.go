//go:build wordpress

package wordpress

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// startDatabase starts a MariaDB of its own, without a port.
func (s *Site) startDatabase() {
	s.t.Helper()
	data := filepath.Join(s.dir, "data")
	user := []string{}
	if os.Getuid() == 0 {
		user = append(user, "--user=root")
	}
	install := exec.Command("mariadb-install-db", append([]string{"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db"}, user...)...)
	if out, err := install.CombinedOutput(); err != nil {
		s.t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	s.start(exec.Command(mariadbd(), append([]string{"--no-defaults", "--datadir=" + data, "--socket=" + s.socket, "--skip-networking",
		"--pid-file=" + filepath.Join(s.dir, "pid"), "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M"}, user...)...), "sql.log")
	s.waitFor("MariaDB", func() error { return dial("unix", s.socket) }, "sql.log")
	s.sql("", "CREATE DATABASE wordpress CHARACTER SET utf8mb4")
}

// mariadbd returns the path of the server, which Debian installs outside the PATH of users.
func mariadbd() string {
	if path, err := exec.LookPath("mariadbd"); err == nil {
		return path
	}
	return "/usr/sbin/mariadbd"
}

// SQL runs a query on the database of the site, and returns the columns of each row, byte for byte.
func (s *Site) SQL(query string) [][]string {
	s.t.Helper()
	return s.sql("wordpress", query)
}

func (s *Site) sql(database, query string) (rows [][]string) {
	s.t.Helper()
	cmd := exec.Command("mariadb", "--no-defaults", "--socket="+s.socket, "--user=root", "--batch", "--skip-column-names", "--default-character-set=utf8mb4", database)
	cmd.Stdin = strings.NewReader(query)
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s: %v\n%s", query, err, problems.String())
	}
	for line := range strings.Lines(out.String()) {
		var row []string
		for column := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\t") {
			row = append(row, unescape.Replace(column))
		}
		rows = append(rows, row)
	}
	return rows
}

// unescape is the inverse of the escapes of the client's batch form.
var unescape = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00", `\\`, `\`)
