package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/ai/aiprobe"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/enrich"
	"assetferry/internal/pace"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/token"
)

// An aiService is the AI content service as a command uses it.
type aiService struct {
	url      string
	user     string // on whose account things are done; empty where a token says so by itself
	embedded bool   // the stand-in beside the embedded sandbox
	limited  bool   // the limits of the vendor's service are kept to
	client   *ai.Client
	accounts *ai.Client // asks what was spent, with a token that may; that of the client where somebody else signs

	// newClients makes clients like these two, with something around their transport.
	newClients func(aiprobe.Wrap) (client, accounts *ai.Client, err error)
}

// String says where things are sent to.
func (s *aiService) String() string {
	if s.embedded {
		return "sandbox (a rehearsal: its answers are made up), " + s.url
	}
	return s.url
}

// engine is the service as the engine of enrich uses it.
func (s *aiService) engine() enrich.Service { return &accounted{enrich.Over(s.client), s} }

// An accounted service tells what our user spent, not what everybody did.
type accounted struct {
	enrich.Service
	of *aiService
}

// Credits tells what was spent since a time. A user whom the service does not list is an error:
// taken for 0, no limit would ever be reached.
func (s *accounted) Credits(ctx context.Context, since time.Time) (float64, error) {
	if s.of.user == "" {
		return enrich.Over(s.of.accounts).Credits(ctx, since)
	}
	used, err := s.of.accounts.Usage(ctx, since, time.Time{}, s.of.user)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	} else if err != nil {
		return 0, err
	}
	spent := 0.0
	for _, u := range used.Users { // who is listed twice, such as by model, spent both
		if u.UserID == s.of.user {
			spent += u.Credits
		}
	}
	return spent, nil
}

// host is where things are sent to, as short as it can be said. The journal knows the service
// by it, so it is the same each time.
func (s *aiService) host() string {
	if s.embedded {
		return "sandbox"
	}
	if u, err := url.Parse(s.url); err == nil && u.Host != "" {
		return u.Host
	}
	return s.url
}

// contentScopes are what our tokens may do, and adminScope what those may do besides that
// look after the environment. That of document processing is the one that the documentation of
// the sister product has.
var contentScopes = []string{"ai:conversations:*", "ai:models:*", "ai:actions:*", "ai:reviews:*", "ai:documents:process"}

const adminScope = "ai:admin"

// contextScope is what a token needs besides to refer to contexts, and to list them. Its name is a
// guess; --ai-permission names another one.
const contextScope = "ai:contexts:read"

// An aiAccess is what a client of the AI content service needs besides its options.
type aiAccess struct {
	url           string
	tokens, admin token.Source // the same where somebody else signs
	transport     http.RoundTripper
}

// openAI makes the clients of the AI content service. It sends nothing yet. Tokens have the scopes
// named besides the usual ones.
func (a *app) openAI(ctx context.Context, besides ...string) (*aiService, error) {
	at, err := a.settings.AI()
	if err != nil {
		return nil, err
	}
	s := &aiService{user: at.User, embedded: at.Kind == config.Sandbox}
	if !at.TokenURL.IsZero() || at.TokenCommand != "" {
		s.user = ""
	}
	open := a.reachAI
	if s.embedded {
		open = a.startEmbeddedAI
	}
	acc, err := open(ctx, at, slices.Concat(contentScopes, besides))
	if err != nil {
		return nil, err
	}
	s.url, s.limited = acc.url, a.isLimited(acc.url)
	o, err := a.aiOptions(acc)
	if err != nil {
		return nil, err
	}
	s.newClients = func(wrap aiprobe.Wrap) (client, accounts *ai.Client, err error) {
		wrapped := o
		wrapped.Transport = wrap(o.Transport)
		if client, err = a.aiClient(wrapped, acc.tokens); err == nil {
			accounts, err = a.aiClient(wrapped, acc.admin)
		}
		return client, accounts, err
	}
	s.client, s.accounts, err = s.newClients(func(plain http.RoundTripper) http.RoundTripper { return plain })
	return s, err
}

// aiOptions are those that both clients have.
func (a *app) aiOptions(acc aiAccess) (ai.Options, error) {
	routes, err := ai.ParseRoutes(a.settings.AIRoutes)
	if err != nil {
		return ai.Options{}, usage(fmt.Errorf("ai_route: %w", err), "assetferry help enrich tells about the routes that are guessed")
	}
	return ai.Options{
		BaseURL: acc.url, Transport: acc.transport, UserAgent: "assetferry/" + version(),
		AllowHTTP: a.settings.AllowHTTP, Routes: routes, Now: clock.Now, Compatibility: a.settings.AICompatibility, Redactor: a.redactor,
		Limiter: pace.New(pace.Options{Max: a.settings.Concurrency, OnPause: a.pauses()}),
		Budget:  a.aiBudget(acc.url),
		OnWait: func(w retry.Wait) {
			a.out.Log().Info("wait before another try", "class", w.Class, "delay", w.Delay, "error", w.Err)
		},
	}, nil
}

func (a *app) aiClient(o ai.Options, tokens token.Source) (*ai.Client, error) {
	o.Tokens = tokens
	c, err := ai.New(o)
	if err != nil {
		return nil, usage(err, "")
	}
	a.closeLater(func() error { c.CloseIdleConnections(); return nil })
	return c, nil
}

// aiBudget keeps to the limits that the service has. On premises there are none, so what
// runs elsewhere than at the vendor's has none unless the settings say so.
func (a *app) aiBudget(address string) *ai.Budget {
	if !a.isLimited(address) {
		return nil
	}
	return ai.NewBudget(ai.SaaSLimits(), clock.Now)
}

// isLimited reports whether the limits of the vendor's service are kept to.
func (a *app) isLimited(address string) bool {
	if a.settings.AILimits != "auto" {
		return a.settings.AILimits == "saas"
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	for _, domain := range []string{"cke-cs.com", "cke-cs-eu.com", "tiny.cloud"} {
		if host := strings.ToLower(u.Hostname()); host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// reachAI prepares the way to a service at an address.
func (a *app) reachAI(ctx context.Context, at config.AIService, scopes []string) (acc aiAccess, err error) {
	warn := func(msg string) { a.out.Log().Warn(msg) }
	acc.url = at.URL
	trust, err := trusting(at.CAFile)
	if err != nil {
		return acc, err
	}
	acc.transport = ai.NewTransport(trust) // which gives a model its time
	switch {
	case !at.TokenURL.IsZero():
		address, err := at.TokenURL.Resolve(ctx, warn)
		if err != nil {
			return acc, err
		}
		acc.tokens, err = a.tokenEndpoint(address, acc.transport)
		acc.admin = acc.tokens
		return acc, err
	case at.TokenCommand != "":
		c, err := token.NewCommand(at.TokenCommand)
		if err != nil {
			return acc, err
		}
		c.Now, acc.tokens, acc.admin = clock.Now, c, c
		return acc, nil
	}
	environment, err := at.Environment.Resolve(ctx, warn)
	if err != nil {
		return acc, err
	}
	key, err := at.AccessKey.Resolve(ctx, warn)
	if err != nil {
		return acc, err
	}
	a.redactor.Key(key.Reveal())
	return acc, a.mintAI(&acc, key, environment.Reveal(), at.User, scopes)
}

// mintAI makes the sources of tokens: one for what is asked of models, and one that only
// administrators need. Scopes that somebody chose hold for both: nobody who narrows them down
// expects a token with ai:admin to be made beside.
func (a *app) mintAI(acc *aiAccess, key token.Secret, environment, user string, scopes []string) error {
	admin := []string{adminScope}
	if len(a.settings.AIPermissions) > 0 {
		scopes, admin = a.settings.AIPermissions, a.settings.AIPermissions
	}
	for source, scopes := range map[*token.Source][]string{&acc.tokens: scopes, &acc.admin: admin} {
		m, err := newMinter(key, token.Claims{Environment: environment, User: user, Service: "ai", Permissions: scopes})
		if err != nil {
			return err
		}
		*source = m
	}
	return nil
}

func (a *app) tokenEndpoint(address token.Secret, transport http.RoundTripper) (token.Source, error) {
	e, err := token.NewEndpoint(address, token.EndpointOptions{Transport: transport, AllowHTTP: a.settings.AllowHTTP, Now: clock.Now})
	if err != nil {
		return nil, usage(err, "ASSETFERRY_AI_TOKEN_URL is the address that answers with a token")
	}
	return e, nil
}

// startEmbeddedAI runs the stand-in beside the embedded sandbox in this process, on a real
// socket.
func (a *app) startEmbeddedAI(ctx context.Context, at config.AIService, scopes []string) (acc aiAccess, err error) {
	dir, err := config.SandboxDir(a.lookup)
	if err != nil {
		return acc, err
	}
	c, err := a.loadSandbox(dir)
	if err != nil {
		return acc, err
	}
	acc.transport = ai.NewTransport(nil)
	if err := a.mintAI(&acc, token.NewSecret(string(c.AccessKey)), c.EnvironmentID, at.User, scopes); err != nil {
		return acc, err
	}
	s, err := aiservice.New(aiservice.Options{
		Dir: besides(dir), Log: a.out.Log(), Now: clock.Now,
		Environments: []aiservice.Environment{{ID: c.EnvironmentID, AccessKey: c.AccessKey}},
	})
	if err != nil {
		return acc, err
	}
	address, stop, err := serve(ctx, s, "127.0.0.1:0")
	if err != nil {
		return acc, err
	}
	a.closeLater(stop)
	acc.url = address
	return acc, nil
}
