package setupcmd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/demo"
	"assetferry/internal/sandbox"
	"assetferry/internal/shell"
	"assetferry/internal/ui"
)

// NewDemoCommand makes assetferry demo.
func NewDemoCommand(f *command.Factory) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a complete migration with sample files and the sandbox",
		Long: `Demo creates a small library and a sandbox in a new folder. It runs plan and
migrate, crashes migrate on purpose, and resumes it. Then it runs verify and
report. It ignores all configuration and changes nothing outside that folder.
`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Out = f.NewOut(cmd, "none", nil) // settings are ignored
			s := &demo.Show{Out: f.Out, Stdout: f.Stdout, Stderr: f.Stderr}
			s.StartSandbox = func(ctx context.Context, o sandbox.Options) (string, error) {
				url, stop, err := command.StartSandbox(ctx, o, "127.0.0.1:0")
				if err == nil {
					f.CloseLater(stop)
				}
				return url, err
			}
			for _, name := range []string{"json", "quiet", "verbose"} {
				if on, _ := cmd.Flags().GetBool(name); on {
					s.Form = append(s.Form, "--"+name)
				}
			}
			made, err := s.Run(cmd.Context(), dir)
			if err == nil {
				showAfterDemo(f, made)
			}
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "create the library in this new `folder` (default: a temporary folder, which is kept)")
	return c
}

// showAfterDemo prints commands that work in the folder where the demo was called. Under go run the
// program is temporary, and go run would keep the line with the sandbox from ending, so the program
// is built first.
func showAfterDemo(f *command.Factory, made demo.Paths) {
	program := cmdline.ProgramName()
	if cmdline.IsGoRun(made.Program) && program != cmdline.PlainName {
		if source, ok := cmdline.GoRunSource(); ok {
			program = shell.Word(filepath.Join(made.Dir, "assetferry"))
			f.Out.Printf("\nBuild the program:\n\n    go build -o %s %s", program, source)
		}
	}
	report := filepath.Join(made.Dir, "report.html")
	f.Out.Printf("\nRun the sandbox again. Open the library page that status prints, and\n%s, in a browser:\n\n"+
		"    eval \"$(%s sandbox --data %s &)\"\n"+
		"    %s report --state %s --source %s\n"+ // a job in the configuration here has another one
		"    %s sandbox status\n"+
		"    %s sandbox stop", ui.Sanitize(report), program, shell.Word(filepath.Join(made.Dir, "sandbox")), program, shell.Word(filepath.Join(made.Dir, "state.db")), shell.Word(made.Library), program, program)
	f.Out.Printf("\nTry it with your own files:\n\n    %s plan --to sandbox --unsupported skip %s", program, ownFiles(made.Library))
}

// ownFiles returns an existing folder for tests.
func ownFiles(library string) string {
	if home, err := os.UserHomeDir(); err == nil {
		if info, err := os.Stat(filepath.Join(home, "Pictures")); err == nil && info.IsDir() {
			return "~/Pictures"
		}
	}
	return shell.Word(library) + "    # or a folder of yours"
}
