package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/token"
	"assetferry/internal/ui"
)

func (a *app) doctorCommand() *cobra.Command {
	var o probeOptions
	c := &cobra.Command{
		Use:   "doctor [SOURCE]",
		Short: "Check all that a run relies on, and say what to do about it",
		Long: `Doctor checks the configuration, the credentials and the token, the way to the
service and its clock, what the token may do, the workspace, the limits of the
plan, the categories, the source if one is given, the journal, and the AI
content service if one is configured. Each check ends with a verdict: ok,
warning, failed, or not checked; and what is not ok comes with a remedy.
Everything is checked that can be, also when an early check fails.

The endpoints of the AI content service are compared with those that it lists
itself, in OpenAPI at /v1/doc.json: confirmed, missing, or moved, with lines for
the configuration file (ai_route) that have the moved ones called where they
are.

It sends GET and HEAD requests only and changes nothing at the destination. The
access key and the token are never shown; what the token says is.

Warnings alone exit with 0, a failed check with 1, or with 12 if the trouble is
authentication.

With --probe it then finds out what the documentation of the service leaves
open, such as whether equal names are accepted, how long a name may be, what a
list holds and how soon a new asset is in it, and how many requests are too
many. That takes an administrator. It makes a category
whose name begins with "assetferry probe", works in it, and deletes it for good,
also after an error or an interrupt; what could not be deleted is named. It asks
before it begins, unless --yes is given. The result is a profile with which a
sandbox can do the same:
assetferry help profile.

Where an AI content service is configured, the probe goes on with that: it makes
conversations whose IDs begin with "assetferry-probe-", uploads a picture of one
pixel, lists and deletes them, and writes a second profile. No model is asked,
so nothing is billed. What cannot be measured that way is named.
`,
		Args:              atMostOne("SOURCE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			d := &doctor{app: a}
			// A mistake in the settings is the first thing to tell, and not the end.
			d.mistake = a.configure(cmd)
			if _, ok := errors.AsType[*stop](d.mistake); ok {
				return d.mistake
			}
			if err := d.takeSource(args); err != nil {
				return err
			}
			if err := o.check(cmd); err != nil {
				return err
			}
			if err := d.examine(cmd.Context()); err != nil || !o.probe {
				return err
			}
			return d.runProbe(cmd.Context(), o)
		},
	}
	f := c.Flags()
	addS3Flags(f)
	addTableFlags(f)
	addAIFlags(f)
	f.BoolVar(&o.probe, "probe", false, "find out what the service does where its documentation is silent")
	f.StringVar(&o.output, "output", "assetferry-profile.yaml", "write the profile to this `file`")
	f.StringVar(&o.aiOutput, "ai-output", "assetferry-ai-profile.yaml", "write the profile of the AI content service to this `file`")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "say what --probe would do, and do not do it")
	f.BoolVar(&o.yes, "yes", false, "do not ask before --probe begins")
	return c
}

// The verdicts of a check.
const (
	verdictOK        = "ok"
	verdictWarning   = "warning"
	verdictFailed    = "failed"
	verdictUnchecked = "not checked"
)

// A finding is what came of a check.
type finding struct {
	verdict, message, hint string
	facts                  []event.Fact
	details                []event.Fact // for programs only: after has them for people
	after                  string       // what is shown below, as it is, so that it can be pasted
	code                   int          // the exit code of a failure
}

func ok(format string, args ...any) finding {
	return finding{verdict: verdictOK, message: fmt.Sprintf(format, args...)}
}

func warning(hint, format string, args ...any) finding {
	return finding{verdict: verdictWarning, message: fmt.Sprintf(format, args...), hint: hint}
}

func failed(hint, format string, args ...any) finding {
	return finding{verdict: verdictFailed, message: fmt.Sprintf(format, args...), hint: hint, code: exitError}
}

func unchecked(why string, args ...any) finding {
	return finding{verdict: verdictUnchecked, message: fmt.Sprintf(why, args...)}
}

// broken is a failure that an error tells of.
func broken(err error) finding {
	f := explain(err)
	code := exitError
	if f.code == exitAuth {
		code = exitAuth
	}
	return finding{verdict: verdictFailed, message: err.Error(), hint: f.hint, code: code}
}

func (f finding) with(facts ...event.Fact) finding {
	f.facts = append(f.facts, facts...)
	return f
}

// a doctor checks one thing after the other and remembers what the next ones need.
type doctor struct {
	*app
	source  string // empty: none was given
	mistake error  // in the settings

	to     *config.Destination // nil: not known
	access access
	dest   *destination // nil: there are no credentials
	claims token.Contents
	met    bool // the first contact was tried
	ping   error
	admin  error      // what came of asking as an administrator
	ai     *aiService // nil: none is configured, or it cannot be used

	counts   event.Counts
	code     int
	failures int
}

// takeSource notes which source is to be checked, if one is.
func (d *doctor) takeSource(args []string) (err error) {
	if d.mistake != nil { // so nothing is known of a job
		d.source = strings.Join(args, "")
		return nil
	}
	d.source, err = d.sourceOf(args)
	return err
}

type namedCheck struct {
	name  string
	check func(context.Context) finding
}

func (d *doctor) examine(ctx context.Context) error {
	began := time.Now()
	d.summary = &event.Summary{Command: "doctor"}
	d.counts = event.Counts{}
	checks := []namedCheck{
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
		{"journal", d.checkJournal},
	}
	if d.usesAI() {
		checks = append(checks, namedCheck{"AI service", d.checkAI}, namedCheck{"AI routes", d.checkAIRoutes})
	}
	if d.mentionsApprovals() {
		checks = append(checks, namedCheck{"approvals", d.checkApprovals})
	}
	for _, c := range checks {
		f := c.check(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.tell(c.name, f)
	}
	d.summary.States, d.summary.Seconds = d.counts, event.Seconds(time.Since(began))
	if d.dest != nil {
		d.summary.Destination = d.dest.identity()
	}
	d.out.Printf("\n%s.", d.tally())
	if d.failures > 0 {
		return &stop{d.code, fmt.Errorf("of %s, %s", count(int64(len(checks)), "check"), d.failed()),
			"begin with the first one: others may follow from it"}
	}
	return nil
}

func (d *doctor) failed() string { return fmt.Sprintf("%d failed", d.failures) }

// tell shows a finding and counts it.
func (d *doctor) tell(check string, f finding) {
	line := event.Check{Check: check, Result: f.verdict, Message: f.message, Hint: callable(f.hint), Facts: f.facts}
	d.out.Printf("%s", ui.Diagnosis(line))
	if f.after != "" {
		d.out.Printf("%s", f.after)
	}
	line.Facts = slices.Concat(f.facts, f.details)
	d.out.Event("check", line)
	d.counts[f.verdict]++
	if f.verdict == verdictFailed {
		d.failures++
		d.code = worse(d.code, f.code)
	}
}

func (d *doctor) tally() string {
	var parts []string
	for _, v := range []string{verdictOK, verdictWarning, verdictFailed, verdictUnchecked} {
		if n := d.counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

// checkConfiguration tells which file was read, and where each setting comes from.
func (d *doctor) checkConfiguration(context.Context) finding {
	if d.mistake != nil {
		f := broken(d.mistake)
		f.hint = orHint(f.hint, "mend it there, or name another file with --config")
		return f
	}
	file := d.settings.File
	if file == "" {
		file = "none; there is no " + config.DefaultFile + " here"
	}
	facts := []event.Fact{{Name: "file", Value: file}}
	for _, e := range d.settings.Effects() {
		facts = append(facts, event.Fact{Name: e.Name, Value: e.Value, From: e.From})
	}
	to, err := d.settings.Destination()
	if err != nil {
		return broken(err).with(facts...)
	}
	d.to = &to
	where := to.URL
	switch {
	case to.Kind == config.Sandbox:
		where = "the embedded sandbox"
	case to.Name != "":
		where = to.Name + ", " + to.URL
	}
	facts = slices.Insert(facts, 1, event.Fact{Name: "to", Value: where, From: d.settings.ToFrom()})
	return ok("the destination is %s", where).with(facts...)
}

// checkCredentials reads the credentials, of which it tells where they are.
func (d *doctor) checkCredentials(ctx context.Context) finding {
	if d.to == nil {
		return unchecked("there is no usable configuration")
	}
	to := *d.to
	if _, err := transport(to.CAFile); err != nil {
		to.CAFile = "" // that is for the check of the address to tell
	}
	var err error
	if d.dest, d.access, err = d.enter(ctx, to); err != nil {
		return broken(err)
	}
	facts := []event.Fact{{Name: "environment", Value: d.dest.environment, From: to.Environment.Origin}}
	switch {
	case to.TokenCommand != "":
		return ok("a command signs the tokens").with(facts...)
	case to.Kind == config.Sandbox:
		return ok("the sandbox has its own, in %s", d.dest.dir).with(facts...)
	}
	facts = append(facts, event.Fact{Name: "access key", Value: "there, not shown", From: to.AccessKey.Origin})
	if key := d.access.key.Reveal(); key != strings.TrimSpace(key) || strings.Trim(key, `'"`) != key {
		return warning("write it as it is, on one line, without quotes",
			"the access key begins or ends with white space or quotes, which counts").with(facts...)
	}
	return ok("there is an environment ID and an access key").with(facts...)
}

// checkToken has a token made and tells what it says. Whether it is good only the
// service knows; what can be seen to be wrong is told here, with its reason.
func (d *doctor) checkToken(ctx context.Context) finding {
	if d.dest == nil {
		return unchecked("there are no credentials")
	}
	secret, err := d.access.tokens.Token(ctx)
	if err != nil {
		f := broken(err)
		f.code, f.hint = exitAuth, orHint(f.hint, "run the command that signs tokens by hand")
		return f
	}
	if d.claims, err = token.Read(secret, d.to.Service); err != nil {
		f := failed("the command must print a JSON web token and nothing else", "%v", err)
		f.code = exitAuth
		return f
	}
	f := d.judgeClaims(clock.Now())
	return f.with(d.claimFacts()...)
}

func (d *doctor) claimFacts() []event.Fact {
	c, at := d.claims, func(t time.Time, none string) string {
		if t.IsZero() {
			return none
		}
		return t.Format(time.RFC3339)
	}
	workspaces := "not there: the default workspace"
	if c.Listed {
		workspaces = strings.Join(c.Workspaces, ", ")
	}
	under := "auth." + d.to.Service
	return []event.Fact{
		{Name: "aud", Value: orHint(c.Audience, "not there")}, {Name: "sub", Value: orHint(c.User, "not there")},
		{Name: "iat", Value: at(c.Issued, "not there")}, {Name: "exp", Value: at(c.Expires, "not there: no end")},
		{Name: under + ".role", Value: orHint(c.Role, "not there")}, {Name: under + ".workspaces", Value: orHint(workspaces, "none")},
	}
}

// judgeClaims looks for what no service accepts.
func (d *doctor) judgeClaims(now time.Time) finding {
	c, service := d.claims, d.to.Service
	bad := func(hint, format string, args ...any) finding {
		f := failed(hint, format, args...)
		f.code = exitAuth
		return f
	}
	switch {
	case c.Audience != d.dest.environment:
		return bad("sign for the environment that is configured, or configure the other one", "aud is not the environment %s", d.dest.environment)
	case c.User == "":
		return bad("sign tokens with the ID of a user in sub", "sub is missing")
	case c.Issued.IsZero():
		return bad("sign tokens with the time in iat, in seconds", "iat is missing")
	case c.Issued.Year() > now.Year()+100:
		return bad("sign tokens with seconds in iat, not milliseconds", "iat is in the year %d", c.Issued.Year())
	case !c.Expires.IsZero() && !c.Expires.After(now):
		return bad("have a new token signed, and check our clock", "it expired at %s", c.Expires.Format(time.RFC3339))
	case !slices.Contains(c.Services, service) && len(c.Services) > 0:
		return bad("--service names the key that the service expects under auth", "auth has no key %s, but %s", service, strings.Join(c.Services, ", "))
	case !slices.Contains([]string{"user", "admin", "superadmin"}, c.Role):
		return bad("sign tokens with the role user, admin or superadmin", "auth.%s.role is none that is known", service)
	case c.Listed && len(c.Workspaces) == 0:
		return bad("leave it out for the default workspace", "auth.%s.workspaces is empty, which is an error to the service", service)
	case d.to.Workspace != "" && c.Listed && c.Role != "superadmin" && !slices.Contains(c.Workspaces, d.to.Workspace):
		return bad("sign tokens for this workspace, or choose another one with --workspace", "the token is not for the workspace %s", d.to.Workspace)
	}
	return ok("it can be made, and says what it has to")
}
