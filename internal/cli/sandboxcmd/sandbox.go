// Package sandboxcmd holds assetferry sandbox: it runs the stand-ins of both services, and
// shows and stops those that run.
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

// sandboxLong is what the help of sandbox says.
const sandboxLong = `Sandbox runs stand-ins of the asset management service and of the AI content
service. It prints the variables that a shell needs, and then closes stdout:

    eval "$(assetferry sandbox --data DIR &)"

It runs until "assetferry sandbox stop", an interrupt or a termination; none of
these is an error. In the background it leaves the terminal, so that Ctrl-C at
the prompt does not end it.

--data keeps all data in a folder, with the credentials in DIR/credentials.env.
A restart uses the same port. If another program uses the port, choose one with
--listen. Without --data, all data is in memory.

Faults are rules of the form METHOD ROUTE KEY=VALUE..., with * for any:

    --fault 'POST /assets status=429 rate=0.3 retry-after=1 seed=7'

    status=CODE            answer with this status
    commit=before|after    after: make the change, then send the status;
                           before (default): send only the status
    drop=before|after      cut the connection before or after the change
    delay=DURATION         wait before the answer
    limit=N/s              429 above this rate
    retry-after=VALUE      header of the answer
    rate=P | nth=N | once=N   at random, every Nth request, or only the Nth
    seed=N                 seed of the random rate

Each rule counts all requests that match it. The first rule that fires wins.
--ai-fault takes the same rules, and for streamed answers stream=KIND:

    --ai-fault 'POST /v1/actions/custom/calls stream=cut rate=0.1'

    stream=error           an error event, with status 200
    stream=cut             the connection ends in the middle
    stream=nodone          no final event
    stream=envelope        events in the older form
    stream=slow            slow events
    stream=garbled         invalid JSON
    stream=fenced          JSON with text around it
    stream=empty           no content

The stand-in of the AI content service invents its answers and says so in them.
It describes itself at /v1/docs and /v1/doc.json. --ai-rates, --ai-credits and
--ai-on-premises set its limits. The other stand-in has /docs, /docs.json and
GET /_sandbox/stats, which counts requests.

--max-storage and --max-bandwidth refuse uploads above a limit; with the plan
ckbox.personal, downloads too. Images may use at most 192 MB of memory at the
same time. Larger images get no renditions, or smaller ones.

--profile and --ai-profile make the sandbox behave like a real service that
doctor --probe measured: assetferry help profile.

The library page shows all assets, private ones too, in a browser on this
machine. The printed URL opens it once, for one browser. That browser has access
for 30 days with --data, or else until the sandbox ends. "assetferry sandbox
status" prints a new URL. Faults and --latency do not affect the page.
`

// NewCommand makes assetferry sandbox.
func NewCommand(f *command.Factory) *cobra.Command {
	var o sandboxOptions
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Run a local stand-in of both services for tests",
		Long:  sandboxLong,
		Args:  cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			for _, flag := range []string{"ai-listen", "ai-fault", "ai-rates", "ai-credits", "ai-profile", "ai-on-premises"} {
				if err := cmdline.Together(cmd, "no-ai", flag, "leave one of them out"); err != nil {
					return err
				}
			}
			o.listenChanged, o.ai.listenChanged = cmd.Flags().Changed("listen"), cmd.Flags().Changed("ai-listen")
			return serveSandbox(ctx, f, o)
		}),
	}
	c.AddCommand(newStopCommand(f), newStatusCommand(f))
	flags := c.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` to listen on (default 127.0.0.1:0; with --data the port of the last start)")
	flags.StringVar(&o.data, "data", "", "keep all data in this `directory` (default: in memory)")
	flags.BoolVar(&o.fromEnvironment, "credentials-from-env", false, "use ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY as credentials")
	flags.BoolVar(&o.noLibrary, "no-library", false, "disable the library page for browsers")
	flags.DurationVar(&o.latency, "latency", 0, "`duration` before each answer")
	flags.DurationVar(&o.processing, "processing-delay", 0, "minimum `duration` of image processing")
	flags.DurationVar(&o.skew, "clock-skew", 0, "`duration` by which the clock is ahead")
	flags.StringArrayVar(&o.faults, "fault", nil, "fault `rule` (repeatable)")
	flags.StringVar(&o.profile, "profile", "", "`file` from doctor --probe: behave like that service")
	o.limits.addFlags(flags)
	o.ai.addFlags(flags)
	return c
}

// usualService is the key under auth that every command expects unless told otherwise.
const usualService = "ckbox"

func serveSandbox(ctx context.Context, f *command.Factory, o sandboxOptions) error {
	if f.Out.JSON() {
		return exit.Usage(errors.New("--json is not for sandbox: it prints lines for a shell"), "")
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
			return exit.Usage(fmt.Errorf("--fault %q: %w", text, err), "assetferry sandbox --help explains the rules")
		}
		options.Faults = append(options.Faults, rule)
	}
	credentials, err := sandboxCredentials(f, o)
	if err != nil {
		return err
	}
	options.Environments = []tokens.Environment{{ID: credentials.EnvironmentID, AccessKey: credentials.AccessKey}}
	if !command.IsLoopback(o.listen) {
		f.Out.Log().Warn("the sandbox is open to other machines, without TLS", "listen", o.listen)
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
	f.Out.Notef("The sandbox listens on %s. It is process %d; to stop it: %s", url, os.Getpid(), stopHint(o.data))
	f.Out.Notef("What it answers is described at %s/docs", url)
	if options.Library && command.IsLoopback(o.listen) {
		f.Out.Notef("What has arrived is to be seen in a browser at %s (the key works once)", run.library)
	}
	if words.url != "" {
		f.Out.Notef("The AI content service answers at %s", words.url)
		if f.Out.Verbose() { // whoever has this address needs no key
			f.Out.Notef("It gives tokens at %s%s", words.url, words.tokenPath)
		}
	}
	stopBoth := run.stop
	if err := announce(f, url, words.url, credentials); err != nil { // after that nobody waits for us
		return errors.Join(err, stopBoth())
	}
	<-ctx.Done()
	return stopBoth()
}

// A runningSandbox is one that answers, with the AI content service beside it.
type runningSandbox struct {
	url, library string
	ai           *runningAI
	stop         func() error
}

// runSandbox starts both services, at the ports that they had before, and keeps these.
func runSandbox(ctx context.Context, f *command.Factory, o sandboxOptions, options sandbox.Options) (r runningSandbox, err error) {
	server, err := sandbox.New(options)
	if errors.Is(err, datadir.ErrInUse) {
		data := cmdline.WithValue("data", o.data)
		hint := cmdline.Line("sandbox status", data) + " shows its address, and " + cmdline.Line("sandbox stop", data) + " ends it"
		if _, e := controlSandbox(f, o.data, func(c sandbox.Control) error { _, err := c.Status(ctx); return err }); e != nil {
			hint = "wait for the command that uses it, such as one with --to sandbox; or if it was started with --credentials-from-env, stop it in a shell that has its access key"
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
		return r, errors.Join(fmt.Errorf("keep the ports: %w", err), r.stop())
	}
	r.library = server.LibraryURL(r.url)
	return r, nil
}

// stopHint is the command that stops a sandbox.
func stopHint(data string) string { return cmdline.Line("sandbox stop", dataFlag(data)) }

// startHint is the command that starts a sandbox.
func startHint(data string) string { return cmdline.Line("sandbox", dataFlag(data)) }

func dataFlag(data string) []string {
	if data == "" {
		return nil
	}
	return cmdline.WithValue("data", data)
}

// sandboxCredentials are those of the folder, made up for memory, or given.
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

// announce prints what a shell needs, in one write, and closes stdout so that a
// command substitution ends. The key comes last: who reads a line at a time has
// everything by then. The service is only named where it is not the usual one.
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
