package sandboxcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/ui"
)

// sandboxPorts is where a sandbox with a folder listened last. It listens there again, so
// that what shells have exported still holds after a restart.
type sandboxPorts struct {
	Assets string `json:"assets"`
	AI     string `json:"ai,omitempty"`
}

func portsFile(dir string) string { return filepath.Join(dir, "addresses.json") }

// readPorts gives the zero value where nothing listened before.
func readPorts(dir string) (p sandboxPorts, err error) {
	if dir == "" {
		return p, nil
	}
	text, err := os.ReadFile(portsFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, exit.With(exit.CodeError, fmt.Errorf("read where the sandbox listened, %s: %w", ui.Sanitize(portsFile(dir)), err),
			"delete that file; the sandbox chooses another port then")
	}
	return p, nil
}

// writePorts keeps where the sandbox listens. A service that is left out this time keeps
// the port that it had.
func writePorts(dir string, p sandboxPorts) error {
	before, err := readPorts(dir)
	if err != nil || dir == "" || p == before {
		return err
	}
	if p.AI == "" {
		p.AI = before.AI
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	draft := portsFile(dir) + ".draft"
	if err := os.WriteFile(draft, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, portsFile(dir))
}

// listenAgain has a stand-in listen where it did before, unless somebody said where.
func listenAgain(flag, chosen, before string, changed bool, start func(string) error) error {
	if changed || before == "" {
		return start(chosen)
	}
	err := start(before)
	if _, taken := errors.AsType[*net.OpError](err); taken {
		return exit.With(exit.CodeError, fmt.Errorf("%s, where this sandbox was before, cannot be used: %w", before, err),
			"end the program that listens there, or add --"+flag+" 127.0.0.1:0 for another port; a shell that uses the sandbox needs the new address then")
	}
	return err
}

func newStopCommand(f *command.Factory) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop a sandbox",
		Long: `Stop ends the sandbox of this shell, or the sandbox of a folder with --data, and
waits until it has ended. The data in the folder stays. It is no error if no
sandbox runs. Stop needs the access key of the sandbox, and kills no process.
`,
		Example: `  assetferry sandbox stop
  assetferry sandbox stop --data rehearsal`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			control, err := controlSandbox(f, data, func(c sandbox.Control) error { return c.Stop(ctx) })
			switch {
			case errors.Is(err, sandbox.ErrNotRunning):
				f.Out.Notef("No sandbox runs%s.", whichSandbox(control, data))
				return nil
			case err != nil:
				return fmt.Errorf("stop the sandbox: %w", err)
			}
			f.Out.Notef("The sandbox at %s has stopped.", control.URL)
			if exported, _ := f.Lookup("ASSETFERRY_URL"); exported == control.URL {
				f.Out.Notef("The variables of this shell still name it. They are used instead of a configuration file until: %s", unsetSandbox)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&data, "data", "", "the sandbox with its data in this `directory`")
	return c
}

func newStatusCommand(f *command.Factory) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the URLs of a running sandbox",
		Long: `Status shows the URLs of the sandbox of this shell, or of a folder with --data.
It prints a new URL of the library page, which opens the page once. It exits
with 10 if no sandbox runs.
`,
		Example: `  assetferry sandbox status
  assetferry sandbox status --data rehearsal`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			var is sandbox.Status
			control, err := controlSandbox(f, data, func(c sandbox.Control) (err error) { is, err = c.Status(ctx); return err })
			if errors.Is(err, sandbox.ErrNotRunning) {
				return exit.With(exit.CodeNoSuch, fmt.Errorf("no sandbox runs%s", whichSandbox(control, data)), startHint(data)+" starts one")
			} else if err != nil {
				return err
			}
			f.Out.Printf("The sandbox listens on %s (process %d).", control.URL, is.Process)
			if is.AI != "" {
				f.Out.Printf("The AI content service answers at %s", is.AI)
			}
			if is.Library != "" {
				f.Out.Printf("Library page, for one browser: %s", is.Library)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&data, "data", "", "the sandbox with its data in this `directory`")
	return c
}

// unsetSandbox takes back what a shell has exported for a sandbox.
const unsetSandbox = "unset ASSETFERRY_URL ASSETFERRY_AI_URL ASSETFERRY_SERVICE ASSETFERRY_ENVIRONMENT_ID ASSETFERRY_ACCESS_KEY"

func whichSandbox(c sandbox.Control, data string) string {
	switch {
	case data != "" && c.URL == "":
		return " with its data in " + ui.Sanitize(data)
	case data != "":
		return " with its data in " + ui.Sanitize(data) + ", at " + c.URL
	}
	return " at " + ui.Sanitize(c.URL)
}

// controlSandbox gives an order to the sandbox of a folder, or to the one of this shell. That
// must be on this machine: the variables of a shell may name the real service.
func controlSandbox(f *command.Factory, data string, order func(sandbox.Control) error) (sandbox.Control, error) {
	c := sandbox.Control{Now: clock.Now}
	text, _ := f.Lookup("ASSETFERRY_ACCESS_KEY")
	key := tokens.AccessKey(text)
	if data == "" {
		c.URL, _ = f.Lookup("ASSETFERRY_URL")
		u, err := url.Parse(c.URL)
		if err != nil || u.Scheme != "http" || !isThisMachine(u.Hostname()) || key == "" {
			return c, exit.Usage(errors.New("this shell has no sandbox: ASSETFERRY_URL and ASSETFERRY_ACCESS_KEY name none on this machine"),
				"name its folder with --data DIR, or run this in the shell that uses it")
		}
		c.Key = key
		return c, order(c)
	}
	ports, err := readPorts(data)
	if err != nil {
		return c, err
	}
	if ports.Assets == "" {
		return c, sandbox.ErrNotRunning
	}
	c.URL = "http://" + ports.Assets
	own, err := tokens.LoadCredentials(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	for _, c.Key = range []tokens.AccessKey{own.AccessKey, key} { // that of the shell after --credentials-from-env
		if err = sandbox.ErrNotRunning; c.Key != "" {
			err = order(c)
		}
		if !errors.Is(err, sandbox.ErrNotRunning) {
			break
		}
	}
	return c, err
}

// isThisMachine reports whether a host is an address of this machine.
func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	if ip == nil || ip.IsLoopback() || ip.IsUnspecified() {
		return ip != nil || host == "localhost"
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}
