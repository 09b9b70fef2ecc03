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
const sandboxLong = `Sandbox runs a stand-in of the asset management service, and beside it one of
the AI content service, at an address of its own. Once they listen it prints
what a shell needs to use them and closes stdout, so that one line is all the
set-up there is:

    eval "$(assetferry sandbox --data DIR &)"

It goes on until assetferry sandbox stop, or until it is interrupted or
terminated, which is not an error; stderr says which process it is. Started in
the background like that it leaves the terminal, so that Ctrl-C at the prompt
does not end it.

With --data everything is kept in a folder and is there again after a restart,
at the same port, so that what a shell has exported still holds; without, it is
in memory. Credentials are made on the first start and kept in
DIR/credentials.env. A port that another program has taken meanwhile is an
error: --listen chooses another one.

Faults are rules of the form METHOD ROUTE KEY=VALUE..., with * for any:

    --fault 'POST /assets status=429 rate=0.3 retry-after=1 seed=7'

    status=CODE            answer with this status
    commit=before|after    was the change made before the bad status?
                           after: the change is made, then the status sent;
                           before (default): the status comes without it
    drop=before|after      cut the connection before or after the change
    delay=DURATION         wait before answering
    limit=N/s              429 above this rate
    retry-after=VALUE      the header to go with it
    rate=P | nth=N | once=N   fire at random, every Nth time, or only the Nth
    seed=N                 of the random rate

Each rule counts every request that matches it; the first that fires wins.

The AI content service takes the same rules with --ai-fault, and for answers
that are streamed, stream=KIND in place of a status:

    --ai-fault 'POST /v1/actions/custom/calls stream=cut rate=0.1'

    stream=error           an error event, although the status is 200
    stream=cut             the connection ends in the middle of the answer
    stream=nodone          no event says that it is over
    stream=envelope        events in the older form
    stream=slow            pieces come late
    stream=garbled         an answer that is no JSON although that was asked for
    stream=fenced          one with words around it
    stream=empty           none at all

Its answers are made up from what is sent to it, the size and the colours of a
picture or the words of a document, and say so. --ai-rates and --ai-credits have
it refuse what the service would refuse, --ai-on-premises has it answer as an
installation of your own does. It describes itself at /v1/docs and /v1/doc.json.

Images take at most 192 MB of memory while they are decoded, all together. One
that takes more has no renditions here, and a rendition that would is smaller
than was asked for.

The limits of a plan can be tried out: beyond them uploads are refused, and on
the plan ckbox.personal files are not handed out any more either. Bandwidth
counts from the start of the sandbox.

A profile makes it do as a real service was seen to do: --profile, and
--ai-profile for the AI content service: assetferry help profile.

A browser on this machine sees what has arrived: categories, folders, assets
with pictures and metadata, the trash, private files included. The address that
is printed has a key that opens the page once, for one browser; that browser is
let in again for 30 days with --data, and else as long as the sandbox runs.
assetferry sandbox status prints a new address. --no-library switches the page
off. It is never shown to other machines, and faults and latency do not hit it.

GET /_sandbox/stats tells which requests came, without a token. /docs is a page
about all that the sandbox answers, /docs.json the same for programs.
`

// NewCommand makes assetferry sandbox.
func NewCommand(f *command.Factory) *cobra.Command {
	var o sandboxOptions
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Run stand-ins of both services, to rehearse on",
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
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` to listen on; with --data the default is the one that it had before")
	flags.StringVar(&o.data, "data", "", "keep everything in this `directory`")
	flags.BoolVar(&o.fromEnvironment, "credentials-from-env", false, "take credentials from ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY")
	flags.BoolVar(&o.noLibrary, "no-library", false, "show browsers on this machine nothing")
	flags.DurationVar(&o.latency, "latency", 0, "wait this long before each answer")
	flags.DurationVar(&o.processing, "processing-delay", 0, "keep images queued for at least this long")
	flags.DurationVar(&o.skew, "clock-skew", 0, "how far the clock is ahead")
	flags.StringArrayVar(&o.faults, "fault", nil, "`rule` of a fault (repeatable)")
	flags.StringVar(&o.profile, "profile", "", "do as this `file` says, which doctor --probe made of a real service")
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
