// Package wizard asks for the settings of a first configuration file, and writes it: a destination,
// the place of its access key, and a job with a source.
package wizard

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

	"assetferry/internal/config"
	"assetferry/internal/ui"
)

// A Wizard asks for the settings that have no default. Settings that are set before are offered as
// defaults.
type Wizard struct {
	Template config.Template
	Job      Job

	in       *bufio.Reader
	screen   io.Writer
	lookup   config.Env
	output   string
	checkURL func(source string) error
	key      keyKind
}

// Options are the streams of a wizard, and the path of its file.
type Options struct {
	In     io.Reader
	Screen io.Writer
	Lookup config.Env
	Output string // the path of the file

	CheckURL func(source string) error // of a source that is neither a folder nor a table
}

// New makes a wizard without any answers.
func New(o Options) *Wizard {
	return &Wizard{in: bufio.NewReader(o.In), screen: o.Screen, lookup: o.Lookup, output: o.Output, checkURL: o.CheckURL, Job: Job{Settings: jobSettings()}}
}

// ErrUnanswered is the error of an input that ends before the last answer.
var ErrUnanswered = errors.New("the questions were not answered, so nothing was written")

// Encode returns the file.
func (w *Wizard) Encode() ([]byte, error) {
	if err := w.saveJob(); err != nil {
		return nil, err
	}
	return w.Template.Encode(), nil
}

// SetAccess sets a credential of the destination.
func (w *Wizard) SetAccess(key, value string) error {
	for _, k := range keyKinds() {
		if k.key == key && w.key.key != "" {
			return errors.New("set only one place for the access key")
		} else if k.key == key {
			w.key = k
			return w.setKeyPlace(value)
		}
	}
	return w.Template.Destination.Put(key, value)
}

// Sandbox is the destination for tests.
const Sandbox = "sandbox"

func (w *Wizard) SetDestination(to string) error {
	if to == Sandbox {
		w.Template.To = Sandbox
		return nil
	}
	if err := w.Template.Destination.Put("url", to); err != nil {
		return fmt.Errorf("%w; example: https://api.ckbox.io", err)
	}
	w.Template.To = config.TemplateName
	return nil
}

// Ask asks all questions. An interrupt leaves nothing behind.
func (w *Wizard) Ask(ctx context.Context) (err error) {
	put := func(why, prompt, initial string, take func(string) error) {
		if err == nil {
			err = w.put(ctx, why, prompt, initial, take)
		}
	}
	n := &w.Template.Destination
	fmt.Fprint(w.screen, "Enter takes the value in brackets. Nothing is written before the last answer.\n")
	put("The destination: sandbox is a stand-in of the service on this machine, for tests.\n"+
		"The service is https://api.ckbox.io; an on-premises one has its own URL.",
		"Destination", cmp.Or(n.URL, w.Template.To, w.variable("ASSETFERRY_URL"), Sandbox), w.SetDestination)
	if w.Template.To != Sandbox {
		put("The ID of the environment. The service shows it where access keys are made.",
			"Environment ID", cmp.Or(n.Environment, w.variable("ASSETFERRY_ENVIRONMENT_ID")), w.setEnvironment)
		if w.key.key == "" {
			put("Where the access key is found: in an environment variable (env), in a file, or\n"+
				"printed by a command. Do not type the key itself.",
				"Key from", "env", w.setKeyKind)
			put(w.key.what+" with the access key.", w.key.what, w.key.example, w.setKeyPlace)
		}
		put("The workspace. Enter takes the default workspace of the environment.",
			"Workspace ID", cmp.Or(n.Workspace, w.variable("ASSETFERRY_WORKSPACE_ID")), func(id string) error { return n.Put("workspace", id) })
	}
	w.askJob(put)
	return err
}

func (w *Wizard) variable(name string) string { value, _ := w.lookup(name); return value }

// put repeats a question until it gets a valid answer.
func (w *Wizard) put(ctx context.Context, why, prompt, initial string, take func(string) error) error {
	if initial != "" {
		prompt += " [" + ui.Sanitize(initial) + "]"
	}
	fmt.Fprintf(w.screen, "\n%s\n", why)
	for {
		fmt.Fprintf(w.screen, "%s: ", prompt)
		answer, err := w.readLine(ctx)
		if err != nil {
			return err
		}
		if err = take(cmp.Or(answer, initial)); err == nil {
			return nil
		}
		fmt.Fprintf(w.screen, "  %s\n", ui.Sanitize(err.Error()))
	}
}

// readLine reads an answer. An interrupt ends the wait.
func (w *Wizard) readLine(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := w.in.ReadString('\n')
		done <- read{strings.TrimSpace(line), err}
	}()
	select {
	case r := <-done:
		if r.err != nil { // also after an incomplete line
			fmt.Fprintln(w.screen)
			return "", ErrUnanswered
		}
		return r.line, nil
	case <-ctx.Done():
		fmt.Fprintln(w.screen)
		return "", context.Cause(ctx)
	}
}

func (w *Wizard) setEnvironment(id string) error {
	if id == "" {
		return errors.New("this value is required")
	}
	return w.Template.Destination.Put("environment", id)
}

// A keyKind is a place of an access key.
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

func (w *Wizard) setKeyKind(kind string) error {
	for _, k := range keyKinds() {
		if k.kind == kind {
			w.key = k
			return nil
		}
	}
	return errors.New("answer env, file or command")
}

// setKeyPlace does not repeat the answer in its error: it may be the key itself.
func (w *Wizard) setKeyPlace(place string) error {
	switch {
	case w.key.kind == "env" && !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(place):
		return errors.New("the name of a variable has only letters, digits and _")
	case w.key.kind == "file" && !w.isThere(place):
		fmt.Fprint(w.screen, "  There is no such file yet; put the key there before the first run.\n")
	}
	return w.Template.Destination.Put(w.key.key, place)
}

// isThere looks for a file in the folder of the configuration.
func (w *Wizard) isThere(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(w.output), path)
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// BeatsFile lists the variables that select another destination than the file, unless --to names
// the one in the file.
func (w *Wizard) BeatsFile() (names []string) {
	n := w.Template.Destination
	for _, v := range [][2]string{{"ASSETFERRY_URL", n.URL}, {"ASSETFERRY_ENVIRONMENT_ID", n.Environment}, {"ASSETFERRY_WORKSPACE_ID", n.Workspace}} {
		value := w.variable(v[0])
		answered := v[1] != "" && w.Template.To != Sandbox || v[0] == "ASSETFERRY_URL"
		if value != "" && value != v[1] && answered {
			names = append(names, v[0])
		}
	}
	return names
}
