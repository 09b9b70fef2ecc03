package schedule

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assetferry/internal/shell"
	"assetferry/internal/ui"
)

// steps are lines of instructions.
type steps []string

func (s *steps) add(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// Install returns the commands that install and start the units. The folder written is empty if the
// units were only printed.
func (j *Job) Install(written, folder string) []string {
	var s steps
	sudo, systemctl, own := "sudo ", "systemctl", ""
	if j.UserUnit {
		sudo, systemctl, own = "", "systemctl --user", "--user "
	}
	service, timer := j.Name+".service", j.Name+".timer"
	s.add("Next:")
	switch {
	case written == "":
		s.add("    # copy the two files to %s; --output FOLDER writes them", shell.Word(folder))
	case filepath.Clean(written) != folder:
		s.add("    %sinstall -D -m 644 -t %s %s %s", sudo, shell.Word(folder), shell.Word(filepath.Join(written, service)), shell.Word(filepath.Join(written, timer)))
	}
	s.add("    %s%s daemon-reload", sudo, systemctl)
	s.add("    %s%s enable --now %s", sudo, systemctl, timer)
	if j.UserUnit {
		s.add("    loginctl enable-linger    # run also while you are logged out")
	}
	s.add("    %s%s start %s    # starts a run now", sudo, systemctl, j.Name)
	s.add("    journalctl %s-u %s", own, j.Name)
	return s
}

// Before returns the steps before the first scheduled run.
func (j *Job) Before() []string {
	var s steps
	if j.First != "" {
		s.add("This source has no run yet. Run the command once by hand and check the result:")
		s.add("    %s", j.First)
	}
	if names := j.shown(); len(names) > 0 {
		into := "unit"
		if j.Cron {
			into = "line"
		}
		s.add("Written into the %s, because a scheduled run does not inherit them: %s.", into, strings.Join(names, ", "))
	}
	j.addSecrets(&s)
	if slices.Contains(j.secrets(), "AWS_SESSION_TOKEN") {
		s.add("The AWS credentials in this environment will expire. Use a profile or a role instead.")
	}
	if j.Inherited.Helper {
		s.add("A program prints the credentials. It must not ask: a scheduled run has no terminal.")
	}
	for _, folder := range j.makeFirst {
		s.add("A scheduled run cannot create the folder %s. Create it:", ui.Sanitize(folder))
		s.add("    mkdir -p -m 700 %s", shell.Word(folder))
	}
	if j.root {
		s.add("The sync will run as root. To avoid that, run schedule as an account that can only read the source.")
	}
	if j.Temporary {
		s.add("This program is in the temporary folder %s. Install it elsewhere, then run schedule again.", ui.Sanitize(filepath.Dir(j.Command[0])))
	}
	return s
}

// addSecrets adds commands that write the secrets of this environment into the files of the schedule.
// The shell writes them, so that no process has them as an argument.
func (j *Job) addSecrets(s *steps) {
	for _, c := range j.makeSecrets {
		s.add("Write the secret in %s to the file that systemd passes to the service:", c.Variable)
		s.add("    printf '%%s\\n' \"$%s\" | %s", c.Variable, j.install(c.File))
	}
	names := j.secrets()
	if len(names) == 0 {
		return
	}
	s.add("A scheduled run does not inherit %s. Create a file that only %s can read, with a line NAME='value' for each:", strings.Join(names, ", "), j.reader())
	if slices.ContainsFunc(names, func(name string) bool { return !j.isPlainSecret(name) }) {
		s.add("    %s", strings.ReplaceAll(j.install(j.SecretFile), "/dev/stdin", "/dev/null"))
		return
	}
	var format, values strings.Builder
	for _, name := range names {
		format.WriteString(name + "='%s'\\n")
		values.WriteString(" \"$" + name + "\"")
	}
	s.add("    printf \"%s\"%s | %s", format.String(), values.String(), j.install(j.SecretFile))
}

// reader returns the account that reads the file of variables.
func (j *Job) reader() string {
	if j.Account != "" && strings.HasPrefix(j.SecretFile, "/etc/") {
		return "root"
	}
	return "you"
}

// isPlainSecret reports whether a variable is set and needs no escape between single quotes.
func (j *Job) isPlainSecret(name string) bool {
	value, _ := j.Lookup(name)
	return value != "" && !strings.ContainsAny(value, "'\\\r\n")
}

// shown returns the names of the public variables without HOME, which is always there.
func (j *Job) shown() (names []string) {
	for _, v := range j.Environment {
		if v.Name != "HOME" {
			names = append(names, v.Name)
		}
	}
	return names
}

// install returns the end of a command that writes a file with secrets.
func (j *Job) install(file string) string {
	install := "install -D -m 600 /dev/stdin " + shell.Word(file)
	if j.Account != "" && !j.root && strings.HasPrefix(file, "/etc/") {
		install = "sudo " + install
	}
	return install
}
