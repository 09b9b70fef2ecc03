package schedule

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"time"

	"assetferry/internal/config"
)

// dayLimit is how long a run may take that has no limit of its own: the next one must find
// it over.
const dayLimit = 23 * time.Hour

// Options are what is to be scheduled.
type Options struct {
	Settings        *config.Settings
	Lookup          config.Env
	To              config.Destination
	Inherited       config.Inheritance // what the settings need
	Source          string             // as it is called from any folder
	At              config.TimeOfDay
	Program         string   // the path of ours
	Flags           []string // besides those of settings
	Files           []string // that these flags name
	Identity        Identity
	Cron            bool // and not systemd
	UserUnit        bool // for the manager of the account itself
	LoadCredentials bool // secrets are passed as files
	Temporary       bool // the program will not stay where it is
}

// A Job is a sync that is started every day, and what has to be seen to before.
type Job struct {
	Task
	Options
	First string // a command that has to run before; empty: it did

	root        bool
	makeFirst   []string                // folders that are not there
	config      string                  // the file
	state       string                  // the file or its folder
	makeSecrets []config.CredentialFile // that become files of Credentials
}

// NewJob puts together what is started for a source.
func NewJob(o Options) (*Job, error) {
	account, err := user.Current()
	if err != nil {
		return nil, err
	}
	j := &Job{Options: o, root: account.Uid == "0"}
	j.Inherited.Variables = append(j.Inherited.Variables, j.others()...)
	j.Hour, j.Minute, j.Limit = o.At.Hour, o.At.Minute, j.longest()
	if err := j.identify(); err != nil {
		return nil, err
	}
	j.About = fmt.Sprintf("Sync of %s (assetferry)", o.Source)
	j.Helpers = j.Inherited.Helper
	if !o.UserUnit {
		j.Account = account.Username
	}
	j.Inherited.Read = append(j.Inherited.Read, o.Files...)
	if j.Command, err = j.command(append(j.Inherited.Switches, o.Flags...)); err != nil {
		return nil, err
	}
	if o.LoadCredentials {
		if err := j.loadCredentials(); err != nil {
			return nil, err
		}
	}
	if err := j.places(); err != nil {
		return nil, err
	}
	j.makeFirst = j.missingFolders()
	return j, j.environ()
}

// longest is when a run hangs.
func (j *Job) longest() time.Duration {
	if d := j.Settings.MaxDuration; d > 0 {
		return d + time.Hour
	}
	return dayLimit
}

// command is the command line, without anything that depends on a folder.
func (j *Job) command(switches []string) ([]string, error) {
	command := []string{j.Program, "sync"}
	if j.Settings.Job == "" {
		command = append(command, j.Source)
	} else {
		command = append(command, "--job", j.Settings.Job)
	}
	if j.Settings.File != "" {
		file, err := filepath.Abs(j.Settings.File)
		if err != nil {
			return nil, err
		}
		command = append(command, "--config", file)
	}
	return append(command, switches...), nil
}

// places finds out what has to be read and written.
func (j *Job) places() error {
	j.Read = j.Inherited.Read
	if !config.IsAddress(j.Source) {
		j.Read = append([]string{j.Source}, j.Read...)
	} else if path, ok := config.TableOf(j.Source); ok { // another table is put into the same folder
		j.Read = append(slices.Concat(existing(filepath.Dir(path)), existing(j.Settings.TableRoot)), j.Read...)
	} else if home, ok := j.Lookup("HOME"); ok {
		j.Read = append(j.Read, existing(filepath.Join(home, ".aws"))...)
	}
	for _, f := range j.Inherited.Written {
		j.Written = append(j.Written, filepath.Dir(f))
	}
	ours, err := config.DefaultState(j.Lookup, "any", "")
	if err != nil {
		return err
	}
	ours = filepath.Dir(ours)
	j.Log = filepath.Join(ours, j.Name+".log") // and not beside a journal that may be in the source
	if j.Settings.State == "" {
		j.Written = append(j.Written, ours)
	}
	if j.To.Kind == config.Sandbox {
		dir, err := config.SandboxDir(j.Lookup)
		if err != nil {
			return err
		}
		j.Written = append(j.Written, dir)
	}
	slices.Sort(j.Written)
	j.Written = slices.Compact(j.Written)
	j.Read = append(j.Read, namedBy(j.Inherited.Variables)...)
	j.Read = append(j.Read, elsewhere(j.Command[:1], j.Read, j.Written)...)
	if j.Settings.File == "" || j.Helpers { // a file of settings in another folder would count
		folder, err := os.Getwd()
		j.Folder = folder
		return err
	}
	return nil
}

// missingFolders are the folders that are not there and that no run makes: the service can
// make none, and cron's shell does not make that of the log.
func (j *Job) missingFolders() []string {
	folders := j.Written
	switch {
	case j.Cron:
		folders = []string{filepath.Dir(j.Log)}
	case j.UserUnit:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(folders), func(folder string) bool {
		_, err := os.Stat(folder)
		return err == nil
	})
}

// namedBy are the files and folders that variables name.
func namedBy(variables []config.Variable) (found []string) {
	for _, v := range variables {
		if filepath.IsAbs(v.Value) {
			found = append(found, v.Value)
		}
	}
	return found
}

// elsewhere is where paths lead that have links in them: that must be there, too.
func elsewhere(paths ...[]string) (found []string) {
	for _, path := range slices.Concat(paths...) {
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			found = append(found, real)
		}
	}
	return found
}

func existing(path string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []string{path}
}
