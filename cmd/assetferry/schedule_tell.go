package main

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

// tellUnits says how units come to work that were written into a folder, or into none.
func (a *app) tellUnits(n night, written, folder string) {
	sudo, systemctl, own := "sudo ", "systemctl", ""
	if n.own {
		sudo, systemctl, own = "", "systemctl --user", "--user "
	}
	service, timer := n.Name+".service", n.Name+".timer"
	a.out.Notef("Next:")
	switch {
	case written == "":
		a.out.Notef("    have these two files in %s, as --output writes them", shellWord(folder))
	case filepath.Clean(written) != folder:
		a.out.Notef("    %sinstall -D -m 644 -t %s %s %s", sudo, shellWord(folder), shellWord(filepath.Join(written, service)), shellWord(filepath.Join(written, timer)))
	}
	a.out.Notef("    %s%s daemon-reload", sudo, systemctl)
	a.out.Notef("    %s%s enable --now %s", sudo, systemctl, timer)
	if n.own {
		a.out.Notef("    loginctl enable-linger    # or it works only while you are logged in")
	}
	a.out.Notef("    %s%s start %s    # a first run, now", sudo, systemctl, n.Name)
	a.out.Notef("    journalctl %s-u %s", own, n.Name)
}

// tellBefore says what has to be seen to before the first night.
func (a *app) tellBefore(n night) {
	if names := n.shown(); len(names) > 0 {
		a.out.Notef("Taken over from this environment, which is not there at night: %s.", strings.Join(names, ", "))
	}
	if names := n.secrets(); len(names) > 0 {
		a.out.Notef("At night there is no %s. Make a file that nobody else can read, with a line NAME='value' for each:", strings.Join(names, ", "))
		a.out.Notef("    %s", n.makeSecretFile())
	}
	if slices.Contains(n.secrets(), "AWS_SESSION_TOKEN") {
		a.out.Notef("The credentials of AWS in this environment will expire; a profile or a role lasts.")
	}
	if n.Helpers {
		a.out.Notef("Credentials come from a program. At night it has no terminal, and little more on its PATH than /usr/local/bin, /usr/bin and /bin.")
	}
	for _, folder := range n.makeFirst {
		a.out.Notef("There is no folder %s yet, and it is not made at night: mkdir -p -m 700 %s", ui.Sanitize(folder), shellWord(folder))
	}
	if n.root {
		a.out.Notef("It will run as root. An account that can read the source and nothing else is enough: run schedule as that one.")
	}
	if strings.HasPrefix(n.Command[0], os.TempDir()+string(filepath.Separator)) {
		a.out.Notef("This program is in a folder for temporary files, %s; install it where it stays.", ui.Sanitize(filepath.Dir(n.Command[0])))
	}
}

// shown are the names of the variables that everybody may see.
func (n night) shown() (names []string) {
	for _, v := range n.Environment {
		names = append(names, v.Name)
	}
	return names
}

// makeSecretFile is a command that makes the file for secrets.
func (n night) makeSecretFile() string {
	install := "install -D -m 600 /dev/null " + shellWord(n.SecretFile)
	if n.Account != "" && !n.root && strings.HasPrefix(n.SecretFile, "/etc/") {
		install = "sudo " + install
	}
	return install
}
