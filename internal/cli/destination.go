package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/pace"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/internal/token"
	"assetferry/state"
)

// A destination is where a command reads and writes.
type destination struct {
	name        string // "sandbox", a name from the configuration, or the address
	url         string
	environment string
	workspace   string
	embedded    bool     // the embedded sandbox
	dir         string   // of the embedded sandbox
	secrets     []string // files that hold credentials
	client      *assets.Client
	calls       *pace.Calls // nil if there is no budget of them
	limiter     *pace.Limiter
	profile     sandbox.Profile // what was measured of it; zero: nothing
	guarded     bool            // writing to it takes an approval
	approver    state.Approver  // who approved what is about to be written; zero if nobody had to
}

// identity names the destination in the journal, whatever its address.
func (d *destination) identity() string { return d.environment + "/" + d.workspace }

// String says where a run writes to.
func (d *destination) String() string {
	s := fmt.Sprintf("%s, environment %s", d.url, d.environment)
	if d.workspace != d.environment {
		s += ", workspace " + d.workspace
	}
	switch {
	case d.embedded:
		return fmt.Sprintf("sandbox (a rehearsal, kept in %s), %s", d.dir, s)
	case d.name != "" && d.name != d.url:
		return d.name + ", " + s
	}
	return s
}

// access is what a client needs besides its options.
type access struct {
	url, environment, workspace string
	key                         token.Secret // empty where somebody else signs
	tokens                      token.Source
	// For the routes of administrators; nil where tokens will do for these, too.
	adminTokens, superadminTokens token.Source
	transport                     http.RoundTripper
}

// openDestination resolves where to write and makes a client for it. With
// readOnly the client cannot send anything that writes. Without it, a destination that
// requires an approval is opened only if the command was approved.
func (a *app) openDestination(ctx context.Context, readOnly bool) (*destination, error) {
	return a.openPermitted(ctx, readOnly, a.commandSubject())
}

// openPermitted is openDestination for what can be approved under a name of its own.
func (a *app) openPermitted(ctx context.Context, readOnly bool, s subject) (*destination, error) {
	d, err := a.settings.Destination()
	if err != nil {
		return nil, err
	}
	dest, acc, err := a.enter(ctx, d)
	if err != nil {
		return nil, err
	}
	need := a.requirement(dest, d.TokenCommand != "")
	dest.guarded = need.Required
	readOnly = readOnly || dest.guarded && s.sendsNothing
	if dest.approver, err = a.permit(ctx, dest, need, readOnly, s); err != nil {
		return nil, err
	}
	return dest, a.connect(dest, acc, readOnly)
}

// enter finds out what it takes to talk to a destination.
func (a *app) enter(ctx context.Context, d config.Destination) (dest *destination, acc access, err error) {
	dest = &destination{name: d.Name, secrets: []string{d.Environment.File(), d.AccessKey.File()}}
	if d.Kind == config.Sandbox {
		acc, err = a.startEmbedded(ctx, d, dest)
	} else {
		acc, err = a.reach(ctx, d)
	}
	if err == nil && d.ServiceProfile != "" {
		dest.profile, err = readProfile("--service-profile", d.ServiceProfile)
	}
	if err != nil {
		return nil, acc, err
	}
	dest.url, dest.environment = acc.url, acc.environment
	dest.workspace = cmp.Or(acc.workspace, acc.environment) // the default workspace has the environment's ID
	return dest, acc, nil
}

// connect makes the client of a destination, with its budget. It sends nothing yet.
func (a *app) connect(dest *destination, acc access, readOnly bool) error {
	dest.calls = pace.NewCalls(a.settings.MaxCalls, clock.Now)
	dest.limiter = a.limiter(dest.calls)
	return a.dial(dest, acc, readOnly)
}

// dial makes a client that goes at the pace of its destination. It sends nothing yet.
func (a *app) dial(dest *destination, acc access, readOnly bool) (err error) {
	dest.client, err = assets.New(assets.Options{
		BaseURL: acc.url, Tokens: acc.tokens, AdminTokens: acc.adminTokens, SuperadminTokens: acc.superadminTokens, Workspace: acc.workspace, Transport: acc.transport,
		UserAgent: "assetferry/" + version(), ReadOnly: readOnly, AllowHTTP: a.settings.AllowHTTP, AllowPrivateNetworks: a.settings.AllowPrivateNetworks,
		CompensateClock: a.settings.CompensateClock, Now: clock.Now, Redactor: a.redactor,
		Limiter: dest.limiter, Bandwidth: pace.NewBandwidth(a.settings.Bandwidth, clock.Now),
		OnWait: func(w retry.Wait) {
			a.out.Log().Info("wait before another try", "class", w.Class, "delay", w.Delay, "error", w.Err)
		},
	})
	if err != nil {
		return usage(err, "")
	}
	if dest.profile.ListOrder == "ignored" {
		dest.client.Unordered()
	}
	a.closeLater(func() error { dest.client.CloseIdleConnections(); return nil })
	return nil
}

// greet makes the first contact. It gives up within ten seconds.
func (d *destination) greet(ctx context.Context) error {
	err := d.client.Ping(ctx)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return with(exitError, fmt.Errorf("first contact: no answer from %s in time", d.url), "check the base address, the network and the proxy")
	}
	e, ok := errors.AsType[*assets.Error](err)
	switch {
	case ok && e.Status >= 500:
		return with(exitError, err, "the service is not ready: run the same command again later")
	case ok && e.Foreign && e.Status/100 != 3: // a redirect has a hint of its own
		return with(exitError, err, d.askWhether(e.Hint()))
	}
	return err
}

// askWhether is the next step where something answered that does not speak like the
// service: what it means by a status is of use only if it is the service after all.
func (d *destination) askWhether(hint string) string {
	ask := "is " + d.url + " the address of the service? What answers there does not speak like it"
	if hint != "" {
		ask += "; if it is, " + hint
	}
	return ask
}

// reach prepares the way to a service at an address.
func (a *app) reach(ctx context.Context, d config.Destination) (acc access, err error) {
	warn := func(msg string) { a.out.Log().Warn(msg) }
	environment, err := d.Environment.Resolve(ctx, warn)
	if err != nil {
		return acc, err
	}
	acc = access{url: d.URL, environment: environment.Reveal(), workspace: d.Workspace}
	if acc.transport, err = transport(d.CAFile); err != nil {
		return acc, err
	}
	if d.TokenCommand != "" && a.settings.LeastPrivilege {
		return acc, usage(errors.New("--least-privilege needs the access key: a token command decides about the role itself"),
			"leave --least-privilege out, or have the command print tokens of a lesser role")
	}
	if d.TokenCommand != "" {
		c, err := token.NewCommand(d.TokenCommand)
		if err != nil {
			return acc, err
		}
		c.Now, acc.tokens = clock.Now, c
		return acc, nil
	}
	if acc.key, err = d.AccessKey.Resolve(ctx, warn); err != nil {
		return acc, err
	}
	a.redactor.Key(acc.key.Reveal())
	return acc, a.mint(&acc, acc.key, d)
}

// mint makes the sources of tokens: one of an admin for everything or, with least
// privilege, one for each role.
func (a *app) mint(acc *access, key token.Secret, d config.Destination) error {
	claims := token.Claims{Environment: acc.environment, Workspace: d.Workspace, Service: d.Service, User: d.User}
	if !a.settings.LeastPrivilege {
		m, err := newMinter(key, claims)
		acc.tokens = m
		return err
	}
	for role, source := range map[string]*token.Source{
		"user": &acc.tokens, "admin": &acc.adminTokens, "superadmin": &acc.superadminTokens,
	} {
		claims.Role = role
		m, err := newMinter(key, claims)
		if err != nil {
			return err
		}
		*source = m
	}
	return nil
}

func newMinter(key token.Secret, claims token.Claims) (*token.Minter, error) {
	m, err := token.NewMinter(key, claims)
	if err != nil {
		return nil, err
	}
	m.Now = clock.Now
	return m, nil
}

func transport(caFile string) (http.RoundTripper, error) {
	trust, err := trusting(caFile)
	if err != nil {
		return nil, err
	}
	return assets.NewTransport(trust), nil
}

// trusting also trusts the authorities in a file, if one is named.
func trusting(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, usage(fmt.Errorf("read --ca-file: %w", err), "")
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usage(fmt.Errorf("--ca-file %s has no certificate", caFile), "it must hold certificates in PEM form")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// sandboxAt is where a sandbox is, and which service it goes by in tokens.
type sandboxAt struct{ url, service string }

// loadSandbox gives the credentials of the sandbox in a folder, after what is too open
// there has been closed to other accounts.
func (a *app) loadSandbox(dir string) (sandbox.Credentials, error) {
	if err := a.secureSandbox(dir); err != nil {
		return sandbox.Credentials{}, err
	}
	return sandbox.LoadOrCreateCredentials(dir)
}

func (a *app) secureSandbox(dir string) error {
	for _, dir := range []string{dir, besides(dir)} {
		if err := a.noteRepaired(sandbox.Secure(dir)); err != nil {
			return fmt.Errorf("cannot use the sandbox folder: %w", err)
		}
	}
	return nil
}

// startEmbedded runs the embedded sandbox in this process, on a real socket.
func (a *app) startEmbedded(ctx context.Context, d config.Destination, dest *destination) (acc access, err error) {
	if dest.dir, err = config.SandboxDir(a.lookup); err != nil {
		return acc, err
	}
	dest.embedded = true
	credentials, err := a.loadSandbox(dest.dir)
	if err != nil {
		return acc, err
	}
	if a.embedded.url == "" { // else it is source and destination
		url, stop, err := startSandbox(ctx, sandbox.Options{
			Dir: dest.dir, Log: a.out.Log(), Service: d.Service,
			Environments: []sandbox.Environment{{ID: credentials.EnvironmentID, AccessKey: credentials.AccessKey}},
		}, "127.0.0.1:0")
		if err != nil {
			return acc, err
		}
		a.closeLater(stop)
		a.embedded = sandboxAt{url, d.Service}
	}
	d.Service = a.embedded.service // there is only the one for both
	acc = access{url: a.embedded.url, environment: credentials.EnvironmentID, workspace: d.Workspace, transport: assets.NewTransport(nil)}
	return acc, a.mint(&acc, token.NewSecret(string(credentials.AccessKey)), d)
}

// startSandbox serves a sandbox at an address until it is stopped.
func startSandbox(ctx context.Context, o sandbox.Options, listen string) (url string, stop func() error, err error) {
	o.Now = clock.Now
	s, err := sandbox.New(o)
	if err != nil {
		return "", nil, err
	}
	return serve(ctx, s, listen)
}

// A standIn is the stand-in of a service.
type standIn interface {
	Serve(context.Context, net.Listener) error
	Close() error
}

// serve has a stand-in answer at an address until it is stopped.
func serve(ctx context.Context, s standIn, listen string) (url string, stop func() error, err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("listen: %w", err), s.Close())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // requests that finish a run outlive an interrupt
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	return "http://" + l.Addr().String(), func() error {
		cancel()
		return errors.Join(<-served, s.Close())
	}, nil
}
