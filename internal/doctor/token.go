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

// checkToken creates a token and reports its content and visible errors. Only the service can accept
// it.
func (d *Doctor) checkToken(ctx context.Context) Finding {
	if d.Destination == nil {
		return unchecked("there are no credentials")
	}
	secret, err := d.Destination.Tokens.Token(ctx)
	if err != nil {
		f := d.broken(err)
		f.Auth, f.Hint = true, cmp.Or(f.Hint, "run the command that signs tokens by hand to see its error")
		return f
	}
	if d.claims, err = token.Read(secret, d.To.Service); err != nil {
		f := failed("change the command: it must print a JSON web token and nothing else", "%v", err)
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
	workspaces := "none: the default workspace"
	if c.Listed {
		workspaces = strings.Join(c.Workspaces, ", ")
	}
	under := "auth." + d.To.Service
	return []event.Fact{
		{Name: "aud", Value: cmp.Or(c.Audience, "none")}, {Name: "sub", Value: cmp.Or(c.User, "none")},
		{Name: "iat", Value: at(c.Issued, "none")}, {Name: "exp", Value: at(c.Expires, "none: no expiry")},
		{Name: under + ".role", Value: cmp.Or(c.Role, "none")}, {Name: under + ".workspaces", Value: cmp.Or(workspaces, "none")},
	}
}

// judgeClaims finds errors that no service accepts.
func (d *Doctor) judgeClaims(now time.Time) Finding {
	c, service := d.claims, d.To.Service
	bad := func(hint, format string, args ...any) Finding {
		f := failed(hint, format, args...)
		f.Auth = true
		return f
	}
	switch {
	case c.Audience != d.Destination.Environment:
		return bad("sign tokens for the configured environment, or configure the other one", "aud is not the environment %s", d.Destination.Environment)
	case c.User == "":
		return bad("sign tokens with the ID of a user in sub", "sub is missing")
	case c.Issued.IsZero():
		return bad("sign tokens with the time in iat, in seconds", "iat is missing")
	case c.Issued.Year() > now.Year()+100:
		return bad("sign tokens with seconds in iat, not milliseconds", "iat is in the year %d", c.Issued.Year())
	case !c.Expires.IsZero() && !c.Expires.After(now):
		return bad("sign a new token, and check the clock of this machine", "it expired at %s", c.Expires.Format(time.RFC3339))
	case !slices.Contains(c.Services, service) && len(c.Services) > 0:
		return bad("set --service to the key that the service expects in auth", "auth has no key %s, but %s", service, strings.Join(c.Services, ", "))
	case !slices.Contains([]string{"user", "admin", "superadmin"}, c.Role):
		return bad("sign tokens with the role user, admin or superadmin", "auth.%s.role is an unknown role", service)
	case c.Listed && len(c.Workspaces) == 0:
		return bad("omit it for the default workspace", "auth.%s.workspaces is empty, which the service refuses", service)
	case d.To.Workspace != "" && c.Listed && c.Role != "superadmin" && !slices.Contains(c.Workspaces, d.To.Workspace):
		return bad("sign tokens for this workspace, or select another one with --workspace", "the token is not for the workspace %s", d.To.Workspace)
	}
	return ok("it can be created and has all required claims")
}
