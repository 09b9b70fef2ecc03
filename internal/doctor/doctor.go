// Package doctor checks all that a run relies on, and says what to do about what is not in
// order: configuration, credentials, token, the way to the service and what it lets us do, the
// source, the state database, the AI content service and approvals.
package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"assetferry/internal/ai"
	"assetferry/internal/assets"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/token"
	"assetferry/sources"
)

// A Doctor checks one thing after the other and remembers what the next ones need.
type Doctor struct {
	Host     Host
	Settings *config.Settings // nil: they are wrong
	Lookup   config.Env
	Source   string // empty: none was given
	Mistake  error  // in the settings
	Verbose  bool

	To          *config.Destination // nil: not known
	Destination *Destination        // nil: there are no credentials
	AI          *AIService          // nil: none is configured, or it cannot be used

	claims token.Contents
	met    bool // the first contact was tried
	ping   error
	admin  error // what came of asking as an administrator
}

// A Host opens what is checked as a run does.
type Host interface {
	// Explain gives what to do about an error, and whether it is one of authentication.
	Explain(err error) (hint string, auth bool)
	CheckCAFile(path string) error
	// Enter finds the credentials of a destination. It sends nothing.
	Enter(context.Context, config.Destination) (*Destination, error)
	// Connect makes the client of the destination.
	Connect() (*assets.Client, error)
	// Ping makes the first contact.
	Ping(context.Context) error
	// OpenSource opens a source, without our own files in it: those of a state database.
	OpenSource(ctx context.Context, source, state string) (s sources.Source, identity string, err error)
	OpenAI(context.Context) (*AIService, error)
	ChooseModel(context.Context) (ai.Model, error)
	Approvals() (Approvals, error)
	CloseLater(func() error)
}

// A Destination is what is known of one before anything is sent there.
type Destination struct {
	URL, Environment, Workspace string
	Dir                         string       // of the embedded sandbox
	Key                         token.Secret // empty where somebody else signs
	Tokens                      token.Source
	Client                      *assets.Client // nil before the first contact
}

// An AIService is the AI content service.
type AIService struct {
	URL     string
	Limited bool // it has the limits of the vendor's service
	Client  *ai.Client
}

// A Check looks at one thing.
type Check struct {
	Name string
	Run  func(context.Context) Finding
}

// Checks are all that apply, in their order.
func (d *Doctor) Checks() []Check {
	checks := []Check{
		{"configuration", d.checkConfiguration},
		{"credentials", d.checkCredentials},
		{"token", d.checkToken},
		{"address", d.checkAddress},
		{"clock", d.checkClock},
		{"access", d.checkAccess},
		{"workspace", d.checkWorkspace},
		{"limits", d.checkLimits},
		{"categories", d.checkCategories},
		{"source", d.checkSource},
		{"journal", d.checkState},
	}
	if d.usesAI() {
		checks = append(checks, Check{"AI service", d.checkAI}, Check{"AI routes", d.checkAIRoutes})
	}
	if d.mentionsApprovals() {
		checks = append(checks, Check{"approvals", d.checkApprovals})
	}
	return checks
}

// checkConfiguration tells which file was read, and where each setting comes from.
func (d *Doctor) checkConfiguration(context.Context) Finding {
	if d.Mistake != nil {
		f := d.broken(d.Mistake)
		f.Hint = cmp.Or(f.Hint, "mend it there, or name another file with --config")
		return f
	}
	file := d.Settings.File
	if file == "" {
		file = "none; there is no " + config.DefaultFile + " here"
	}
	facts := []event.Fact{{Name: "file", Value: file}}
	for _, e := range d.Settings.Effects() {
		facts = append(facts, event.Fact{Name: e.Name, Value: e.Value, From: e.From})
	}
	to, err := d.Settings.Destination()
	if err != nil {
		return d.broken(err).with(facts...)
	}
	d.To = &to
	where := to.URL
	switch {
	case to.Kind == config.Sandbox:
		where = "the embedded sandbox"
	case to.Name != "":
		where = to.Name + ", " + to.URL
	}
	facts = slices.Insert(facts, 1, event.Fact{Name: "to", Value: where, From: d.Settings.ToFrom()})
	return ok("the destination is %s", where).with(facts...)
}

// checkCredentials reads the credentials, of which it tells where they are.
func (d *Doctor) checkCredentials(ctx context.Context) Finding {
	if d.To == nil {
		return unchecked("there is no usable configuration")
	}
	to := *d.To
	if d.Host.CheckCAFile(to.CAFile) != nil {
		to.CAFile = "" // that is for the check of the address to tell
	}
	var err error
	if d.Destination, err = d.Host.Enter(ctx, to); err != nil {
		return d.broken(err)
	}
	facts := []event.Fact{{Name: "environment", Value: d.Destination.Environment, From: to.Environment.Origin}}
	switch {
	case to.TokenCommand != "":
		return ok("a command signs the tokens").with(facts...)
	case to.Kind == config.Sandbox:
		return ok("the sandbox has its own, in %s", d.Destination.Dir).with(facts...)
	}
	facts = append(facts, event.Fact{Name: "access key", Value: "there, not shown", From: to.AccessKey.Origin})
	if key := d.Destination.Key.Reveal(); key != strings.TrimSpace(key) || strings.Trim(key, `'"`) != key {
		return warning("write it as it is, on one line, without quotes",
			"the access key begins or ends with white space or quotes, which counts").with(facts...)
	}
	return ok("there is an environment ID and an access key").with(facts...)
}
