package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"assetferry/internal/ai"
	"assetferry/internal/ai/aiprobe"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/enrich"
	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"
)

// An AIService is the opened AI content service.
type AIService struct {
	URL      string
	User     string // user in the token; empty if another program signs
	embedded bool   // the stand-in beside the embedded sandbox
	Limited  bool   // the rate limits of the vendor apply
	Client   *ai.Client
	Accounts *ai.Client // reads the credits with an admin token; same as Client if another program signs

	// NewClients makes clients like these two, with a wrapped transport.
	NewClients func(aiprobe.Wrap) (client, accounts *ai.Client, err error)
}

// String returns the service for people.
func (s *AIService) String() string {
	if s.embedded {
		return "sandbox (invented answers), " + s.URL
	}
	return s.URL
}

// Engine returns the service for the engine of enrich.
func (s *AIService) Engine() enrich.Service { return &accounted{enrich.Over(s.Client), s} }

// An accounted service reports the credits of its own user only.
type accounted struct {
	enrich.Service
	of *AIService
}

// Credits returns the credits that the user spent since a time. A user that the service does not
// list is an error: with 0, no limit would ever stop a run.
func (s *accounted) Credits(ctx context.Context, since time.Time) (float64, error) {
	if s.of.User == "" {
		return enrich.Over(s.of.Accounts).Credits(ctx, since)
	}
	used, err := s.of.Accounts.Usage(ctx, since, time.Time{}, s.of.User)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	} else if err != nil {
		return 0, err
	}
	spent := 0.0
	for _, u := range used.Users { // a user may have several rows, such as one per model
		if u.UserID == s.of.User {
			spent += u.Credits
		}
	}
	return spent, nil
}

// Host returns the host of the service. The state database uses it as the name of the service, so
// it must not change.
func (s *AIService) Host() string {
	if s.embedded {
		return "sandbox"
	}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return s.URL
}

// contentScopes are the scopes of usual tokens; adminScope is an additional one for administrators.
// The scope of document processing comes from the documentation of the sister product.
var contentScopes = []string{"ai:conversations:*", "ai:models:*", "ai:actions:*", "ai:reviews:*", "ai:documents:process"}

const adminScope = "ai:admin"

// ContextScope is the additional scope for contexts. Its name is not documented; --ai-permission
// replaces it.
const ContextScope = "ai:contexts:read"

// An aiAccess is what a client of the AI content service needs besides its options.
type aiAccess struct {
	url           string
	tokens, admin token.Source // the same if another program signs
	transport     http.RoundTripper
}

// OpenAI makes the clients of the AI content service. It sends nothing yet. Tokens get the given
// scopes in addition to the usual ones.
func (f *Factory) OpenAI(ctx context.Context, besides ...string) (*AIService, error) {
	at, err := f.Settings.AI()
	if err != nil {
		return nil, err
	}
	s := &AIService{User: at.User, embedded: at.Kind == config.Sandbox}
	if !at.TokenURL.IsZero() || at.TokenCommand != "" {
		s.User = ""
	}
	open := f.reachAI
	if s.embedded {
		open = f.startEmbeddedAI
	}
	acc, err := open(ctx, at, slices.Concat(contentScopes, besides))
	if err != nil {
		return nil, err
	}
	s.URL, s.Limited = acc.url, f.isLimited(acc.url)
	o, err := f.aiOptions(acc)
	if err != nil {
		return nil, err
	}
	s.NewClients = func(wrap aiprobe.Wrap) (client, accounts *ai.Client, err error) {
		wrapped := o
		wrapped.Transport = wrap(o.Transport)
		if client, err = f.aiClient(wrapped, acc.tokens); err == nil {
			accounts, err = f.aiClient(wrapped, acc.admin)
		}
		return client, accounts, err
	}
	s.Client, s.Accounts, err = s.NewClients(func(plain http.RoundTripper) http.RoundTripper { return plain })
	return s, err
}

// aiOptions returns the options of both clients.
func (f *Factory) aiOptions(acc aiAccess) (ai.Options, error) {
	routes, err := ai.ParseRoutes(f.Settings.AIRoutes)
	if err != nil {
		return ai.Options{}, exit.Usage(fmt.Errorf("ai_route: %w", err), "list the undocumented routes:\n  assetferry help enrich")
	}
	return ai.Options{
		BaseURL: acc.url, Transport: acc.transport, UserAgent: "assetferry/" + cmdline.Version(),
		AllowHTTP: f.Settings.AllowHTTP, Routes: routes, Now: clock.Now, Compatibility: f.Settings.AICompatibility, Redactor: f.Redactor,
		Limiter: ratelimit.New(ratelimit.Options{Max: f.Settings.Concurrency, OnPause: f.pauses()}),
		Quota:   f.aiQuota(acc.url),
		OnWait: func(w retry.Wait) {
			f.Out.Log().Info("wait before another try", "class", w.Class, "delay", w.Delay, "error", w.Err)
		},
	}, nil
}

func (f *Factory) aiClient(o ai.Options, tokens token.Source) (*ai.Client, error) {
	o.Tokens = tokens
	c, err := ai.New(o)
	if err != nil {
		return nil, exit.Usage(err, "")
	}
	f.CloseLater(func() error { c.CloseIdleConnections(); return nil })
	return c, nil
}

// aiQuota returns the rate limits of the service: those of the vendor at its own hosts, and none
// elsewhere, unless the settings say otherwise.
func (f *Factory) aiQuota(rawURL string) *ai.Quota {
	if !f.isLimited(rawURL) {
		return nil
	}
	return ai.NewQuota(ai.SaaSLimits(), clock.Now)
}

// isLimited reports whether the rate limits of the vendor apply.
func (f *Factory) isLimited(rawURL string) bool {
	if f.Settings.AILimits != "auto" {
		return f.Settings.AILimits == "saas"
	}
	u, err := url.Parse(rawURL)
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

// reachAI prepares the access to a service at a URL.
func (f *Factory) reachAI(ctx context.Context, at config.AIService, scopes []string) (acc aiAccess, err error) {
	warn := func(msg string) { f.Out.Log().Warn(msg) }
	acc.url = at.URL
	trust, err := Trusting(at.CAFile)
	if err != nil {
		return acc, err
	}
	acc.transport = ai.NewTransport(trust) // with long timeouts for models
	switch {
	case !at.TokenURL.IsZero():
		rawURL, err := at.TokenURL.Resolve(ctx, warn)
		if err != nil {
			return acc, err
		}
		acc.tokens, err = f.tokenEndpoint(rawURL, acc.transport)
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
	f.Redactor.Key(key.Reveal())
	return acc, f.mintAI(&acc, key, environment.Reveal(), at.User, scopes)
}

// mintAI makes the token sources: one for models, and one for administrators. Scopes from the
// settings hold for both, because a person who restricts them expects no token with ai:admin.
func (f *Factory) mintAI(acc *aiAccess, key token.Secret, environment, user string, scopes []string) error {
	admin := []string{adminScope}
	if len(f.Settings.AIPermissions) > 0 {
		scopes, admin = f.Settings.AIPermissions, f.Settings.AIPermissions
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

func (f *Factory) tokenEndpoint(rawURL token.Secret, transport http.RoundTripper) (token.Source, error) {
	e, err := token.NewEndpoint(rawURL, token.EndpointOptions{Transport: transport, AllowHTTP: f.Settings.AllowHTTP, Now: clock.Now})
	if err != nil {
		return nil, exit.Usage(err, "ASSETFERRY_AI_TOKEN_URL is the URL that returns a token")
	}
	return e, nil
}

// startEmbeddedAI runs the stand-in beside the embedded sandbox in this process, on a socket.
func (f *Factory) startEmbeddedAI(ctx context.Context, at config.AIService, scopes []string) (acc aiAccess, err error) {
	dir, err := config.SandboxDir(f.Lookup)
	if err != nil {
		return acc, err
	}
	c, err := f.LoadSandbox(dir)
	if err != nil {
		return acc, err
	}
	acc.transport = ai.NewTransport(nil)
	if err := f.mintAI(&acc, token.NewSecret(string(c.AccessKey)), c.EnvironmentID, at.User, scopes); err != nil {
		return acc, err
	}
	s, err := aiservice.New(aiservice.Options{
		Dir: Besides(dir), Log: f.Out.Log(), Now: clock.Now,
		Environments: []tokens.Environment{{ID: c.EnvironmentID, AccessKey: c.AccessKey}},
	})
	if err != nil {
		return acc, err
	}
	rawURL, stop, err := Serve(ctx, s, "127.0.0.1:0")
	if err != nil {
		return acc, err
	}
	f.CloseLater(stop)
	acc.url = rawURL
	return acc, nil
}

// AddAIFlags adds the flags of the access to the AI content service.
func AddAIFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "ai-limits", "rate limits to respect; auto respects the limits of the vendor at its own hosts, and none elsewhere")
	cmdline.Setting(f, "ai-compatibility", "compatibility `version` in GET /v1/models/VERSION")
	f.StringArray("ai-permission", nil, "request this `permission` in tokens instead of the usual permissions (repeatable)")
	f.StringArray("ai-route", nil, "`ENDPOINT=METHOD /path`: path of an undocumented endpoint (repeatable)")
}

// CreditsText formats a number of credits with up to two decimals.
func CreditsText(n float64) string {
	return strconv.FormatFloat(float64(int64(n*100+0.5))/100, 'f', -1, 64)
}

// ChooseModel returns the model of the settings, or the recommended one that the token may use.
func (f *Factory) ChooseModel(ctx context.Context, s *AIService) (ai.Model, error) {
	models, err := s.Client.Models(ctx)
	if err != nil {
		return ai.Model{}, err
	}
	m, err := ai.ChooseModel(models, f.Settings.AIModel)
	if err == nil && m.IsRemoved(clock.Now()) {
		err = fmt.Errorf("the model %s was removed on %s", m.ID, m.Removal.Format(time.DateOnly))
	}
	if err != nil {
		err = exit.With(exit.CodeError, err, "choose another model with --ai-model. To list the models:\n  assetferry ai models")
	}
	return m, err
}

// AddWindowFlags adds the time window of a run.
func AddWindowFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "max-duration", "stop after this `duration`")
	cmdline.Setting(f, "until", "stop at this `time` of day, such as 06:00")
}
