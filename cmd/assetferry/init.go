package main

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
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/config"
	"assetferry/internal/ui"
)

type initOptions struct {
	output     string
	force, yes bool
}

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a commented assetferry.yaml, after a few questions",
		Long: `Init writes a configuration file that has every setting with its meaning and its
default. On a terminal it asks first for the few things that nobody else can
know: where to, and how the access key is found. It never asks for the key
itself, sends no request, and ignores the configuration that is there already.

Elsewhere, or with --yes, it asks nothing: what is left open is a comment.
`,
		Example: `  assetferry init --yes
  assetferry init --yes --to https://api.ckbox.io --output production.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.init(cmd, o, !o.yes && ui.IsTerminal(a.stdin))
		},
	}
	f := c.Flags()
	f.StringVar(&o.output, "output", config.DefaultFile, "write this `file`")
	f.BoolVar(&o.force, "force", false, "replace the file if it is there already")
	f.BoolVar(&o.yes, "yes", false, "ask nothing")
	return c
}

func (a *app) init(cmd *cobra.Command, o initOptions, asks bool) error {
	a.command = cmd.CommandPath()
	a.out = a.newOut(cmd, "none", nil) // and no settings: they are what is made here
	if a.out.JSON() {
		return usage(errors.New("--json is not for init: it tells people what to do next"), "leave --json out")
	}
	if _, err := os.Lstat(o.output); err == nil && !o.force { // before anybody is asked anything
		return usage(fmt.Errorf("%s is there already", o.output), "name another file with --output, or replace it with --force")
	}
	d := dialogue{app: a, in: bufio.NewReader(a.stdin), output: o.output, source: "./photos"}
	d.template.Meaning = func(flag string) string { return meaningOf(cmd.Root(), flag) }
	if err := d.begin(cmd); err != nil {
		return err
	}
	if asks {
		if err := d.ask(cmd.Context()); err != nil {
			return err
		}
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
	source   string // for the examples
}

// begin takes what the switches say as given.
func (d *dialogue) begin(cmd *cobra.Command) error {
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
	return nil
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
	fmt.Fprint(d.stderr, "Enter takes what stands in brackets. Nothing is written before the last answer.\n")
	put("Where to? sandbox is a stand-in on this machine, to rehearse on. The service is\n"+
		"at https://api.ckbox.io; an installation of your own has its own address.",
		"Destination", cmp.Or(n.URL, d.template.To, d.variable("ASSETFERRY_URL"), sandboxName), d.setTo)
	if d.template.To != sandboxName {
		put("Which environment? Its ID stands where its access keys are made.",
			"Environment ID", d.variable("ASSETFERRY_ENVIRONMENT_ID"), d.setEnvironment)
		put("How is the access key found? In a variable of the environment (env), in a file,\n"+
			"or from a command that prints it. The key itself is not wanted here.",
			"Key from", "env", d.setKeyKind)
		put("Which "+strings.ToLower(d.key.what)+"?", d.key.what, d.key.example, d.setKeyPlace)
		put("Which workspace? Enter for the environment's own.",
			"Workspace ID", n.Workspace, func(id string) error { return n.Put("workspace", id) })
	}
	put("What shall be brought over? This is for the examples only: a folder, or a bucket\n"+
		"such as s3://bucket/prefix.", "Source", d.source, d.setSource)
	put("What about files whose extension no category allows? stop shows them before\n"+
		"anything is sent, skip leaves them out, create makes a category for them.",
		"Unmatched", "stop", d.setUnmatched)
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

func (d *dialogue) setKeyKind(kind string) error {
	for _, k := range []keyKind{
		{"env", "Variable", "access_key_env", "ASSETFERRY_ACCESS_KEY"},
		{"file", "File", "access_key_file", "access.key"},
		{"command", "Command", "access_key_command", "pass show assetferry"},
	} {
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

func (d *dialogue) setSource(source string) error {
	if strings.ContainsFunc(source, unicode.IsControl) {
		return errors.New("that has a control character")
	}
	d.source, d.template.Source = source, source
	return nil
}

func (d *dialogue) setUnmatched(policy string) error {
	allowed := values("unmatched")
	if !slices.Contains(allowed, policy) {
		return errors.New("one of " + strings.Join(allowed, ", "))
	}
	d.template.Set = map[string]string{"unmatched": policy}
	return nil
}

// next says how to go on.
func (d *dialogue) next() {
	var switches []string
	if filepath.Clean(d.output) != config.DefaultFile {
		switches = withValue("config", d.output)
	}
	if d.template.To == "" {
		d.out.Printf("Say in it where to, or rehearse first with --to sandbox. Then:\n")
	} else {
		d.out.Printf("Next:\n")
	}
	d.out.Printf("    %s", commandLine("doctor", switches, d.source))
	d.out.Printf("    %s", commandLine("plan", switches, d.source))
	d.out.Printf("    %s", commandLine("migrate", append([]string{"--limit", "500"}, switches...), d.source))
}
