package aicmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/ai"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

func newContextsCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "contexts",
		Short: "Show and change contexts, such as a house style",
		Long: `A context of the AI content service contains prompts and files, such as a style
for alt texts. To use a context, set --ai-context of enrich, ai ask, ai action
or ai review. The commands ls and show need the permission ai:contexts:read (its
name is a guess). With --all, they need ai:admin, as all other commands do.
`,
	}
	c.AddCommand(newContextsListCommand(f), newContextsShowCommand(f), newContextsCreateCommand(f), newContextsAddCommand(f), newContextsChangeCommand(f), newContextsDeleteCommand(f))
	for _, sub := range c.Commands() {
		sub.ValidArgsFunction = cobra.NoFileCompletions
		command.AddAIFlags(sub.Flags())
	}
	return c
}

func newContextsListCommand(f *command.Factory) *cobra.Command {
	var everything bool
	c := &cobra.Command{
		Use:   "ls",
		Short: "List contexts",
		Long: `Ls lists the contexts that the token permits. --all lists all contexts of the
environment and needs the permission ai:admin.
`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			s, err := f.OpenAI(ctx, command.ContextScope)
			if err != nil {
				return err
			}
			all := s.Client.Contexts
			if everything {
				all = s.Accounts.AdminContexts
			}
			return listContexts(f, all(ctx))
		}),
	}
	c.Flags().BoolVar(&everything, "all", false, "list all contexts of the environment")
	return c
}

func listContexts(f *command.Factory, all iter.Seq2[ai.Context, error]) error {
	var rows [][]string
	for v, err := range all {
		if errors.Is(err, fs.ErrNotExist) {
			return command.ContextError(err)
		} else if err != nil {
			return err
		}
		f.Out.Event("context", contextLine(v, ""))
		rows = append(rows, []string{v.ID, v.Name, ui.Count(int64(len(v.Prompts))), ui.Count(int64(len(v.Files))), strings.Join(v.AutoApply, " "), v.Description})
	}
	if len(rows) > 0 {
		f.Out.Printf("%s", ui.Table([]ui.Column{{Title: "ID"}, {Title: "Name"}, {Title: "Prompts", Right: true}, {Title: "Files", Right: true}, {Title: "Applies to"}, {Title: "Description"}}, rows))
	}
	f.Out.Notef("%s", ui.Counted(int64(len(rows)), "context"))
	return nil
}

// contextLine returns a context with the state of a change.
func contextLine(v ai.Context, state string) event.Context {
	l := event.Context{ID: v.ID, Name: v.Name, Description: v.Description, Instructions: v.Instructions, AppliesTo: v.AutoApply, State: state}
	for _, p := range v.Prompts {
		l.Prompts = append(l.Prompts, event.ContextPrompt{ID: p.ID, Name: p.Name, Prompt: p.Prompt})
	}
	for _, f := range v.Files {
		l.Files = append(l.Files, event.ContextFile{ID: f.ID, Name: f.Name, Type: f.Type, Size: f.Size})
	}
	return l
}

func newContextsShowCommand(f *command.Factory) *cobra.Command {
	var everything bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show the content of a context",
		Long: `Show shows the prompts and files of a context with their IDs. --all also shows
the text of the prompts, and contexts that the token does not permit. --all
needs the permission ai:admin.
`,
		Example: `  assetferry ai contexts show house-style --all`,
		Args:    cmdline.One("ID"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			s, err := f.OpenAI(ctx, command.ContextScope)
			if err != nil {
				return err
			}
			var v ai.Context
			if everything {
				v, err = wholeContext(ctx, s, args[0])
			} else {
				v, err = s.Client.Context(ctx, args[0])
			}
			if err != nil {
				return noContext(err, args[0])
			}
			showContext(f, v, "")
			return nil
		}),
	}
	c.Flags().BoolVar(&everything, "all", false, "also show the text of the prompts, and any context of the environment")
	return c
}

// wholeContext returns a context with the text of its prompts, as an administrator.
func wholeContext(ctx context.Context, s *command.AIService, id string) (ai.Context, error) {
	v, err := s.Accounts.AdminContext(ctx, id)
	if err != nil {
		return v, err
	}
	v.Prompts, v.Files = nil, nil
	for p, err := range s.Accounts.Prompts(ctx, id) {
		if err != nil {
			return v, err
		}
		v.Prompts = append(v.Prompts, p)
	}
	for f, err := range s.Accounts.ContextFiles(ctx, id) {
		if err != nil {
			return v, err
		}
		v.Files = append(v.Files, f)
	}
	return v, nil
}

// noContext adds a hint to an error for a missing context, prompt or file.
func noContext(err error, id string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.CodeNoSuch, fmt.Errorf("there is no context, prompt or file with the ID %s: %w", id, err), "list the IDs of the contexts, or those in a context:\n  assetferry ai contexts ls\n  assetferry ai contexts show CONTEXT")
	}
	return err
}

// showContext shows a context. The state is that of a change; "" if there is none.
func showContext(f *command.Factory, v ai.Context, state string) {
	f.Out.Event("context", contextLine(v, state))
	printContext(f, v)
}

// printContext prints a context.
func printContext(f *command.Factory, v ai.Context) {
	f.Out.Printf("Context      %s", ui.Sanitize(strings.TrimSpace(v.ID+" "+v.Name)))
	for _, line := range [][2]string{{"About", v.Description}, {"Instructions", v.Instructions}, {"Applies to", strings.Join(v.AutoApply, ", ")}} {
		if line[1] != "" {
			f.Out.Printf("%-12s %s", line[0], ui.Sanitize(line[1]))
		}
	}
	for _, p := range v.Prompts {
		f.Out.Printf("Prompt       %s", ui.Sanitize(strings.TrimSpace(p.ID+" "+p.Name)))
		for line := range strings.Lines(p.Prompt) {
			f.Out.Printf("    %s", ui.Sanitize(strings.TrimRight(line, "\r\n")))
		}
	}
	for _, stored := range v.Files {
		size := ""
		if stored.Size > 0 {
			size = ", " + ui.Bytes(stored.Size)
		}
		f.Out.Printf("File         %s%s", ui.Sanitize(strings.TrimSpace(stored.ID+" "+stored.Name)), size)
	}
}

// contextParts are prompts and files to add to a context.
type contextParts struct {
	promptFlags, files, pages []string
	prompts                   []ai.Prompt
}

func (p *contextParts) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&p.promptFlags, "prompt", nil, "add a prompt, `NAME=TEXT` or NAME=@FILE (repeatable)")
	f.StringArrayVar(&p.files, "file", nil, "add this `file` (repeatable): PDF, DOCX, PNG, JPEG, Markdown, HTML or plain text")
	f.StringArrayVar(&p.pages, "page", nil, "add the web page at this `URL` (repeatable)")
}

// check reads the prompts and checks that the files exist.
func (p *contextParts) check() error {
	p.prompts = nil
	for _, given := range p.promptFlags {
		name, text, ok := strings.Cut(given, "=")
		if !ok || name == "" || text == "" {
			return exit.Usage(fmt.Errorf("--prompt %q must have the form NAME=TEXT", given), "example: --prompt 'tone=Write in plain words.', or --prompt tone=@FILE")
		}
		text, err := textOrFile(text)
		if err != nil {
			return exit.Usage(fmt.Errorf("--prompt %s: %w", name, err), "put the name of a text file after @")
		}
		p.prompts = append(p.prompts, ai.Prompt{Name: name, Prompt: text})
	}
	for _, name := range p.files {
		if info, err := os.Stat(name); err != nil {
			return exit.Usage(fmt.Errorf("--file: %w", err), "use an existing file")
		} else if !info.Mode().IsRegular() {
			return exit.Usage(fmt.Errorf("--file: %s is not a file", name), "use a file, not a folder")
		}
	}
	return nil
}

// textOrFile returns text, or with @ in front the content of a file.
func textOrFile(text string) (string, error) {
	name, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readText(f, name)
}

// maxTyped is the maximum size of text in a request, in bytes.
const maxTyped = 1 << 20

// readText reads text for a request.
func readText(from io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxTyped+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxTyped:
		return "", fmt.Errorf("%s is longer than %s", name, ui.Bytes(maxTyped))
	case strings.TrimSpace(string(text)) == "":
		return "", fmt.Errorf("%s is empty", name)
	}
	return string(text), nil
}

// put adds prompts and files to a context. It returns the added parts, also with an error.
func (p *contextParts) put(ctx context.Context, s *command.AIService, id string) (added ai.Context, err error) {
	for _, n := range p.prompts {
		if n.ID, err = s.Accounts.CreatePrompt(ctx, id, n); err != nil {
			return added, err
		}
		added.Prompts = append(added.Prompts, n)
	}
	for _, name := range p.files {
		f, err := p.upload(ctx, s, id, name)
		if err != nil {
			return added, err
		}
		added.Files = append(added.Files, f)
	}
	for _, page := range p.pages {
		fetched, err := s.Accounts.FetchContextFile(ctx, id, page, "")
		if err != nil {
			return added, err
		}
		added.Files = append(added.Files, ai.StoredFile{ID: fetched, Name: page})
	}
	return added, nil
}

func (p *contextParts) upload(ctx context.Context, s *command.AIService, id, name string) (f ai.StoredFile, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return f, exit.Usage(fmt.Errorf("--file: %w", err), "use an existing file")
	}
	f = ai.StoredFile{Name: filepath.Base(name), Size: info.Size()}
	f.ID, err = s.Accounts.UploadContextFile(ctx, id, ai.File{
		Name: f.Name, Size: f.Size, Body: func() (io.ReadCloser, error) { return os.Open(name) },
	})
	return f, err
}

// planned returns the parts for a dry run.
func (p *contextParts) planned() (v ai.Context) {
	v.Prompts = p.prompts
	for _, name := range slices.Concat(p.files, p.pages) {
		f := ai.StoredFile{Name: name}
		if info, err := os.Stat(name); err == nil {
			f.Name, f.Size = filepath.Base(name), info.Size()
		}
		v.Files = append(v.Files, f)
	}
	return v
}

// notePut lists the parts that were added before an error, so that they are not added twice.
func notePut(f *command.Factory, parts ai.Context) {
	var names []string
	for _, p := range parts.Prompts {
		names = append(names, "prompt "+p.Name)
	}
	for _, stored := range parts.Files {
		names = append(names, "file "+stored.Name)
	}
	if len(names) > 0 {
		f.Out.Notef("Added before the error; do not add it again: %s", ui.Sanitize(strings.Join(names, ", ")))
	}
}

// contextFields are the properties of a context or a prompt.
type contextFields struct {
	name, description, instructions, text string
	features                              []string
}

func (o *contextFields) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.description, "description", "", "purpose of the context, a `text` for people")
	f.StringVar(&o.instructions, "instructions", "", "instructions for models, `text` or @FILE (a guess: only prompts are documented)")
	f.StringArrayVar(&o.features, "apply-to", nil, "use the context automatically in this `feature` (repeatable): "+strings.Join(ai.Features(), ", ")+" (the names are guesses)")
}

// check reads the files.
func (o *contextFields) check() (err error) {
	for _, text := range []*string{&o.instructions, &o.text} {
		if *text, err = textOrFile(*text); err != nil {
			return exit.Usage(err, "put the name of a text file after @")
		}
	}
	return nil
}

func newContextsCreateCommand(f *command.Factory) *cobra.Command {
	var o contextFields
	var p contextParts
	var ch command.Change
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a context with prompts and files",
		Long: `Create creates a context with prompts and files, and shows its ID. Contexts can
have the same name, but not the same ID. With --apply-to, the service uses the
context in all requests of that feature, for all users. The command needs the
permission ai:admin.
`,
		Example: `  assetferry ai contexts create 'House style' --prompt alt=@alt.txt`,
		Args:    cmdline.One("NAME"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			o.name = args[0]
			if err := errors.Join(o.check(), p.check()); err != nil {
				return err
			}
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			return createContext(ctx, f, s, o, p, ch)
		}),
	}
	o.addFlags(c.Flags())
	p.addFlags(c.Flags())
	ch.AddFlags(c)
	return c
}

func createContext(ctx context.Context, f *command.Factory, s *command.AIService, o contextFields, p contextParts, ch command.Change) error {
	v := ai.Context{Name: o.name, Description: o.description, Instructions: o.instructions, AutoApply: o.features}
	parts := p.planned()
	if !ch.DryRun {
		var err error
		if v.ID, err = s.Accounts.CreateContext(ctx, v); err != nil {
			return createdUnconfirmed(err, "assetferry ai contexts ls --all")
		}
		if parts, err = p.put(ctx, s, v.ID); err != nil {
			f.Out.Notef("The context %s was created, but is incomplete.", ui.Sanitize(v.ID))
			return addedUnconfirmed(err, v.ID)
		}
	}
	v.Prompts, v.Files = parts.Prompts, parts.Files
	showContext(f, v, ch.State())
	f.NoteDryRun(ch)
	return nil
}

// createdUnconfirmed adds a hint how to check whether an object was created.
func createdUnconfirmed(err error, look string) error {
	if errors.Is(err, ai.ErrUnconfirmed) {
		return exit.With(exit.CodeItems, err, "check whether it exists, and repeat the command only if not:\n  "+look)
	}
	return err
}

// addedUnconfirmed adds a hint how to check and complete a context.
func addedUnconfirmed(err error, id string) error {
	if errors.Is(err, ai.ErrUnconfirmed) {
		return exit.With(exit.CodeItems, err, "show its content, then add the missing parts with ai contexts add:\n  "+cmdline.Line("ai contexts show", []string{"--all"}, id))
	}
	return err
}

func newContextsAddCommand(f *command.Factory) *cobra.Command {
	var p contextParts
	var ch command.Change
	c := &cobra.Command{
		Use:     "add ID",
		Short:   "Add prompts and files to a context",
		Example: `  assetferry ai contexts add house-style --file glossary.md`,
		Args:    cmdline.One("ID"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if err := p.check(); err != nil {
				return err
			}
			if len(p.prompts)+len(p.files)+len(p.pages) == 0 {
				return exit.Usage(errors.New("nothing to add"), "use --prompt, --file or --page")
			}
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			v, err := s.Accounts.AdminContext(ctx, args[0])
			if err != nil {
				return noContext(err, args[0])
			}
			parts := p.planned()
			if !ch.DryRun {
				if parts, err = p.put(ctx, s, v.ID); err != nil {
					notePut(f, parts)
					return addedUnconfirmed(err, v.ID)
				}
			}
			v.Prompts, v.Files = parts.Prompts, parts.Files
			showContext(f, v, ch.State())
			f.NoteDryRun(ch)
			return nil
		}),
	}
	p.addFlags(c.Flags())
	ch.AddFlags(c)
	return c
}

func newContextsChangeCommand(f *command.Factory) *cobra.Command {
	var o contextFields
	var ch command.Change
	c := &cobra.Command{
		Use:   "change ID|ID/prompt/PROMPTID",
		Short: "Change a context, or a prompt in it",
		Long: `Change sets the properties that you give as flags. Other properties stay. The
change takes effect with the next request, for all users of the context.
--apply-to none turns off automatic use. --text is for prompts. The command
needs the permission ai:admin.
`,
		Example: `  assetferry ai contexts change house-style --name 'Style of alt texts'
  assetferry ai contexts change house-style/prompt/alt --text @alt.txt`,
		Args: cmdline.One("ID"),
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			ref, err := refOf(args[0])
			if err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			changes, err := o.changes(cmd, ref)
			if err != nil {
				return err
			}
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			return changeContext(ctx, f, s, ref, changes, ch)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&o.name, "name", "", "new `name`")
	flags.StringVar(&o.text, "text", "", "new text of the prompt, `text` or @FILE")
	o.addFlags(flags)
	ch.AddFlags(c)
	return c
}

// refOf parses the ID of a context or of a part of it.
func refOf(arg string) (ai.ContextRef, error) {
	ref, err := ai.ParseContextRef(arg)
	if err != nil {
		return ref, exit.Usage(err, "list the IDs:\n  assetferry ai contexts ls")
	}
	return ref, nil
}

// changes returns the properties to set by their JSON names.
func (o *contextFields) changes(cmd *cobra.Command, ref ai.ContextRef) (ai.Changes, error) {
	if ref.FileID != "" {
		return nil, exit.Usage(errors.New("files in a context cannot be changed"), "delete the file, then add the new one with ai contexts add:\n  "+cmdline.Line("ai contexts delete", nil, ref.String()))
	}
	features := o.features
	if slices.Equal(features, []string{"none"}) {
		features = []string{}
	}
	changes := ai.Changes{}
	for flag, set := range map[string]struct {
		key    string
		value  any
		prompt bool // for prompts
		whole  bool // for contexts
	}{
		"name": {"name", o.name, true, true}, "text": {"prompt", o.text, true, false}, "description": {"description", o.description, false, true},
		"instructions": {"instructions", o.instructions, false, true}, "apply-to": {"autoApply", features, false, true},
	} {
		if !cmd.Flags().Changed(flag) {
			continue
		}
		if ref.PromptID != "" && !set.prompt || ref.PromptID == "" && !set.whole {
			return nil, exit.Usage(fmt.Errorf("--%s cannot be used for %s", flag, ref), "a context has --name, --description, --instructions and --apply-to; a prompt has --name and --text")
		}
		changes[set.key] = set.value
	}
	if len(changes) == 0 {
		return nil, exit.Usage(errors.New("nothing to change"), "a context has --name, --description, --instructions and --apply-to; a prompt has --name and --text")
	}
	return changes, nil
}

func changeContext(ctx context.Context, f *command.Factory, s *command.AIService, ref ai.ContextRef, changes ai.Changes, ch command.Change) error {
	v, err := partOf(ctx, s, ref)
	if err != nil {
		return noContext(err, ref.String())
	}
	switch {
	case ch.DryRun:
	case ref.PromptID != "":
		v.Prompts[0], err = s.Accounts.UpdatePrompt(ctx, ref.ID, ref.PromptID, changes)
	default:
		v, err = s.Accounts.UpdateContext(ctx, ref.ID, changes)
	}
	if err != nil {
		return err
	}
	showContext(f, v, ch.State())
	f.NoteDryRun(ch)
	return nil
}

// partOf returns a context that contains only the referenced part.
func partOf(ctx context.Context, s *command.AIService, ref ai.ContextRef) (v ai.Context, err error) {
	if v, err = s.Accounts.AdminContext(ctx, ref.ID); err != nil {
		return v, err
	}
	switch {
	case ref.PromptID != "":
		var p ai.Prompt
		p, err = s.Accounts.Prompt(ctx, ref.ID, ref.PromptID)
		v.Prompts, v.Files = []ai.Prompt{p}, nil
	case ref.FileID != "":
		var f ai.StoredFile
		f, err = s.Accounts.ContextFile(ctx, ref.ID, ref.FileID)
		v.Prompts, v.Files = nil, []ai.StoredFile{f}
	}
	return v, err
}

func newContextsDeleteCommand(f *command.Factory) *cobra.Command {
	var ch command.Change
	c := &cobra.Command{
		Use:   "delete ID|ID/prompt/PROMPTID|ID/file/FILEID",
		Short: "Delete a context, or a prompt or file in it",
		Long: `Delete permanently deletes a context with its content, or a single prompt or
file. Requests that refer to it then fail. The command asks for confirmation and
needs the permission ai:admin.
`,
		Example: `  assetferry ai contexts delete house-style/file/glossary --yes`,
		Args:    cmdline.One("ID"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			ref, err := refOf(args[0])
			if err != nil {
				return err
			}
			if err := f.CanAnswer(ch); err != nil {
				return err
			}
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			return deleteContext(ctx, f, s, ref, ch)
		}),
	}
	ch.AddFlags(c)
	ch.AddYes(c, "delete without confirmation")
	return c
}

func deleteContext(ctx context.Context, f *command.Factory, s *command.AIService, ref ai.ContextRef, ch command.Change) error {
	v, err := partOf(ctx, s, ref)
	if err != nil {
		return noContext(err, ref.String())
	}
	printContext(f, v)
	if err := f.Agree(ctx, ch, "Delete it?", "not confirmed: %s was not deleted", ref); err != nil {
		return err
	}
	if !ch.DryRun {
		if err := deletePart(ctx, s.Accounts, ref); err != nil {
			return err
		}
		if err := checkDeleted(ctx, s, ref); err != nil {
			return err
		}
		f.Out.Notef("Deleted %s.", ui.Sanitize(ref.String()))
	}
	f.Out.Event("context", contextLine(v, ch.State()))
	f.NoteDryRun(ch)
	return nil
}

// checkDeleted checks that an object is deleted. The endpoints of contexts are guesses, and a
// missing endpoint looks like a missing object.
func checkDeleted(ctx context.Context, s *command.AIService, ref ai.ContextRef) error {
	_, err := partOf(ctx, s, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = exit.With(exit.CodeError, fmt.Errorf("%s was not deleted", ref), "check the endpoints, or set another one with --ai-route:\n  assetferry doctor")
	}
	return err
}

// deletePart deletes a context or the referenced part of it.
func deletePart(ctx context.Context, c *ai.Client, ref ai.ContextRef) error {
	switch {
	case ref.PromptID != "":
		return c.DeletePrompt(ctx, ref.ID, ref.PromptID)
	case ref.FileID != "":
		return c.DeleteContextFile(ctx, ref.ID, ref.FileID)
	}
	return c.DeleteContext(ctx, ref.ID)
}
