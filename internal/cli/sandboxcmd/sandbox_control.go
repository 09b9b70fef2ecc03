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

// sandboxPorts are the last listen addresses of a sandbox with a folder. It uses them again, so that the
// settings of shells stay valid after a restart.
type sandboxPorts struct {
	Assets string `json:"assets"`
	AI     string `json:"ai,omitempty"`
}

func portsFile(dir string) string { return filepath.Join(dir, "listen.json") }

// readPorts returns the zero value before the first start.
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
		return p, exit.With(exit.CodeError, fmt.Errorf("read the listen addresses of the sandbox in %s: %w", ui.Sanitize(portsFile(dir)), err),
			"delete the file; the sandbox then chooses another port")
	}
	return p, nil
}

// writePorts stores the listen addresses of the sandbox. A service that is off keeps its previous port.
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

// listenAgain starts a service at its previous listen address, unless a flag sets another one.
func listenAgain(flag, chosen, before string, changed bool, start func(string) error) error {
	if changed || before == "" {
		return start(chosen)
	}
	err := start(before)
	if _, taken := errors.AsType[*net.OpError](err); taken {
		return exit.With(exit.CodeError, fmt.Errorf("the previous listen address of this sandbox, %s, cannot be used: %w", before, err),
			"stop the program that uses it, or add --"+flag+" 127.0.0.1:0 for another port; then shells need the new URL")
	}
	return err
}

func newStopCommand(f *command.Factory) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop the sandbox of this shell or of a folder",
		Long: `Stop ends the sandbox whose URL and key are set in this shell or, with --data,
the sandbox of that folder. It waits until the sandbox has ended. Stored data is
kept. Stop sends a signed request and does not kill a process. If no sandbox is
running, stop does nothing and succeeds.
`,
		Example: `  assetferry sandbox stop
  assetferry sandbox stop --data trial`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			control, err := controlSandbox(f, data, func(c sandbox.Control) error { return c.Stop(ctx) })
			switch {
			case errors.Is(err, sandbox.ErrNotRunning):
				f.Out.Notef("No sandbox is running%s.", whichSandbox(control, data))
				return nil
			case err != nil:
				return fmt.Errorf("stop the sandbox: %w", err)
			}
			f.Out.Notef("The sandbox at %s has stopped.", control.URL)
			if exported, _ := f.Lookup("ASSETFERRY_URL"); exported == control.URL {
				f.Out.Notef("The variables of this shell still refer to it, and override a configuration file. To remove them:\n  %s", unsetSandbox)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&data, "data", "", "use the sandbox with its data in this `folder`")
	return c
}

func newStatusCommand(f *command.Factory) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the URLs of the sandbox",
		Long: `Status shows the URLs of the sandbox of this shell or, with --data, of the
sandbox of a folder. It prints a new URL of the library page. This URL works
once, in one browser. If no sandbox is running, the exit code is 10.
`,
		Example: `  assetferry sandbox status
  assetferry sandbox status --data trial`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			var is sandbox.Status
			control, err := controlSandbox(f, data, func(c sandbox.Control) (err error) { is, err = c.Status(ctx); return err })
			if errors.Is(err, sandbox.ErrNotRunning) {
				return exit.With(exit.CodeNoSuch, fmt.Errorf("no sandbox is running%s", whichSandbox(control, data)), "start it:\n  "+startHint(data))
			} else if err != nil {
				return err
			}
			f.Out.Printf("The sandbox is running at %s (process %d).", control.URL, is.Process)
			if is.AI != "" {
				f.Out.Printf("AI content service: %s", is.AI)
			}
			if is.Library != "" {
				f.Out.Printf("Library page, for one browser: %s", is.Library)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&data, "data", "", "use the sandbox with its data in this `folder`")
	return c
}

// unsetSandbox removes the settings of a sandbox from a shell.
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

// controlSandbox sends an order to the sandbox of a folder or of this shell. That sandbox must be
// on this machine, because the variables of a shell may refer to the real service.
func controlSandbox(f *command.Factory, data string, order func(sandbox.Control) error) (sandbox.Control, error) {
	c := sandbox.Control{Now: clock.Now}
	text, _ := f.Lookup("ASSETFERRY_ACCESS_KEY")
	key := tokens.AccessKey(text)
	if data == "" {
		c.URL, _ = f.Lookup("ASSETFERRY_URL")
		u, err := url.Parse(c.URL)
		if err != nil || u.Scheme != "http" || !isThisMachine(u.Hostname()) || key == "" {
			return c, exit.Usage(errors.New("this shell has no sandbox: ASSETFERRY_URL and ASSETFERRY_ACCESS_KEY do not refer to a sandbox on this machine"),
				"add --data DIR, or use the shell with its settings")
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
	for _, c.Key = range []tokens.AccessKey{own.AccessKey, key} { // the second for --credentials-from-env
		if err = sandbox.ErrNotRunning; c.Key != "" {
			err = order(c)
		}
		if !errors.Is(err, sandbox.ErrNotRunning) {
			break
		}
	}
	return c, err
}

// isThisMachine reports whether host is a local address of this machine.
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
