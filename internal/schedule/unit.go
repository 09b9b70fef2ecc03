package schedule

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assetferry/internal/config"
	"assetferry/internal/hint"
	"assetferry/internal/shell"
	"assetferry/internal/ui"
)

// An Identity distinguishes schedules.
type Identity struct {
	Source         string // name of the source
	Destination    string // for display
	DestinationKey string // independent of the URL
}

// identify sets the name of a schedule. Its hash distinguishes two sources with the same base name,
// and one source in two jobs or for two destinations. It does not contain what may change without
// another schedule, such as rules. It does not contain the path of the configuration either: after a
// move of that file, MayReplace refuses the unit with the same name, and there is no second timer.
func (j *Job) identify() (err error) {
	if j.Settings.File != "" {
		if j.config, err = filepath.Abs(j.Settings.File); err != nil {
			return err
		}
	}
	if j.state = j.Settings.State; j.state != "" {
		j.state, err = filepath.Abs(j.state)
	} else {
		j.state, err = config.DefaultState(j.Lookup, "any", "")
		j.state = filepath.Dir(j.state)
	}
	h := sha256.New()
	for _, part := range []string{j.Identity.Source, j.Settings.Job, j.Identity.DestinationKey, j.state} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	j.Name = fmt.Sprintf("assetferry-%s-%x", cmp.Or(j.Settings.Job, config.NameFor(j.Source)), h.Sum(nil)[:4])
	return err
}

// madeBySchedule begins every unit. Units without it are never replaced.
const madeBySchedule = "# Made by assetferry schedule, which may replace this file. To change it: systemctl edit.\n"

// header returns the first lines of each unit, which identify the schedule.
func (j *Job) header() string {
	var b strings.Builder
	b.WriteString(madeBySchedule)
	for _, line := range [][2]string{
		{"source", j.Source}, {"destination", j.Identity.Destination}, {"job", j.Settings.Job}, {"configuration", j.config}, {"state", j.state},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "# %-14s %s\n", line[0]+":", ui.Sanitize(line[1]))
		}
	}
	return b.String() + "\n"
}

// MayReplace returns an error if a path has a unit that does not belong to this schedule.
func (j *Job) MayReplace(path string) error {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission) && filepath.Dir(path) == "/etc/systemd/system":
		return nil
	case err != nil:
		return err
	case strings.HasPrefix(string(text), j.header()):
		return nil
	case !strings.HasPrefix(string(text), madeBySchedule):
		return hint.Usage(fmt.Errorf("%s exists and was not made by assetferry schedule", ui.Sanitize(path)), "choose another folder with --output, or move the file away")
	}
	theirs, _, _ := strings.Cut(strings.TrimPrefix(string(text), madeBySchedule), "\n\n")
	return hint.Usage(fmt.Errorf("%s exists and belongs to another schedule:\n%s", ui.Sanitize(path), theirs),
		"if it is obsolete, disable its timer, remove the file, and run this command again:\n  rm "+shell.Word(path))
}

// A Unit is a unit with its file name.
type Unit struct{ Name, Text string }

// Units returns the service and the timer.
func (j *Job) Units() ([]Unit, error) {
	service, err := j.Service()
	if err != nil {
		return nil, err
	}
	return []Unit{{j.Name + ".service", j.header() + service}, {j.Name + ".timer", j.header() + j.Timer()}}, nil
}

// UnitFolder returns the folder where systemd reads units.
func (j *Job) UnitFolder() (string, error) {
	if !j.UserUnit {
		return "/etc/systemd/system", nil
	}
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "systemd", "user"), err
}
