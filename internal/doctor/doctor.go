// Package doctor checks everything that a run needs and proposes a fix for each problem:
// configuration, credentials, token, connection and permissions at the service, source, state
// database, AI content service and approvals.
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
	"assetferry/internal/rclone"
	"assetferry/internal/scan"
	"assetferry/internal/token"
	"assetferry/internal/wordpress"
	"assetferry/sources"
)

// A Doctor runs checks in order and keeps results that later checks need.
type Doctor struct {
	Host     Host
	Settings *config.Settings // nil: invalid
	Lookup   config.Env
	Source   string // empty: none
	Mistake  error  // error in the settings
	Verbose  bool
	Scanner  func() (*scan.Scanner, error) // of the settings

	To          *config.Destination // nil: unknown
	Destination *Destination        // nil: no credentials
	AI          *AIService          // nil: not configured or not usable

	claims token.Contents
	met    bool // the service was contacted
	ping   error
	admin  error // result of a request as administrator
}

// A Host opens the checked parts as a run does.
type Host interface {
	// Explain returns the fix for an error, and whether it is an authentication error.
	Explain(err error) (hint string, auth bool)
	CheckCAFile(path string) error
	// Enter finds the credentials of a destination. It sends no request.
	Enter(context.Context, config.Destination) (*Destination, error)
	// Connect returns the client of the destination.
	Connect() (*assets.Client, error)
	// Ping sends the first request.
	Ping(context.Context) error
	// OpenSource opens a source without the files of the state database in it.
	OpenSource(ctx context.Context, source, state string) (s sources.Source, identity string, err error)
	// Rclone returns the rclone that reads the source.
	Rclone(context.Context) (*rclone.Server, error)
	// WordPress returns a client that only reads for a site, with the application password if there
	// is one.
	WordPress(ctx context.Context, site string) (*wordpress.Client, error)
	OpenAI(context.Context) (*AIService, error)
	ChooseModel(context.Context) (ai.Model, error)
	Approvals() (Approvals, error)
	CloseLater(func() error)
}

// A Destination is a destination before the first request.
type Destination struct {
	URL, Environment, Workspace string
	Dir                         string       // data folder of the embedded sandbox
	Key                         token.Secret // empty if a command signs the tokens
	Tokens                      token.Source
	Client                      *assets.Client // nil before the first request
}

// An AIService is the AI content service.
type AIService struct {
	URL     string
	Limited bool // it has the limits of the hosted service
	Client  *ai.Client
}

// A Check is one check. Its name is a code.
type Check struct {
	Name string
	Run  func(context.Context) Finding
}

// Checks returns all applicable checks in order.
func (d *Doctor) Checks() []Check {
	checks := []Check{
		{"configuration", d.checkConfiguration},
		{"credentials", d.checkCredentials},
		{"token", d.checkToken},
		{"url", d.checkURL},
		{"clock", d.checkClock},
		{"access", d.checkAccess},
		{"workspace", d.checkWorkspace},
		{"limits", d.checkLimits},
		{"categories", d.checkCategories},
	}
	if d.usesRclone() {
		checks = append(checks, Check{"rclone", d.checkRclone}, Check{"rclone_configuration", d.checkRcloneConfiguration})
	}
	if d.usesWordPress() {
		checks = append(checks, Check{"wordpress", d.checkWordPress})
	}
	checks = append(checks, Check{"source", d.checkSource}, Check{"state", d.checkState})
	if d.scans() {
		checks = append(checks, Check{"scan", d.checkScan})
	}
	if d.usesAI() {
		checks = append(checks, Check{"ai_service", d.checkAI}, Check{"ai_routes", d.checkAIRoutes})
	}
	if d.mentionsApprovals() {
		checks = append(checks, Check{"approvals", d.checkApprovals})
	}
	return checks
}

// checkConfiguration reports the file and the origin of each setting.
func (d *Doctor) checkConfiguration(context.Context) Finding {
	if d.Mistake != nil {
		f := d.broken(d.Mistake)
		f.Hint = cmp.Or(f.Hint, "fix it, or use another file with --config")
		return f
	}
	file := d.Settings.File
	if file == "" {
		file = "none; this folder has no " + config.DefaultFile
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

// checkCredentials reads the credentials and reports where they are.
func (d *Doctor) checkCredentials(ctx context.Context) Finding {
	if d.To == nil {
		return unchecked("the configuration is not usable")
	}
	to := *d.To
	if d.Host.CheckCAFile(to.CAFile) != nil {
		to.CAFile = "" // checkURL reports that error
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
		return ok("the sandbox has its own credentials in %s", d.Destination.Dir).with(facts...)
	}
	facts = append(facts, event.Fact{Name: "access key", Value: "set, not shown", From: to.AccessKey.Origin})
	if key := d.Destination.Key.Reveal(); key != strings.TrimSpace(key) || strings.Trim(key, `'"`) != key {
		return warning("write it on one line, without quotes",
			"the access key starts or ends with white space or quotes, which are part of the key").with(facts...)
	}
	return ok("the environment ID and the access key are set").with(facts...)
}
