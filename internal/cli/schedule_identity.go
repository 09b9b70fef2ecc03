package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assetferry/internal/config"
	"assetferry/internal/schedule"
	"assetferry/internal/ui"
)

// identify finds out what a schedule is of, and names it by that: the hash keeps apart two
// sources of the same base name, or one source in two jobs or to two destinations. What may
// change without its being another sync, such as rules, is not in it, nor is the path of the
// configuration: a file that moved gets the same name and is refused by mayReplace, instead
// of a second timer beside the first.
func (a *app) identify(ctx context.Context, n *night, source string, d config.Destination) (err error) {
	name, err := a.sourceName(ctx, source)
	if err != nil {
		return err
	}
	n.source, n.job = source, a.settings.Job
	if a.settings.File != "" {
		if n.config, err = filepath.Abs(a.settings.File); err != nil {
			return err
		}
	}
	var identity string
	if n.destination, identity, err = a.scheduleDestination(ctx, d); err != nil {
		return err
	}
	if n.state = a.settings.State; n.state != "" {
		n.state, err = filepath.Abs(n.state)
	} else {
		n.state, err = config.DefaultState(a.lookup, "any", "")
		n.state = filepath.Dir(n.state)
	}
	h := sha256.New()
	for _, part := range []string{name, n.job, identity, n.state} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	n.Name = fmt.Sprintf("assetferry-%s-%x", cmp.Or(n.job, config.NameFor(source)), h.Sum(nil)[:4])
	return err
}

// scheduleDestination is a destination for people, and what it is whatever its address.
func (a *app) scheduleDestination(ctx context.Context, d config.Destination) (text, identity string, err error) {
	if d.Kind == config.Sandbox { // which has no environment before its first start
		dir, err := config.SandboxDir(a.lookup)
		if d.Workspace == "" {
			return "sandbox in " + dir, dir, err
		}
		return "sandbox in " + dir + ", workspace " + d.Workspace, fmt.Sprintf("%d:%s%s", len(dir), dir, d.Workspace), err
	}
	recorded, err := a.recordedDestination(ctx)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("%s, environment %s, workspace %s", d.URL, recorded.environment, recorded.workspace), recorded.identity(), nil
}

// madeBySchedule begins every unit, so that none of somebody else's is replaced.
const madeBySchedule = "# Made by assetferry schedule, which may replace this file. To change it: systemctl edit.\n"

// header begins each unit of a schedule. It says what the unit is of.
func (n night) header() string {
	var b strings.Builder
	b.WriteString(madeBySchedule)
	for _, line := range [][2]string{
		{"source", n.source}, {"destination", n.destination}, {"job", n.job}, {"configuration", n.config}, {"state", n.state},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "# %-14s %s\n", line[0]+":", ui.Sanitize(line[1]))
		}
	}
	return b.String() + "\n"
}

// mayReplace refuses to take the place of a unit that is not of this very schedule.
func (n night) mayReplace(path string) error {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission) && filepath.Dir(path) == "/etc/systemd/system":
		return nil
	case err != nil:
		return err
	case strings.HasPrefix(string(text), n.header()):
		return nil
	case !strings.HasPrefix(string(text), madeBySchedule):
		return usage(fmt.Errorf("%s exists and was not made by assetferry schedule", ui.Sanitize(path)), "choose another folder with --output, or move the file away")
	}
	theirs, _, _ := strings.Cut(strings.TrimPrefix(string(text), madeBySchedule), "\n\n")
	return usage(fmt.Errorf("%s exists and is of another schedule:\n%s", ui.Sanitize(path), theirs),
		"if it is obsolete, disable its timer and remove it, then run this again:\n    rm "+shellWord(path))
}

// loadCredentials has systemd pass secrets as files.
func (a *app) loadCredentials(n *night, d config.Destination) error {
	found, err := a.settings.CredentialFiles(d)
	if err != nil {
		return err
	}
	for _, c := range found {
		from := c.File
		if from == "" {
			if from, err = n.secretFile(scheduleOptions{ownManager: n.own}, c.ID); err != nil {
				return err
			}
			n.makeSecrets = append(n.makeSecrets, config.CredentialFile{ID: c.ID, Variable: c.Variable, File: from})
		}
		n.Credentials = append(n.Credentials, schedule.Credential{ID: c.ID, File: from, Variable: c.FileVariable})
		n.inherited.Variables = slices.DeleteFunc(n.inherited.Variables, func(v config.Variable) bool {
			return v.Name == c.Variable || v.Name == c.FileVariable
		})
	}
	if len(found) == 0 {
		return usage(errors.New("--load-credential has no secret to pass: none is in an environment variable or a file"),
			"leave it out; or name the destination in the configuration file (to: NAME) and not with --to, and its key with access_key_file")
	}
	return nil
}
