package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/demo"
	"assetferry/internal/sandbox"
	"assetferry/internal/ui"
)

const (
	demoLatency  = 25 * time.Millisecond // of the sandbox, so that there is a middle to be killed in
	demoKillAt   = 20                    // outcomes after which the first process is killed
	demoWorkers  = "4"
	demoSettling = "2s"
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
			s := &show{app: a}
			for _, name := range []string{"json", "quiet", "verbose"} {
				if on, _ := cmd.Flags().GetBool(name); on {
					s.form = append(s.form, "--"+name)
				}
			}
			return s.demo(cmd.Context(), dir)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "make everything in this new `folder` (default: a temporary one, which is kept)")
	return c
}

// A show is one run of the demo.
type show struct {
	*app
	dir     string
	library string
	url     string   // of the sandbox
	env     []string // of the child processes
	form    []string // switches that say how output looks
	program string
}

func (s *show) demo(ctx context.Context, dir string) error {
	began := time.Now()
	if err := s.prepare(dir); err != nil {
		return err
	}
	s.out.Printf("1. A made-up library")
	made, err := demo.WriteLibrary(s.library)
	if err != nil {
		return err
	}
	s.out.Printf("   %s, %s, in %s", count(int64(made.Files), "file"), ui.Bytes(made.Bytes), s.library)
	for _, note := range made.Notes {
		s.out.Printf("   - %s", note)
	}
	if err := s.startSandbox(ctx); err != nil {
		return err
	}
	if err := s.play(ctx); err != nil {
		return err
	}
	s.out.Printf("\nDone in %s. Everything is in %s", ui.Duration(time.Since(began)), ui.Sanitize(s.dir))
	s.closing()
	return nil
}

// closing prints commands that work from the folder that the demo was called in. What go run
// built is gone or in a cache, and go run itself would keep the sandbox's line from ending: the
// shell waits for everybody who could still write to it. So there the program is built first.
func (s *show) closing() {
	program := programName()
	if isGoRun(s.program) && program != plainName {
		if source, ok := goRunSource(); ok {
			program = shellWord(filepath.Join(s.dir, "assetferry"))
			s.out.Printf("\nBuild the program:\n\n    go build -o %s %s", program, source)
		}
	}
	report := filepath.Join(s.dir, "report.html")
	s.out.Printf("\nRun the sandbox again. Open the library page that status prints, and\n%s, in a browser:\n\n"+
		"    eval \"$(%s sandbox --data %s &)\"\n"+
		"    %s report --state %s --source %s\n"+ // for a job of a configuration here has another
		"    %s sandbox status\n"+
		"    %s sandbox stop", ui.Sanitize(report), program, shellWord(filepath.Join(s.dir, "sandbox")), program, shellWord(filepath.Join(s.dir, "journal.db")), shellWord(s.library), program, program)
	s.out.Printf("\nRehearse with your own files:\n\n    %s plan --to sandbox --unmatched skip %s", program, s.ownFiles())
}

// ownFiles is a folder to rehearse with that exists.
func (s *show) ownFiles() string {
	if home, err := os.UserHomeDir(); err == nil {
		if info, err := os.Stat(filepath.Join(home, "Pictures")); err == nil && info.IsDir() {
			return "~/Pictures"
		}
	}
	return shellWord(s.library) + "    # or a folder of yours"
}

func (s *show) prepare(dir string) (err error) {
	if s.program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if dir == "" {
		s.dir, err = os.MkdirTemp("", "assetferry-demo-")
	} else if err = os.Mkdir(dir, 0o700); err == nil {
		s.dir, err = filepath.Abs(dir)
	} else {
		return usage(fmt.Errorf("make the folder of the demo: %w", err), "name a folder that does not exist yet with --dir")
	}
	s.library = filepath.Join(s.dir, "library")
	return err
}

// startSandbox runs the sandbox in this process, so that it outlives the kill.
func (s *show) startSandbox(ctx context.Context) error {
	data := filepath.Join(s.dir, "sandbox")
	c, err := sandbox.LoadOrCreateCredentials(data)
	if err != nil {
		return err
	}
	url, stopServer, err := startSandbox(ctx, sandbox.Options{
		Dir: data, Latency: demoLatency, Log: s.out.Log(), Library: true,
		Environments: []sandbox.Environment{{ID: c.EnvironmentID, AccessKey: c.AccessKey}},
	}, "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.closeLater(stopServer)
	s.url = url
	s.out.Printf("\n2. A sandbox: a stand-in of the service, at %s", url)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ASSETFERRY_") {
			s.env = append(s.env, v)
		}
	}
	s.env = append(s.env, "ASSETFERRY_URL="+url, "ASSETFERRY_ENVIRONMENT_ID="+c.EnvironmentID,
		"ASSETFERRY_ACCESS_KEY="+string(c.AccessKey), "ASSETFERRY_STATE="+filepath.Join(s.dir, "journal.db"))
	return nil
}

// play runs the program as a user would.
func (s *show) play(ctx context.Context) error {
	s.out.Printf("\n3. What would happen?")
	if err := s.child(ctx, "plan", "library", "--unmatched", "skip"); err != nil {
		return err
	}
	migrate := []string{"migrate", "library", "--unmatched", "skip", "--concurrency", demoWorkers, "--settle-time", demoSettling}
	s.out.Printf("\n4. Do it, and be killed in the middle")
	if err := s.killed(ctx, migrate...); err != nil {
		return err
	}
	s.out.Printf("\n5. The same command again goes on; what was in flight is looked up, not sent twice")
	if err := s.child(ctx, migrate...); err != nil {
		return err
	}
	s.out.Printf("\n6. Is everything there, byte for byte?")
	if err := s.child(ctx, "verify", "--content"); err != nil {
		return err
	}
	if err := s.countUploads(ctx); err != nil {
		return err
	}
	s.out.Printf("\n7. What the journal says, to you and to those who asked for it")
	if err := s.child(ctx, "status"); err != nil {
		return err
	}
	return s.child(ctx, "report", "--format", "html", "--output", "report.html")
}

// countUploads asks the other side how often something was uploaded: as often as
// there are assets, in spite of the kill.
func (s *show) countUploads(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/_sandbox/stats", nil)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	here := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := here.Do(req)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer resp.Body.Close()
	var stats struct {
		Requests []struct {
			Method, Route string
			Status        int
			Count         int64
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		return fmt.Errorf("demo: read what the sandbox counted: %w", err)
	}
	for _, r := range stats.Requests {
		if r.Method == http.MethodPost && r.Route == "/assets" && r.Status == http.StatusCreated {
			s.out.Printf("The sandbox itself counted %s in all, the kill included.", count(r.Count, "upload"))
		}
	}
	return nil
}

func (s *show) command(ctx context.Context, args ...string) *exec.Cmd {
	s.out.Printf("   $ assetferry %s\n", strings.Join(args, " ")) // in the folder of the demo
	c := exec.CommandContext(ctx, s.program, append(args, s.form...)...)
	c.Dir, c.Env = s.dir, s.env
	return c
}

// child runs the program to its end, which must be a good one.
func (s *show) child(ctx context.Context, args ...string) error {
	c := s.command(ctx, args...)
	c.Stdout, c.Stderr = s.stdout, s.stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("demo: assetferry %s: %w", args[0], err)
	}
	return nil
}

// killed runs the program and kills it after some outcomes.
func (s *show) killed(ctx context.Context, args ...string) error {
	c := s.command(ctx, args...)
	if !s.out.JSON() {
		c.Args = append(c.Args, "--json") // to be followed
	}
	c.Stderr = s.stderr
	events, err := c.StdoutPipe()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	done := 0
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if s.out.JSON() {
			fmt.Fprintf(s.stdout, "%s\n", lines.Bytes())
		}
		var event struct{ Type, State string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Type != "item" || event.State != "done" {
			continue
		}
		if done++; done == demoKillAt {
			_ = c.Process.Kill() // that it was too late shows in its exit
		}
	}
	exit := c.Wait()
	switch {
	case lines.Err() != nil:
		return fmt.Errorf("demo: read events: %w", lines.Err())
	case exit == nil:
		s.out.Printf("   It was done before it could be killed, so there is nothing to resume this time.")
		return nil
	case done < demoKillAt:
		return fmt.Errorf("demo: assetferry %s: %w", args[0], exit)
	}
	s.out.Printf("   Killed after %s had been recorded.", count(int64(done), "upload"))
	return nil
}
