package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/config"
	"assetferry/internal/flagname"
	"assetferry/internal/ui"
)

type initOptions struct {
	output     string
	force, yes bool
	job        jobOptions
	access     map[string]*string // flags of the destination, by key
}

func (a *app) initCommand() *cobra.Command {
	o := initOptions{access: map[string]*string{}}
	c := &cobra.Command{
		Use:   "init",
		Short: "Write assetferry.yaml with a job, after a few questions",
		Long: `Init writes a configuration file with every setting, its meaning and its
default, and with a job: a source, and what happens to its files. The commands
migrate, sync, plan, doctor, verify, report and schedule then need no arguments.

On a terminal it asks for the destination, for where the access key is found,
for the source, for privacy, conflicts and deletions, and for file types that no
category accepts. Each question has a safe default. Flags answer beforehand. It
never asks for the key itself, sends no request, and ignores any existing
configuration.

In a script, or with --yes, it asks nothing and takes flags and defaults. It
writes a job only with --source. An existing file is kept, unless --force is
given.
`,
		Example: `  assetferry init
  assetferry init --yes --to sandbox --source ./photos --output test.yaml
  assetferry init --yes --source s3://photos --job brand --output brand.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.init(cmd, o, !o.yes && ui.IsTerminal(a.stdin))
		},
	}
	f := c.Flags()
	f.StringVar(&o.output, "output", config.DefaultFile, "write this `file`")
	f.BoolVar(&o.force, "force", false, "replace the file if it exists")
	f.BoolVar(&o.yes, "yes", false, "ask nothing")
	for _, s := range []struct{ key, help string }{
		{"environment", "`ID` of the environment of the service"},
		{"access_key_env", "`name` of the environment variable with the access key"},
		{"access_key_file", "`file` with the access key"},
		{"access_key_command", "`command` that prints the access key"},
	} {
		o.access[s.key] = f.String(flagname.Of(s.key), "", s.help)
	}
	addJobFlags(f, &o.job)
	return c
}

func (a *app) init(cmd *cobra.Command, o initOptions, asks bool) error {
	a.command = cmd.CommandPath()
	a.out = a.newOut(cmd, "none", nil) // and no settings: they are what is made here
	if a.out.JSON() {
		return usage(errors.New("init has no JSON: its output is for people"), "leave --json out")
	}
	if _, err := os.Lstat(o.output); err == nil && !o.force { // before anybody is asked anything
		return usage(fmt.Errorf("%s is there already", o.output), "name another file with --output, or replace it with --force")
	}
	d := dialogue{app: a, in: bufio.NewReader(a.stdin), output: o.output, job: o.job}
	d.template.Meaning = func(flag string) string { return meaningOf(cmd.Root(), flag) }
	if err := d.begin(cmd, o, asks); err != nil {
		return err
	}
	if asks {
		if err := d.ask(cmd.Context()); err != nil {
			return err
		}
	}
	if err := d.saveJob(); err != nil {
		return err
	}
	write := func(w io.Writer) error { _, err := w.Write(d.template.Encode()); return err }
	if err := writeNew(o.output, o.force, write); err != nil {
		return err
	}
	a.out.Printf("Wrote %s.", ui.Sanitize(o.output))
	d.next()
	return nil
}

// meaningOf is what the help says of a setting. These two commands have them all.
func meaningOf(root *cobra.Command, flag string) string {
	for _, command := range [][]string{{"sync"}, {"enrich", "describe"}} {
		c, _, err := root.Find(command)
		if err != nil {
			return ""
		}
		if found := c.Flag(flag); found != nil {
			_, meaning := pflag.UnquoteUsage(found)
			return meaning
		}
	}
	return ""
}

// A dialogue asks for what nobody else can know.
type dialogue struct {
	*app
	in       *bufio.Reader
	output   string
	template config.Template
	key      keyKind
	job      jobOptions
}

// begin takes what the flags say as given.
func (d *dialogue) begin(cmd *cobra.Command, o initOptions, asks bool) error {
	flag := func(name string) string { value, _ := cmd.Flags().GetString(name); return value }
	if to := flag("to"); to != "" {
		if err := d.setTo(to); err != nil {
			return usage(fmt.Errorf("--to: %w", err), "--to sandbox, or an address that begins with https://")
		}
	}
	if workspace := flag("workspace"); workspace != "" {
		if err := d.template.Destination.Put("workspace", workspace); err != nil {
			return usage(fmt.Errorf("--workspace: %w", err), "")
		}
	}
	for key, value := range o.access {
		if *value == "" {
			continue
		}
		if err := d.takeAccess(key, *value); err != nil {
			return usage(fmt.Errorf("--%s: %w", flagname.Of(key), err), "assetferry init --help")
		}
	}
	return d.job.begin(cmd, asks)
}

// takeAccess takes a flag about how the destination is opened.
func (d *dialogue) takeAccess(key, value string) error {
	for _, k := range keyKinds() {
		if k.key == key && d.key.key != "" {
			return errors.New("the access key is found in one place only")
		} else if k.key == key {
			d.key = k
			return d.setKeyPlace(value)
		}
	}
	return d.template.Destination.Put(key, value)
}

const sandboxName = "sandbox"

func (d *dialogue) setTo(to string) error {
	if to == sandboxName {
		d.template.To = sandboxName
		return nil
	}
	if err := d.template.Destination.Put("url", to); err != nil {
		return fmt.Errorf("%w; an address is like https://api.ckbox.io", err)
	}
	d.template.To = config.TemplateName
	return nil
}

// ask asks all questions. It leaves nothing behind when it is interrupted.
func (d *dialogue) ask(ctx context.Context) (err error) {
	put := func(why, prompt, initial string, take func(string) error) {
		if err == nil {
			err = d.put(ctx, why, prompt, initial, take)
		}
	}
	n := &d.template.Destination
	fmt.Fprint(d.stderr, "Enter takes the value in brackets. Nothing is written before the last answer.\n")
	put("The destination: sandbox is a stand-in of the service on this machine, for a\n"+
		"rehearsal. The service is https://api.ckbox.io; an on-premises one has its own URL.",
		"Destination", cmp.Or(n.URL, d.template.To, d.variable("ASSETFERRY_URL"), sandboxName), d.setTo)
	if d.template.To != sandboxName {
		put("The ID of the environment. The service shows it where access keys are made.",
			"Environment ID", cmp.Or(n.Environment, d.variable("ASSETFERRY_ENVIRONMENT_ID")), d.setEnvironment)
		if d.key.key == "" {
			put("Where the access key is found: in an environment variable (env), in a file, or\n"+
				"printed by a command. Do not type the key itself.",
				"Key from", "env", d.setKeyKind)
			put(d.key.what+" with the access key.", d.key.what, d.key.example, d.setKeyPlace)
		}
		put("The workspace. Enter takes the default workspace of the environment.",
			"Workspace ID", cmp.Or(n.Workspace, d.variable("ASSETFERRY_WORKSPACE_ID")), func(id string) error { return n.Put("workspace", id) })
	}
	d.askJob(put)
	return err
}

func (d *dialogue) variable(name string) string { value, _ := d.lookup(name); return value }

// put puts a question until its answer is taken.
func (d *dialogue) put(ctx context.Context, why, prompt, initial string, take func(string) error) error {
	if initial != "" {
		prompt += " [" + ui.Sanitize(initial) + "]"
	}
	fmt.Fprintf(d.stderr, "\n%s\n", why)
	for {
		fmt.Fprintf(d.stderr, "%s: ", prompt)
		answer, err := d.readLine(ctx)
		if err != nil {
			return err
		}
		if err = take(cmp.Or(answer, initial)); err == nil {
			return nil
		}
		fmt.Fprintf(d.stderr, "  %s\n", ui.Sanitize(err.Error()))
	}
}

// readLine reads an answer. Whoever interrupts it is not waited for.
func (d *dialogue) readLine(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := d.in.ReadString('\n')
		done <- read{strings.TrimSpace(line), err}
	}()
	select {
	case r := <-done:
		if r.err != nil { // also after half a line: nobody said that it was one
			fmt.Fprintln(d.stderr)
			return "", &stop{exitError, errors.New("the questions were not answered, so nothing was written"), "answer them, or use --yes for a file without answers"}
		}
		return r.line, nil
	case <-ctx.Done():
		fmt.Fprintln(d.stderr)
		return "", context.Cause(ctx)
	}
}

func (d *dialogue) setEnvironment(id string) error {
	if id == "" {
		return errors.New("without it nothing can be sent")
	}
	return d.template.Destination.Put("environment", id)
}

// A keyKind is a way to an access key.
type keyKind struct {
	kind, what, key, example string
}

func keyKinds() []keyKind {
	return []keyKind{
		{"env", "Variable", "access_key_env", "ASSETFERRY_ACCESS_KEY"},
		{"file", "File", "access_key_file", "access.key"},
		{"command", "Command", "access_key_command", "pass show assetferry"},
	}
}

func (d *dialogue) setKeyKind(kind string) error {
	for _, k := range keyKinds() {
		if k.kind == kind {
			d.key = k
			return nil
		}
	}
	return errors.New("env, file or command")
}

// setKeyPlace never repeats its answer: somebody may have typed the key.
func (d *dialogue) setKeyPlace(place string) error {
	switch {
	case d.key.kind == "env" && !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(place):
		return errors.New("that is not the name of a variable, which has letters, digits and _ only")
	case d.key.kind == "file" && !d.isThere(place):
		fmt.Fprint(d.stderr, "  There is no such file yet; put the key there before the first run.\n")
	}
	return d.template.Destination.Put(d.key.key, place)
}

// isThere looks for a file as the configuration will: beside itself.
func (d *dialogue) isThere(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.output), path)
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// beatsFile are the variables that lead a command to another destination than the answers,
// unless --to names the one in the file.
func (d *dialogue) beatsFile() (names []string) {
	n := d.template.Destination
	for _, v := range [][2]string{{"ASSETFERRY_URL", n.URL}, {"ASSETFERRY_ENVIRONMENT_ID", n.Environment}, {"ASSETFERRY_WORKSPACE_ID", n.Workspace}} {
		value := d.variable(v[0])
		answered := v[1] != "" && d.template.To != sandboxName || v[0] == "ASSETFERRY_URL"
		if value != "" && value != v[1] && answered {
			names = append(names, v[0])
		}
	}
	return names
}

// next prints commands that work as they are.
func (d *dialogue) next() {
	var flags, source []string
	if filepath.Clean(d.output) != config.DefaultFile || d.variable("ASSETFERRY_CONFIG") != "" {
		flags = withValue("config", d.output)
	}
	if d.template.Job == nil {
		source = []string{"./photos"}
	}
	switch {
	case d.template.To == "":
		d.out.Printf("The file names no destination yet. A rehearsal with the sandbox:\n")
		flags = append(flags, "--to", sandboxName)
	case len(d.beatsFile()) > 0:
		d.out.Notef("The environment beats the file: %s. The commands below have --to, which beats both.", strings.Join(d.beatsFile(), ", "))
		flags = append(flags, "--to", d.template.To)
		d.out.Printf("Next:\n")
	default:
		d.out.Printf("Next:\n")
	}
	d.out.Printf("    %s", commandLine("doctor", flags, source...))
	d.out.Printf("    %s", commandLine("plan", flags, source...))
	d.out.Printf("    %s", commandLine("migrate", append([]string{"--limit", "500"}, flags...), source...))
	if d.template.Job == nil {
		return
	}
	d.out.Printf("From then on:\n")
	d.out.Printf("    %s", commandLine("sync", flags))
	if scheduleIsForUnix() == nil {
		d.out.Printf("    %s", commandLine("schedule", flags))
	}
}
