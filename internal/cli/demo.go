package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assetferry/internal/demo"
	"assetferry/internal/sandbox"
	"assetferry/internal/ui"
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show everything on a made-up library and a sandbox of its own",
		Long: `Demo makes a small library and a sandbox in a new folder, and then uses this
very program on them: plan, migrate, a kill in the middle, resume, verify,
report. It ignores all configuration and touches nothing outside that folder.
`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.out = a.newOut(cmd, "none", nil) // and no settings: they are ignored
			s := &demo.Show{Out: a.out, Stdout: a.stdout, Stderr: a.stderr}
			s.StartSandbox = func(ctx context.Context, o sandbox.Options) (string, error) {
				url, stop, err := startSandbox(ctx, o, "127.0.0.1:0")
				if err == nil {
					a.closeLater(stop)
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
				a.showAfterDemo(made)
			}
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "make everything in this new `folder` (default: a temporary one, which is kept)")
	return c
}

// showAfterDemo prints commands that work from the folder that the demo was called in. What go run
// built is gone or in a cache, and go run itself would keep the sandbox's line from ending: the
// shell waits for everybody who could still write to it. So there the program is built first.
func (a *app) showAfterDemo(made demo.Paths) {
	program := programName()
	if isGoRun(made.Program) && program != plainName {
		if source, ok := goRunSource(); ok {
			program = shellWord(filepath.Join(made.Dir, "assetferry"))
			a.out.Printf("\nBuild the program:\n\n    go build -o %s %s", program, source)
		}
	}
	report := filepath.Join(made.Dir, "report.html")
	a.out.Printf("\nRun the sandbox again. Open the library page that status prints, and\n%s, in a browser:\n\n"+
		"    eval \"$(%s sandbox --data %s &)\"\n"+
		"    %s report --state %s --source %s\n"+ // for a job of a configuration here has another
		"    %s sandbox status\n"+
		"    %s sandbox stop", ui.Sanitize(report), program, shellWord(filepath.Join(made.Dir, "sandbox")), program, shellWord(filepath.Join(made.Dir, "journal.db")), shellWord(made.Library), program, program)
	a.out.Printf("\nRehearse with your own files:\n\n    %s plan --to sandbox --unmatched skip %s", program, ownFiles(made.Library))
}

// ownFiles is a folder to rehearse with that exists.
func ownFiles(library string) string {
	if home, err := os.UserHomeDir(); err == nil {
		if info, err := os.Stat(filepath.Join(home, "Pictures")); err == nil && info.IsDir() {
			return "~/Pictures"
		}
	}
	return shellWord(library) + "    # or a folder of yours"
}
