package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/outbound"
	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"
	"assetferry/state"
)

// A Destination is an opened destination.
type Destination struct {
	name        string // "sandbox", a name from the configuration, or the URL
	URL         string
	Environment string
	Workspace   string
	embedded    bool     // the embedded sandbox
	Dir         string   // of the embedded sandbox
	secrets     []string // files that hold credentials
	Client      *assets.Client
	calls       *ratelimit.Requests // nil without a request limit
	Limiter     *ratelimit.Limiter
	Profile     profile.Profile // measured by doctor; zero if unknown
	Guarded     bool            // changes need an approval
	Approver    state.Approver  // of this command; zero if none is needed
}

// Identity returns the name of the destination in the state database, which does not depend on its
// URL.
func (d *Destination) Identity() string { return d.Environment + "/" + d.Workspace }

// Place returns the short name of the destination for people.
func (d *Destination) Place() string {
	switch {
	case d.embedded:
		return "the sandbox"
	case d.name != "":
		return d.name
	}
	return d.URL
}

// String returns the destination for people.
func (d *Destination) String() string {
	s := fmt.Sprintf("%s, environment %s", d.URL, d.Environment)
	if d.Workspace != d.Environment {
		s += ", workspace " + d.Workspace
	}
	switch {
	case d.embedded && d.Dir == "":
		return "an empty service with the profile"
	case d.embedded:
		return fmt.Sprintf("sandbox (data in %s), %s", d.Dir, s)
	case d.name != "" && d.name != d.URL:
		return d.name + ", " + s
	}
	return s
}

// Access is what a client needs besides its options.
type Access struct {
	URL, Environment, Workspace string
	Key                         token.Secret // empty if another program signs
	Tokens                      token.Source
	// For the routes of administrators; nil if Tokens work for these too.
	AdminTokens, SuperadminTokens token.Source
	Transport                     http.RoundTripper
}

// OpenDestination opens the destination of the settings. With readOnly the client cannot send
// changes. Otherwise a destination that requires approvals is opened only for an approved command.
func (f *Factory) OpenDestination(ctx context.Context, readOnly bool) (*Destination, error) {
	return f.OpenPermitted(ctx, readOnly, f.CommandSubject())
}

// OpenPermitted is OpenDestination for an action with its own subject.
func (f *Factory) OpenPermitted(ctx context.Context, readOnly bool, s Subject) (*Destination, error) {
	d, err := f.Settings.Destination()
	if err != nil {
		return nil, err
	}
	dest, acc, err := f.Resolve(ctx, d)
	if err != nil {
		return nil, err
	}
	f.Settings.MaxTag = max(dest.Profile.MaxTag, 0) // before an approval of the rules is checked
	need := f.Requirement(dest, d.TokenCommand != "")
	dest.Guarded = need.Required
	readOnly = readOnly || dest.Guarded && s.SendsNothing
	if dest.Approver, err = f.permit(ctx, dest, need, readOnly, s); err != nil {
		return nil, err
	}
	return dest, f.Connect(dest, acc, readOnly)
}

// Resolve returns a destination and the access to it.
func (f *Factory) Resolve(ctx context.Context, d config.Destination) (dest *Destination, acc Access, err error) {
	dest = &Destination{name: d.Name, secrets: []string{d.Environment.File(), d.AccessKey.File()}}
	switch {
	case d.Kind == config.Sandbox && f.scratch != nil:
		acc, err = f.startProfiled(ctx, dest)
	case d.Kind == config.Sandbox:
		acc, err = f.startEmbedded(ctx, d, dest)
	default:
		acc, err = f.reach(ctx, d)
	}
	if err == nil && d.ServiceProfile != "" {
		dest.Profile, err = ReadProfile("--service-profile", d.ServiceProfile)
	}
	if err != nil {
		return nil, acc, err
	}
	dest.URL, dest.Environment = acc.URL, acc.Environment
	dest.Workspace = cmp.Or(acc.Workspace, acc.Environment) // the default workspace has the environment's ID
	return dest, acc, nil
}

// Connect makes the client of a destination, with its request limit. It sends nothing yet.
func (f *Factory) Connect(dest *Destination, acc Access, readOnly bool) error {
	dest.calls = ratelimit.NewRequests(f.Settings.MaxRequests, clock.Now)
	dest.Limiter = f.limiter(dest.calls)
	return f.dial(dest, acc, readOnly)
}

// dial makes a client with the rate limiter of its destination. It sends nothing yet.
func (f *Factory) dial(dest *Destination, acc Access, readOnly bool) (err error) {
	dest.Client, err = assets.New(assets.Options{
		BaseURL: acc.URL, Tokens: acc.Tokens, AdminTokens: acc.AdminTokens, SuperadminTokens: acc.SuperadminTokens, Workspace: acc.Workspace, Transport: acc.Transport,
		UserAgent: "assetferry/" + cmdline.Version(), ReadOnly: readOnly, AllowHTTP: f.Settings.AllowHTTP, AllowPrivateNetworks: f.Settings.AllowPrivateNetworks,
		CompensateClock: f.Settings.CompensateClock, Now: clock.Now, Redactor: f.Redactor,
		Limiter: dest.Limiter, Bandwidth: ratelimit.NewBandwidth(f.Settings.Bandwidth, clock.Now),
		OnWait: func(w retry.Wait) {
			f.Out.Log().Info("wait before another try", "class", w.Class, "delay", w.Delay, "error", w.Err)
		},
	})
	if err != nil {
		return exit.Usage(err, "")
	}
	if dest.Profile.ListOrder == "ignored" {
		dest.Client.Unordered()
	}
	f.CloseLater(func() error { dest.Client.CloseIdleConnections(); return nil })
	return nil
}

// Ping makes the first contact, with a timeout of ten seconds.
func (d *Destination) Ping(ctx context.Context) error {
	err := d.Client.Ping(ctx)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return exit.With(exit.CodeError, fmt.Errorf("no response from %s within 10 seconds", d.URL), "check the URL, the network and the proxy")
	}
	e, ok := errors.AsType[*assets.Error](err)
	switch {
	case ok && e.Err != nil && outbound.ConnectFailure(e.Err) != "":
		return &connectError{d.URL, outbound.ConnectFailure(e.Err), e}
	case ok && e.Status >= 500:
		return exit.With(exit.CodeError, err, "the service is not ready: run the same command again later")
	case ok && e.Foreign && e.Status/100 != 3: // a redirect has a hint of its own
		return exit.With(exit.CodeError, err, d.checkURL(e.Hint()))
	}
	return err
}

// A connectError says that no connection to the service was possible.
type connectError struct {
	url, reason string
	err         *assets.Error
}

func (e *connectError) Error() string {
	return fmt.Sprintf("could not connect to %s: %s", e.url, e.reason)
}

func (e *connectError) Unwrap() error { return e.err }

// checkURL returns the hint for an answer that is not from the service. The usual hint for its
// status helps only if it is the service after all.
func (d *Destination) checkURL(hint string) string {
	check := "check the base URL: the response from " + d.URL + " is not one of the service"
	if hint != "" {
		check += ". If the URL is right, " + hint
	}
	return check
}

// reach prepares the access to a service at a URL.
func (f *Factory) reach(ctx context.Context, d config.Destination) (acc Access, err error) {
	warn := func(msg string) { f.Out.Log().Warn(msg) }
	environment, err := d.Environment.Resolve(ctx, warn)
	if err != nil {
		return acc, err
	}
	acc = Access{URL: d.URL, Environment: environment.Reveal(), Workspace: d.Workspace}
	if acc.Transport, err = Transport(d.CAFile); err != nil {
		return acc, err
	}
	if d.TokenCommand != "" && f.Settings.LeastPrivilege {
		return acc, exit.Usage(errors.New("--least-privilege needs the access key: a token command chooses the role itself"),
			"leave --least-privilege out, or have the command print tokens of a lesser role")
	}
	if d.TokenCommand != "" {
		c, err := token.NewCommand(d.TokenCommand)
		if err != nil {
			return acc, err
		}
		c.Now, acc.Tokens = clock.Now, c
		return acc, nil
	}
	if acc.Key, err = d.AccessKey.Resolve(ctx, warn); err != nil {
		return acc, err
	}
	f.Redactor.Key(acc.Key.Reveal())
	return acc, f.mint(&acc, acc.Key, d)
}

// mint makes the token sources: an admin for everything or, with least privilege, one for each
// role.
func (f *Factory) mint(acc *Access, key token.Secret, d config.Destination) error {
	claims := token.Claims{Environment: acc.Environment, Workspace: d.Workspace, Service: d.Service, User: d.User}
	if !f.Settings.LeastPrivilege {
		m, err := newMinter(key, claims)
		acc.Tokens = m
		return err
	}
	for role, source := range map[string]*token.Source{
		"user": &acc.Tokens, "admin": &acc.AdminTokens, "superadmin": &acc.SuperadminTokens,
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

// Transport returns the transport to the service, which also trusts the authorities in a file.
func Transport(caFile string) (http.RoundTripper, error) {
	trust, err := Trusting(caFile)
	if err != nil {
		return nil, err
	}
	return assets.NewTransport(trust), nil
}

// Trusting returns a TLS configuration that also trusts the authorities in a file, if there is one.
func Trusting(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("read --ca-file: %w", err), "")
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, exit.Usage(fmt.Errorf("--ca-file %s contains no certificate", caFile), "the file needs certificates in PEM format")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// startEmbedded runs the embedded sandbox in this process, on a socket.
func (f *Factory) startEmbedded(ctx context.Context, d config.Destination, dest *Destination) (acc Access, err error) {
	if dest.Dir, err = config.SandboxDir(f.Lookup); err != nil {
		return acc, err
	}
	dest.embedded = true
	credentials, err := f.LoadSandbox(dest.Dir)
	if err != nil {
		return acc, err
	}
	if f.embedded.url == "" { // otherwise it is source and destination
		url, stop, err := StartSandbox(ctx, sandbox.Options{
			Dir: dest.Dir, Log: f.Out.Log(), Service: d.Service,
			Environments: []tokens.Environment{{ID: credentials.EnvironmentID, AccessKey: credentials.AccessKey}},
		}, "127.0.0.1:0")
		if err != nil {
			return acc, err
		}
		f.CloseLater(stop)
		f.embedded = sandboxAt{url, d.Service}
	}
	d.Service = f.embedded.service // both share one
	acc = Access{URL: f.embedded.url, Environment: credentials.EnvironmentID, Workspace: d.Workspace, Transport: assets.NewTransport(nil)}
	return acc, f.mint(&acc, token.NewSecret(string(credentials.AccessKey)), d)
}

// Now returns the time by the clock of the server, as far as its answers show it.
func (d *Destination) Now() time.Time {
	skew, _ := d.Client.Skew()
	return clock.Now().Add(skew)
}

// OtherDestination is the error of an undo for a run that wrote to another destination.
func OtherDestination(run, wroteTo string, dest *Destination) error {
	return exit.Usage(fmt.Errorf("run %s wrote to %s, but the selected destination is %s", run, wroteTo, dest.Identity()), "select the destination of the run with --to and --workspace")
}

// Current returns the URL of an asset now: the embedded sandbox has another port each time.
func (d *Destination) Current(rawURL string) string {
	u, err := url.Parse(rawURL)
	here, herr := url.Parse(d.URL)
	if !d.embedded || err != nil || herr != nil {
		return rawURL
	}
	u.Scheme, u.Host = here.Scheme, here.Host
	return u.String()
}

// OpenRecorded opens a destination for reading, with its state database, which must exist. It
// returns the pairs of this destination, at least one.
func (f *Factory) OpenRecorded(ctx context.Context) (*Destination, *state.Store, []state.Pair, error) {
	d, err := f.OpenDestination(ctx, true)
	if err != nil {
		return nil, nil, nil, err
	}
	path, err := f.Ping(ctx, d)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := MustExist(path); err != nil {
		return nil, nil, nil, err
	}
	store, err := f.OpenState(ctx, path)
	if err != nil {
		return nil, nil, nil, err
	}
	f.StartMeter(ctx, d, store)
	pairs, err := pairsOf(ctx, store, d)
	return d, store, pairs, err
}

// pairsOf lists the pairs of a state database with this destination.
func pairsOf(ctx context.Context, store *state.Store, d *Destination) ([]state.Pair, error) {
	all, err := store.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	var pairs []state.Pair
	for _, p := range all {
		if p.Destination == d.Identity() {
			pairs = append(pairs, p)
		}
	}
	if len(pairs) == 0 {
		return nil, exit.With(exit.CodeNoSuch, fmt.Errorf("the state database %s has no runs for %s", store.Path(), d.Identity()),
			"check --to, --workspace and --state. To list the runs of the state database:\n  "+cmdline.Line("status", cmdline.WithValue("state", store.Path())))
	}
	return pairs, nil
}
