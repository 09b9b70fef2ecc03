// Package sandboxcmd contains assetferry sandbox, which starts, shows and stops test versions of
// both services.
package sandboxcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/detach"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/shell"
)

type sandboxOptions struct {
	listen, data    string
	listenChanged   bool
	profile         string
	fromEnvironment bool
	noLibrary       bool
	latency, skew   time.Duration
	processing      time.Duration
	faults          []string
	limits          sandboxLimits
	ai              sandboxAI
}

// sandboxLong is the help of sandbox.
const sandboxLong = `Sandbox runs a test version of the asset management service and, on another
port, of the AI content service. When both are ready, it prints the settings for
a shell and closes stdout. This line applies the settings:

    eval "$(assetferry sandbox --data DIR &)"

The sandbox runs until assetferry sandbox stop, an interrupt or a termination
signal. None of these is an error. In the background, it detaches from the
terminal, so that Ctrl-C at the prompt does not end it. stderr shows the process
ID.

With --data, the sandbox stores all data in a folder. The first start creates
credentials in DIR/credentials.env. A restart uses the same port, so that the
settings of the shell stay valid. If another program uses the port, the start
fails. To choose another port, use --listen. Without --data, the sandbox keeps
the data in memory.

Faults are rules of the form METHOD ROUTE KEY=VALUE..., with * for any:

    --fault 'POST /assets status=429 rate=0.3 retry-after=1 seed=7'

    status=CODE            respond with this status
    commit=before|after    with an error status: after makes the change and then
                           sends the status; before (default) only sends it
    drop=before|after      close the connection before or after the change
    delay=DURATION         wait before the response
    limit=N/s              respond with 429 above this rate
    retry-after=VALUE      add this header
    rate=P | nth=N | once=N   apply at random, to every Nth request, or only to
                           the Nth
    seed=N                 seed of the random rate

Each rule counts all requests that match it. The first rule that applies is
used.

--ai-fault takes the same rules for the AI content service. For streamed
responses, use stream=KIND instead of a status:

    --ai-fault 'POST /v1/actions/custom/calls stream=cut rate=0.1'

    stream=error           an error event after the status 200
    stream=cut             the connection ends during the response
    stream=nodone          no event marks the end
    stream=envelope        events in the older format
    stream=slow            parts arrive slowly
    stream=garbled         the response is not the requested JSON
    stream=fenced          the response has words around the JSON
    stream=empty           the response is empty

The AI content service generates its responses from the request, for example
from the size and colours of an image. It marks them as simulated. --ai-rates
and --ai-credits set limits. --ai-on-premises selects the behaviour of an
on-premises installation. The API documentation is at /v1/docs and /v1/doc.json.

Decoded images use up to 192 MB of memory in total. Images that need more
memory have smaller renditions, or none.

The sandbox refuses uploads beyond the limits of its plan. On the plan
ckbox.personal, it also refuses to deliver files beyond the limits. Bandwidth is
counted from the start of the sandbox.

A profile sets the behaviour that doctor --probe measured on a real service. Use
--profile, or --ai-profile for the AI content service. See
assetferry help profile.

A browser on this machine can show the library page. The page has categories,
folders, assets with images and metadata, and the trash, including private
files. The printed URL contains a key that works once, in one browser. With
--data, that browser has access for 30 days. Without --data, it has access until
the sandbox stops. To get a new URL, use assetferry sandbox status. To turn off
the page, use --no-library. Other machines cannot open the page. The page
ignores faults and latency.

GET /_sandbox/stats returns the number of requests and needs no token. The API
documentation is at /docs, and as JSON at /docs.json.
`

// NewCommand returns assetferry sandbox.
func NewCommand(f *command.Factory) *cobra.Command {
	var o sandboxOptions
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Run test versions of the asset service and the AI content service",
		Long:  sandboxLong,
		Args:  cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			for _, flag := range []string{"ai-listen", "ai-fault", "ai-rates", "ai-credits", "ai-profile", "ai-on-premises"} {
				if err := cmdline.Together(cmd, "no-ai", flag, "use only one of them"); err != nil {
					return err
				}
			}
			o.listenChanged, o.ai.listenChanged = cmd.Flags().Changed("listen"), cmd.Flags().Changed("ai-listen")
			return serveSandbox(ctx, f, o)
		}),
	}
	c.AddCommand(newStopCommand(f), newStatusCommand(f))
	flags := c.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` to listen on (with --data, the default is the previous listen address)")
	flags.StringVar(&o.data, "data", "", "store all data in this `folder`")
	flags.BoolVar(&o.fromEnvironment, "credentials-from-env", false, "use the credentials in ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY")
	flags.BoolVar(&o.noLibrary, "no-library", false, "turn off the library page")
	flags.DurationVar(&o.latency, "latency", 0, "wait this `duration` before each response")
	flags.DurationVar(&o.processing, "processing-delay", 0, "keep images queued for at least this `duration`")
	flags.DurationVar(&o.skew, "clock-skew", 0, "set the clock ahead by this `duration`")
	flags.StringArrayVar(&o.faults, "fault", nil, "apply this fault `rule` (repeatable)")
	flags.StringVar(&o.profile, "profile", "", "behave like the service that this `file` from doctor --probe describes")
	o.limits.addFlags(flags)
	o.ai.addFlags(flags)
	return c
}

// usualService is the default key under auth.
const usualService = "ckbox"

func serveSandbox(ctx context.Context, f *command.Factory, o sandboxOptions) error {
	if f.Out.JSON() {
		return exit.Usage(errors.New("sandbox does not support --json: it prints settings for a shell"), "")
	}
	options := sandbox.Options{
		Dir: o.data, Latency: o.latency, ClockSkew: o.skew, ProcessingDelay: o.processing, Service: f.Settings.Service,
		Log: f.Out.Log(), Limits: o.limits.limits(),
		Library: !o.noLibrary,
	}
	if o.profile != "" {
		var err error
		if options.Profile, err = command.ReadProfile("--profile", o.profile); err != nil {
			return err
		}
	}
	for _, text := range o.faults {
		rule, err := fault.Parse(text)
		if err != nil {
			return exit.Usage(fmt.Errorf("--fault %q: %w", text, err), "show the syntax:\n  assetferry sandbox --help")
		}
		options.Faults = append(options.Faults, rule)
	}
	credentials, err := sandboxCredentials(f, o)
	if err != nil {
		return err
	}
	options.Environments = []tokens.Environment{{ID: credentials.EnvironmentID, AccessKey: credentials.AccessKey}}
	if !command.IsLoopback(o.listen) {
		f.Out.Log().Warn("other machines can reach the sandbox, without TLS", "listen", o.listen)
	}
	detach.FromTerminal()
	ctx, stopped := context.WithCancel(ctx)
	defer stopped()
	var aiURL atomic.Value
	options.Stop, options.Now = stopped, clock.Now
	options.AI = func() string { url, _ := aiURL.Load().(string); return url }
	run, err := runSandbox(ctx, f, o, options)
	if err != nil {
		return err
	}
	url, words := run.url, run.ai
	aiURL.Store(words.url)
	f.Out.Notef("The sandbox is running at %s (process %d).", url, os.Getpid())
	f.Out.Notef("API documentation: %s/docs", url)
	if options.Library && command.IsLoopback(o.listen) {
		f.Out.Notef("Library page, for one browser: %s", run.library)
	}
	if words.url != "" {
		f.Out.Notef("AI content service: %s", words.url)
		if f.Out.Verbose() { // this URL requires no key
			f.Out.Notef("Token URL of the AI content service: %s%s", words.url, words.tokenPath)
		}
	}
	f.Out.Notef("To stop the sandbox:\n  %s", stopHint(o.data))
	stopBoth := run.stop
	if err := announce(f, url, words.url, credentials); err != nil { // the shell continues after this
		return errors.Join(err, stopBoth())
	}
	<-ctx.Done()
	return stopBoth()
}

// A runningSandbox is a started sandbox with its AI content service.
type runningSandbox struct {
	url, library string
	ai           *runningAI
	stop         func() error
}

// runSandbox starts both services on their previous ports, and stores the ports.
func runSandbox(ctx context.Context, f *command.Factory, o sandboxOptions, options sandbox.Options) (r runningSandbox, err error) {
	server, err := sandbox.New(options)
	if errors.Is(err, datadir.ErrInUse) {
		data := cmdline.WithValue("data", o.data)
		hint := "show its URL, or stop it:\n  " + cmdline.Line("sandbox status", data) + "\n  " + cmdline.Line("sandbox stop", data)
		if _, e := controlSandbox(f, o.data, func(c sandbox.Control) error { _, err := c.Status(ctx); return err }); e != nil {
			hint = "wait for the command that uses it, such as one with --to sandbox. If it was started with --credentials-from-env, stop it in a shell with its access key"
		}
		return r, exit.With(exit.CodeInUse, err, hint)
	}
	if err != nil {
		return r, err
	}
	before, err := readPorts(o.data)
	if err != nil {
		return r, errors.Join(err, server.Close())
	}
	var stopServer func() error
	err = listenAgain("listen", o.listen, before.Assets, o.listenChanged, func(at string) (err error) {
		r.url, stopServer, err = command.Serve(ctx, server, at)
		return err
	})
	if err != nil {
		return r, err
	}
	err = listenAgain("ai-listen", o.ai.listen, before.AI, o.ai.listenChanged, func(at string) (err error) {
		o.ai.listen = at
		r.ai, err = o.ai.start(ctx, options)
		return err
	})
	if err != nil {
		return r, errors.Join(err, stopServer())
	}
	r.stop = func() error { return errors.Join(r.ai.stop(), stopServer()) }
	ports := sandboxPorts{Assets: strings.TrimPrefix(r.url, "http://"), AI: strings.TrimPrefix(r.ai.url, "http://")}
	if err := writePorts(o.data, ports); err != nil {
		return r, errors.Join(fmt.Errorf("store the ports: %w", err), r.stop())
	}
	r.library = server.LibraryURL(r.url)
	return r, nil
}

// stopHint returns the command that stops a sandbox.
func stopHint(data string) string { return cmdline.Line("sandbox stop", dataFlag(data)) }

// startHint returns the command that starts a sandbox.
func startHint(data string) string { return cmdline.Line("sandbox", dataFlag(data)) }

func dataFlag(data string) []string {
	if data == "" {
		return nil
	}
	return cmdline.WithValue("data", data)
}

// sandboxCredentials returns the credentials of the folder, new ones, or those of the
// environment.
func sandboxCredentials(f *command.Factory, o sandboxOptions) (tokens.Credentials, error) {
	switch {
	case !o.fromEnvironment && o.data != "":
		return f.LoadSandbox(o.data)
	case !o.fromEnvironment:
		return tokens.NewCredentials(), nil
	}
	if o.data != "" {
		if err := f.SecureSandbox(o.data); err != nil {
			return tokens.Credentials{}, err
		}
	}
	id, _ := f.Lookup("ASSETFERRY_ENVIRONMENT_ID")
	key, _ := f.Lookup("ASSETFERRY_ACCESS_KEY")
	if id == "" || key == "" {
		return tokens.Credentials{}, exit.Usage(errors.New("--credentials-from-env needs ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY"), "")
	}
	return tokens.Credentials{EnvironmentID: id, AccessKey: tokens.AccessKey(key)}, nil
}

// announce prints the settings for a shell in one write, and closes stdout so that a command
// substitution ends. The key is last, so a reader of single lines then has everything. A default
// service is omitted.
func announce(f *command.Factory, url, aiURL string, c tokens.Credentials) error {
	lines, service := "", f.Settings.Service
	if service == usualService {
		service = ""
	}
	for _, v := range [][2]string{{"URL", url}, {"AI_URL", aiURL}, {"SERVICE", service}, {"ENVIRONMENT_ID", c.EnvironmentID}, {"ACCESS_KEY", string(c.AccessKey)}} {
		if v[1] != "" {
			lines += "export ASSETFERRY_" + v[0] + "=" + shell.Quote(v[1]) + "\n"
		}
	}
	if _, err := io.WriteString(f.Stdout, lines); err != nil {
		return fmt.Errorf("print credentials: %w", err)
	}
	if file, ok := f.Stdout.(*os.File); ok {
		return file.Close()
	}
	return nil
}
