package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/setupcmd"
	"assetferry/internal/config"
	"assetferry/internal/flagname"
	"assetferry/internal/pattern"
	"assetferry/internal/ui"
	"assetferry/internal/wizard"
)

type initOptions struct {
	output     string
	force, yes bool
	source     string
	private    bool
	access     map[string]*string // flags of the destination, by key
}

func initCommand(f *command.Factory) *cobra.Command {
	o := initOptions{access: map[string]*string{}}
	c := &cobra.Command{
		Use:   "init",
		Short: "Create a configuration file with a job",
		Long: `Init writes a configuration file with a job and with every setting, its meaning
and its default. A job has a source and rules for its files. The commands
migrate, sync, plan, doctor, verify, report and schedule then need no arguments.

On a terminal, init asks about the destination, the location of the access key,
the source, privacy, conflicts, deletions, and unsupported file types. Each
question has a safe default. A flag replaces a question. Init never asks for the
key itself, sends no request, and ignores any existing configuration.

In a script, or with --yes, init asks nothing and uses flags and defaults. It
writes a job only with --source. It replaces an existing file only with --force.
`,
		Example: `  assetferry init
  assetferry init --yes --to sandbox --source ./photos --output test.yaml
  assetferry init --yes --source s3://photos --job brand --output brand.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runInit(f, cmd, o, !o.yes && ui.IsTerminal(f.Stdin))
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.output, "output", config.DefaultFile, "write to this `file`")
	flags.BoolVar(&o.force, "force", false, "replace the file if it exists")
	flags.BoolVar(&o.yes, "yes", false, "ask no questions")
	for _, s := range []struct{ key, help string }{
		{"environment", "`ID` of the environment of the service"},
		{"access_key_env", "`name` of the environment variable with the access key"},
		{"access_key_file", "`file` with the access key"},
		{"access_key_command", "`command` that prints the access key"},
	} {
		o.access[s.key] = flags.String(flagname.Of(s.key), "", s.help)
	}
	flags.StringVar(&o.source, "source", "", "`source` of the job: a folder, a bucket or a table")
	flags.BoolVar(&o.private, "private", false, "upload only into private categories")
	cmdline.Setting(flags, "on-existing", "handling of an asset with the same name and different content")
	cmdline.Setting(flags, "on-collision", "handling of names that differ only in case or Unicode form")
	cmdline.Setting(flags, "delete", "handling of assets whose objects were deleted at the source")
	cmdline.Setting(flags, "grace-period", "`duration` between the deletion of an object and the trashing of its asset")
	cmdline.Setting(flags, "unsupported", "handling of file types that no category accepts")
	return c
}

func runInit(f *command.Factory, cmd *cobra.Command, o initOptions, asks bool) error {
	f.Command = cmd.CommandPath()
	f.Out = f.NewOut(cmd, "none", nil) // without settings
	if f.Out.JSON() {
		return exit.Usage(errors.New("init has no JSON output"), "omit --json")
	}
	if _, err := os.Lstat(o.output); err == nil && !o.force { // before any question
		return exit.Usage(fmt.Errorf("%s exists", o.output), "name another file with --output, or replace it with --force")
	}
	w := wizard.New(wizard.Options{In: f.Stdin, Screen: f.Stderr, Lookup: f.Lookup, Output: o.output, CheckURL: command.CheckURL})
	w.Template.Meaning = func(flag string) string { return meaningOf(cmd.Root(), flag) }
	if err := o.fill(cmd, w, asks); err != nil {
		return err
	}
	if asks {
		err := w.Ask(cmd.Context())
		if errors.Is(err, wizard.ErrUnanswered) {
			return exit.With(exit.CodeError, err, "answer them, or use --yes for a file without answers")
		} else if err != nil {
			return err
		}
	}
	file, err := w.Encode()
	if err != nil {
		return err
	}
	write := func(to io.Writer) error { _, err := to.Write(file); return err }
	if err := command.WriteNew(o.output, o.force, write); err != nil {
		return err
	}
	f.Out.Printf("Wrote %s.", ui.Sanitize(o.output))
	showAfterInit(f, w, o.output)
	return nil
}

// notInFile matches the parts of a help text that a configuration file says in another way: it
// shows the default as the value, and has lists.
var notInFile = pattern.Lazy(` \((default [^()]*|repeatable)\)`)

// settingText makes the comment of a setting of the meaning of its flag, and of its values.
func settingText(meaning string, values []string) string {
	text := notInFile().ReplaceAllString(meaning, "")
	if last := len(values) - 1; last > 0 {
		text += " (" + strings.Join(values[:last], ", ") + " or " + values[last] + ")"
	}
	return text + "."
}

// meaningOf returns the comment of a setting. These two commands have the flags of all settings.
func meaningOf(root *cobra.Command, flag string) string {
	for _, command := range [][]string{{"sync"}, {"enrich", "describe"}} {
		c, _, err := root.Find(command)
		if err != nil {
			return ""
		}
		if found := c.Flag(flag); found != nil {
			_, meaning := cmdline.Describe(found)
			return settingText(meaning, cmdline.Values(flag))
		}
	}
	return ""
}

// fill gives the flags to a wizard.
func (o initOptions) fill(cmd *cobra.Command, w *wizard.Wizard, asks bool) error {
	flag := func(name string) string { value, _ := cmd.Flags().GetString(name); return value }
	if to := flag("to"); to != "" {
		if err := w.SetDestination(to); err != nil {
			return exit.Usage(fmt.Errorf("--to: %w", err), "use --to sandbox, or a URL that begins with https://")
		}
	}
	if workspace := flag("workspace"); workspace != "" {
		if err := w.Template.Destination.Put("workspace", workspace); err != nil {
			return exit.Usage(fmt.Errorf("--workspace: %w", err), "")
		}
	}
	for key, value := range o.access {
		if *value == "" {
			continue
		}
		if err := w.SetAccess(key, *value); err != nil {
			return exit.Usage(fmt.Errorf("--%s: %w", flagname.Of(key), err), "show the usage:\n  assetferry init --help")
		}
	}
	return o.fillJob(cmd, w, asks)
}

// fillJob gives the flags of the job to a wizard.
func (o initOptions) fillJob(cmd *cobra.Command, w *wizard.Wizard, asks bool) error {
	job := &w.Job
	job.Source, job.Private = o.source, o.private
	job.Name, _ = cmd.Flags().GetString("job")
	if job.Name != "" && !config.IsName(job.Name) {
		return exit.Usage(fmt.Errorf("--job: %q cannot be the name of a job", job.Name), `use letters, digits and ".-_"`)
	}
	if err := w.CheckSource(o.source); o.source != "" && err != nil {
		return exit.Usage(fmt.Errorf("--source: %w", err), command.KindsOfSources)
	}
	needs := []string{"job", "private"}
	for i := range job.Settings {
		s := &job.Settings[i]
		flag := flagname.Of(s.Key)
		needs = append(needs, flag)
		if !cmd.Flags().Changed(flag) {
			continue
		}
		s.Value, _ = cmd.Flags().GetString(flag)
		if err := config.CheckSetting(s.Key, s.Value); err != nil {
			return exit.Usage(fmt.Errorf("--%s: %w", flag, err), "")
		}
	}
	for _, flag := range needs {
		if cmd.Flags().Changed(flag) && o.source == "" && !asks {
			return exit.Usage(fmt.Errorf("--%s needs --source", flag), "add --source")
		}
	}
	return nil
}

// showAfterInit prints commands that can be pasted.
func showAfterInit(f *command.Factory, w *wizard.Wizard, output string) {
	var flags, source []string
	if named, _ := f.Lookup("ASSETFERRY_CONFIG"); named != "" || filepath.Clean(output) != config.DefaultFile {
		flags = cmdline.WithValue("config", output)
	}
	if w.Template.Job == nil {
		source = []string{"./photos"}
	}
	switch {
	case w.Template.To == "":
		f.Out.Printf("The file has no destination yet. A test with the sandbox:\n")
		flags = append(flags, "--to", wizard.Sandbox)
	case len(w.BeatsFile()) > 0:
		f.Out.Notef("The environment beats the file: %s. The commands below have --to, which beats both.", strings.Join(w.BeatsFile(), ", "))
		flags = append(flags, "--to", w.Template.To)
		f.Out.Printf("Next:\n")
	default:
		f.Out.Printf("Next:\n")
	}
	f.Out.Printf("    %s", cmdline.Line("doctor", flags, source...))
	f.Out.Printf("    %s", cmdline.Line("plan", flags, source...))
	f.Out.Printf("    %s", cmdline.Line("migrate", append([]string{"--limit", "500"}, flags...), source...))
	if w.Template.Job == nil {
		return
	}
	f.Out.Printf("From then on:\n")
	f.Out.Printf("    %s", cmdline.Line("sync", flags))
	if setupcmd.ScheduleIsForUnix() == nil {
		f.Out.Printf("    %s", cmdline.Line("schedule", flags))
	}
}
