package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assetferry/internal/ui"
)

// unitFolder is where the manager looks for units.
func (n night) unitFolder() (string, error) {
	if !n.own {
		return "/etc/systemd/system", nil
	}
	config, err := os.UserConfigDir()
	return filepath.Join(config, "systemd", "user"), err
}

// tellUnits prints the commands that install and start the units.
func (a *app) tellUnits(n night, written, folder string) {
	sudo, systemctl, own := "sudo ", "systemctl", ""
	if n.own {
		sudo, systemctl, own = "", "systemctl --user", "--user "
	}
	service, timer := n.Name+".service", n.Name+".timer"
	a.out.Notef("Next:")
	switch {
	case written == "":
		a.out.Notef("    # write the two files to %s; --output writes them into a folder", shellWord(folder))
	case filepath.Clean(written) != folder:
		a.out.Notef("    %sinstall -D -m 644 -t %s %s %s", sudo, shellWord(folder), shellWord(filepath.Join(written, service)), shellWord(filepath.Join(written, timer)))
	}
	a.out.Notef("    %s%s daemon-reload", sudo, systemctl)
	a.out.Notef("    %s%s enable --now %s", sudo, systemctl, timer)
	if n.own {
		a.out.Notef("    loginctl enable-linger    # also while you are not logged in")
	}
	a.out.Notef("    %s%s start %s    # runs it now", sudo, systemctl, n.Name)
	a.out.Notef("    journalctl %s-u %s", own, n.Name)
}

// tellBefore says what has to be done before the first scheduled run.
func (a *app) tellBefore(n night) {
	if n.first != "" {
		a.out.Notef("There was no run of this source yet. Run it once by hand, and see that it ends well:")
		a.out.Notef("    %s", n.first)
	}
	if names := n.shown(); len(names) > 0 {
		a.out.Notef("Copied from this environment, which a scheduled run does not inherit: %s.", strings.Join(names, ", "))
	}
	a.tellSecrets(n)
	if slices.Contains(n.secrets(), "AWS_SESSION_TOKEN") {
		a.out.Notef("The AWS credentials in this environment will expire. Use a profile or a role instead.")
	}
	if n.Helpers {
		a.out.Notef("Credentials come from a program. A scheduled run has no terminal where it could ask.")
	}
	for _, folder := range n.makeFirst {
		a.out.Notef("The folder %s does not exist yet, and a scheduled run cannot make it:", ui.Sanitize(folder))
		a.out.Notef("    mkdir -p -m 700 %s", shellWord(folder))
	}
	if n.root {
		a.out.Notef("The sync will run as root. Better: run schedule as an account that can only read the source.")
	}
	if isTemporary(n.Command[0]) {
		a.out.Notef("This program is in a temporary folder, %s. Install it where it stays, then run schedule again.", ui.Sanitize(filepath.Dir(n.Command[0])))
	}
}

// tellSecrets prints commands that put the secrets of this environment where the schedule
// has them. The shell writes them without another process seeing them in an argument.
func (a *app) tellSecrets(n night) {
	for _, c := range n.makeSecrets {
		a.out.Notef("The secret in %s goes into a file that systemd passes on:", c.Variable)
		a.out.Notef("    printf '%%s\\n' \"$%s\" | %s", c.Variable, n.install(c.File))
	}
	names := n.secrets()
	if len(names) == 0 {
		return
	}
	a.out.Notef("A scheduled run does not inherit %s. Make a file that only %s can read, with a line NAME='value' for each:", strings.Join(names, ", "), n.reader())
	if slices.ContainsFunc(names, func(name string) bool { return !a.isPlainSecret(name) }) {
		a.out.Notef("    %s", strings.ReplaceAll(n.install(n.SecretFile), "/dev/stdin", "/dev/null"))
		return
	}
	var format, values strings.Builder
	for _, name := range names {
		format.WriteString(name + "='%s'\\n")
		values.WriteString(" \"$" + name + "\"")
	}
	a.out.Notef("    printf \"%s\"%s | %s", format.String(), values.String(), n.install(n.SecretFile))
}

// reader is the account that reads the file of variables.
func (n night) reader() string {
	if n.Account != "" && strings.HasPrefix(n.SecretFile, "/etc/") {
		return "root"
	}
	return "you"
}

// isPlainSecret reports whether a variable is set and stands between single quotes as it is.
func (a *app) isPlainSecret(name string) bool {
	value, _ := a.lookup(name)
	return value != "" && !strings.ContainsAny(value, "'\\\r\n")
}

// isTemporary reports whether a program will not stay where it is.
func isTemporary(program string) bool {
	return strings.HasPrefix(program, os.TempDir()+string(filepath.Separator)) || isGoRun(program)
}

// shown are the names of the variables that everybody may see. HOME is the usual one.
func (n night) shown() (names []string) {
	for _, v := range n.Environment {
		if v.Name != "HOME" {
			names = append(names, v.Name)
		}
	}
	return names
}

// install is the end of a command that writes a file with secrets.
func (n night) install(file string) string {
	install := "install -D -m 600 /dev/stdin " + shellWord(file)
	if n.Account != "" && !n.root && strings.HasPrefix(file, "/etc/") {
		install = "sudo " + install
	}
	return install
}
