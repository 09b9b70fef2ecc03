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

// dayLimit is the time limit of a run without --max-duration: it must end before the next one starts.
const dayLimit = 23 * time.Hour

// Options describe a scheduled sync.
type Options struct {
	Settings        *config.Settings
	Lookup          config.Env
	To              config.Destination
	Inherited       config.Inheritance // variables and files that the settings require
	Source          string             // in a form that is valid in any folder
	At              config.TimeOfDay
	Program         string   // path of this program
	Flags           []string // in addition to those of the settings
	Files           []string // paths in these flags
	Identity        Identity
	Cron            bool // instead of systemd
	UserUnit        bool // for the service manager of the account
	LoadCredentials bool // pass secrets as files
	Temporary       bool // the program is in a temporary folder
}

// A Job is a daily sync and the steps to prepare it.
type Job struct {
	Task
	Options
	First string // command to run first; empty if there was a run

	root        bool
	makeFirst   []string                // missing folders
	config      string                  // the file
	state       string                  // the file or its folder
	makeSecrets []config.CredentialFile // to be written to files of Credentials
}

// NewJob returns the job of a source.
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
	_, isRemote := config.RemoteOf(o.Source)
	j.Helpers, j.Large = j.Inherited.Helper || isRemote, isRemote
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

// longest returns the time after which a run counts as hanging.
func (j *Job) longest() time.Duration {
	if d := j.Settings.MaxDuration; d > 0 {
		return d + time.Hour
	}
	return dayLimit
}

// command returns the command line. It does not depend on the working directory.
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

// places collects the paths that a run reads and writes.
func (j *Job) places() error {
	j.Read = j.Inherited.Read
	if !config.IsURL(j.Source) {
		j.Read = append([]string{j.Source}, j.Read...)
	} else if path, ok := config.TableOf(j.Source); ok { // the folder may get another table
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
	j.Log = filepath.Join(ours, j.Name+".log") // not next to the state database, which may be in the source
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
	if j.Settings.File == "" || j.Helpers { // a settings file in another folder would be read
		folder, err := os.Getwd()
		j.Folder = folder
		return err
	}
	return nil
}

// missingFolders returns the missing folders that no run creates: the service cannot create any, and
// the shell of cron does not create the folder of the log.
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

// namedBy returns the files and folders in variables.
func namedBy(variables []config.Variable) (found []string) {
	for _, v := range variables {
		if filepath.IsAbs(v.Value) {
			found = append(found, v.Value)
		}
	}
	return found
}

// elsewhere returns the targets of paths with symbolic links, which must exist, too.
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
