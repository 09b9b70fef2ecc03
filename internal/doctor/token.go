package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/token"
)

// checkToken has a token made and tells what it says. Whether it is good only the
// service knows; what can be seen to be wrong is told here, with its reason.
func (d *Doctor) checkToken(ctx context.Context) Finding {
	if d.Destination == nil {
		return unchecked("there are no credentials")
	}
	secret, err := d.Destination.Tokens.Token(ctx)
	if err != nil {
		f := d.broken(err)
		f.Auth, f.Hint = true, cmp.Or(f.Hint, "run the command that signs tokens by hand")
		return f
	}
	if d.claims, err = token.Read(secret, d.To.Service); err != nil {
		f := failed("the command must print a JSON web token and nothing else", "%v", err)
		f.Auth = true
		return f
	}
	f := d.judgeClaims(clock.Now())
	return f.with(d.claimFacts()...)
}

func (d *Doctor) claimFacts() []event.Fact {
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
	under := "auth." + d.To.Service
	return []event.Fact{
		{Name: "aud", Value: cmp.Or(c.Audience, "not there")}, {Name: "sub", Value: cmp.Or(c.User, "not there")},
		{Name: "iat", Value: at(c.Issued, "not there")}, {Name: "exp", Value: at(c.Expires, "not there: no end")},
		{Name: under + ".role", Value: cmp.Or(c.Role, "not there")}, {Name: under + ".workspaces", Value: cmp.Or(workspaces, "none")},
	}
}

// judgeClaims looks for what no service accepts.
func (d *Doctor) judgeClaims(now time.Time) Finding {
	c, service := d.claims, d.To.Service
	bad := func(hint, format string, args ...any) Finding {
		f := failed(hint, format, args...)
		f.Auth = true
		return f
	}
	switch {
	case c.Audience != d.Destination.Environment:
		return bad("sign for the environment that is configured, or configure the other one", "aud is not the environment %s", d.Destination.Environment)
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
	case d.To.Workspace != "" && c.Listed && c.Role != "superadmin" && !slices.Contains(c.Workspaces, d.To.Workspace):
		return bad("sign tokens for this workspace, or choose another one with --workspace", "the token is not for the workspace %s", d.To.Workspace)
	}
	return ok("it can be made, and says what it has to")
}
