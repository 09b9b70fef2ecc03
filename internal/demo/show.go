package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assetferry/internal/hint"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/ui"
)

const (
	latency        = 25 * time.Millisecond // of the sandbox, so that uploads take long enough to be interrupted
	killAt         = 20                    // uploads after which the first process is killed
	workers        = "4"
	confirmTimeout = "2s"
)

// A Show runs the program on a generated library and a sandbox.
type Show struct {
	Out            *ui.Out
	Stdout, Stderr io.Writer // of the program
	Form           []string  // flags for the form of the output

	// StartSandbox runs a sandbox in this process, which the kill does not end.
	StartSandbox func(context.Context, sandbox.Options) (url string, err error)

	dir     string
	library string
	url     string   // of the sandbox
	env     []string // of the child processes
	program string
}

// Paths are the program and the folders of a show.
type Paths struct{ Program, Dir, Library string }

// Run runs the show in a new folder, which stays. Without a name it is a temporary folder.
func (s *Show) Run(ctx context.Context, dir string) (Paths, error) {
	began := time.Now()
	if err := s.prepare(dir); err != nil {
		return Paths{}, err
	}
	s.Out.Printf("1. A library of generated files")
	made, err := WriteLibrary(s.library)
	if err != nil {
		return Paths{}, err
	}
	s.Out.Printf("   %s (%s) in %s", ui.Counted(int64(made.Files), "file"), ui.Bytes(made.Bytes), s.library)
	for _, note := range made.Notes {
		s.Out.Printf("   - %s", note)
	}
	if err := s.startSandbox(ctx); err != nil {
		return Paths{}, err
	}
	if err := s.play(ctx); err != nil {
		return Paths{}, err
	}
	s.Out.Printf("\nThe demo took %s. All files are in %s", ui.Duration(time.Since(began)), ui.Sanitize(s.dir))
	return Paths{s.program, s.dir, s.library}, nil
}

func (s *Show) prepare(dir string) (err error) {
	if s.program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if dir == "" {
		s.dir, err = os.MkdirTemp("", "assetferry-demo-")
	} else if err = os.Mkdir(dir, 0o700); err == nil {
		s.dir, err = filepath.Abs(dir)
	} else {
		return hint.Usage(fmt.Errorf("make the folder of the demo: %w", err), "name a folder that does not exist yet with --dir")
	}
	s.library = filepath.Join(s.dir, "library")
	return err
}

// startSandbox starts the sandbox, and sets the environment of the child processes.
func (s *Show) startSandbox(ctx context.Context) error {
	data := filepath.Join(s.dir, "sandbox")
	c, err := tokens.LoadOrCreateCredentials(data)
	if err != nil {
		return err
	}
	url, err := s.StartSandbox(ctx, sandbox.Options{
		Dir: data, Latency: latency, Log: s.Out.Log(), Library: true,
		Environments: []tokens.Environment{{ID: c.EnvironmentID, AccessKey: c.AccessKey}},
	})
	if err != nil {
		return err
	}
	s.url = url
	s.Out.Printf("\n2. A sandbox: a local stand-in for the service, at %s", url)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ASSETFERRY_") {
			s.env = append(s.env, v)
		}
	}
	s.env = append(s.env, "ASSETFERRY_URL="+url, "ASSETFERRY_ENVIRONMENT_ID="+c.EnvironmentID,
		"ASSETFERRY_ACCESS_KEY="+string(c.AccessKey), "ASSETFERRY_STATE="+filepath.Join(s.dir, "state.db"))
	return nil
}

// play runs the program like a user.
func (s *Show) play(ctx context.Context) error {
	s.Out.Printf("\n3. Plan the migration: nothing is uploaded yet")
	if err := s.child(ctx, "plan", "library", "--unsupported", "skip"); err != nil {
		return err
	}
	migrate := []string{"migrate", "library", "--unsupported", "skip", "--concurrency", workers, "--confirm-timeout", confirmTimeout}
	s.Out.Printf("\n4. Run the migration, and kill the process")
	if err := s.killed(ctx, migrate...); err != nil {
		return err
	}
	s.Out.Printf("\n5. Resume with the same command: no object is uploaded twice")
	if err := s.child(ctx, migrate...); err != nil {
		return err
	}
	s.Out.Printf("\n6. Verify every asset by its checksum")
	if err := s.child(ctx, "verify", "--content"); err != nil {
		return err
	}
	if err := s.countUploads(ctx); err != nil {
		return err
	}
	s.Out.Printf("\n7. Show the status, and write a report")
	if err := s.child(ctx, "status"); err != nil {
		return err
	}
	return s.child(ctx, "report", "--format", "html", "--output", "report.html")
}

// countUploads reads from the sandbox how many uploads it got: one for each asset, despite the
// kill.
func (s *Show) countUploads(ctx context.Context) error {
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
		return fmt.Errorf("demo: read the statistics of the sandbox: %w", err)
	}
	for _, r := range stats.Requests {
		if r.Method == http.MethodPost && r.Route == "/assets" && r.Status == http.StatusCreated {
			s.Out.Printf("   The sandbox received %s in total: none was repeated.", ui.Counted(r.Count, "upload"))
		}
	}
	return nil
}

func (s *Show) command(ctx context.Context, args ...string) *exec.Cmd {
	s.Out.Printf("   $ assetferry %s\n", strings.Join(args, " ")) // in the demo folder
	c := exec.CommandContext(ctx, s.program, append(args, s.Form...)...)
	c.Dir, c.Env = s.dir, s.env
	return c
}

// child runs the program, which must succeed.
func (s *Show) child(ctx context.Context, args ...string) error {
	c := s.command(ctx, args...)
	c.Stdout, c.Stderr = s.Stdout, s.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("demo: assetferry %s: %w", args[0], err)
	}
	return nil
}

// killed runs the program and kills it after some uploads.
func (s *Show) killed(ctx context.Context, args ...string) error {
	c := s.command(ctx, args...)
	if !s.Out.JSON() {
		c.Args = append(c.Args, "--json") // to count uploads
	}
	c.Stderr = s.Stderr
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
		if s.Out.JSON() {
			fmt.Fprintf(s.Stdout, "%s\n", lines.Bytes())
		}
		var event struct{ Type, State string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Type != "item" || event.State != "done" {
			continue
		}
		if done++; done == killAt {
			_ = c.Process.Kill() // the exit shows whether it was too late
		}
	}
	exit := c.Wait()
	if done >= killAt && ui.IsTerminal(s.Stderr) {
		fmt.Fprintln(s.Stderr) // the killed process leaves its progress bar
	}
	switch {
	case lines.Err() != nil:
		return fmt.Errorf("demo: read events: %w", lines.Err())
	case exit == nil:
		s.Out.Printf("   The run finished before the kill, so there is nothing to resume this time.")
		return nil
	case done < killAt:
		return fmt.Errorf("demo: assetferry %s: %w", args[0], exit)
	}
	s.Out.Printf("   Killed after %s.", ui.Counted(int64(done), "upload"))
	return nil
}
