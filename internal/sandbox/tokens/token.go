// Package tokens verifies the tokens of clients with its own code, and stores their credentials.
package tokens

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/standin"
)

// leeway is the maximum time by which iat and nbf may be ahead of the server's clock; a guess.
const leeway = time.Minute

// MaxToken is the maximum length of a token; a guess.
const MaxToken = 16 << 10

// A Role is the role of a token; each includes the previous ones.
type Role int

const (
	Anonymous Role = iota
	User
	Admin
	Superadmin
)

func (r Role) String() string { return [...]string{"none", "user", "admin", "superadmin"}[r] }

func parseRole(s string) (Role, bool) {
	for _, r := range []Role{User, Admin, Superadmin} {
		if r.String() == s {
			return r, true
		}
	}
	return Anonymous, false
}

// An Identity is the user, the environment and the role of a valid token.
type Identity struct {
	Environment string
	User        string
	Role        Role
	Workspaces  []string // at least one; the first is the default. Restricts all roles but superadmin
	Groups      []string // empty: the default group of each workspace
}

// Rules are the rules for valid tokens.
type Rules struct {
	Keys      map[string]AccessKey // by environment
	Service   string
	Age       time.Duration
	Workspace func(environment, id string) bool
}

// Verify checks the value of an Authorization header.
func (t Rules) Verify(header string, now time.Time) (Identity, error) {
	c, who, err := t.authenticate(header)
	if err != nil {
		return Identity{}, err
	}
	if err := t.checkTimes(c, now); err != nil {
		return Identity{}, err
	}
	if err := t.authorize(c, &who); err != nil {
		return Identity{}, err
	}
	return who, nil
}

// authenticate checks the form and the signature, and returns the claims and the environment of the
// token.
func (t Rules) authenticate(header string) (standin.Object, Identity, error) {
	switch {
	case header == "":
		return nil, Identity{}, invalid("the Authorization header is missing")
	case len(header) >= 7 && strings.EqualFold(header[:7], "bearer "):
		// It is unknown whether the service accepts it; no official client sends it.
		return nil, Identity{}, invalid(`Authorization is the bare token, without "Bearer "`)
	case len(header) > MaxToken:
		return nil, Identity{}, invalid("it is too long")
	}
	parts := strings.Split(header, ".")
	if len(parts) != 3 {
		return nil, Identity{}, invalid("it does not have three parts")
	}
	head, ok := standin.DecodePart(parts[0])
	if alg, _ := head.Text("alg"); !ok || alg != "HS256" {
		return nil, Identity{}, invalid("alg must be HS256")
	}
	if _, there := head["crit"]; there {
		return nil, Identity{}, invalid("crit is not supported")
	}
	c, ok := standin.DecodePart(parts[1])
	if !ok {
		return nil, Identity{}, invalid("its claims are not a JSON object")
	}
	environment, ok := c.Text("aud")
	if !ok {
		return nil, Identity{}, invalid("aud must be the environment ID, as a string")
	}
	key, ok := t.Keys[environment]
	if !ok {
		return nil, Identity{}, invalid("the server has no environment with this aud")
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || !hmac.Equal(signature, sign(key, parts[0]+"."+parts[1])) {
		return nil, Identity{}, invalid("the signature does not match the access key of the environment")
	}
	return c, Identity{Environment: environment}, nil
}

func sign(key AccessKey, text string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// checkTimes compares iat, nbf and exp with the server's clock.
func (t Rules) checkTimes(c standin.Object, now time.Time) error {
	iat, ok := c.Seconds("iat")
	if !ok {
		return invalid("iat is missing, or is not a number of seconds")
	}
	age := now.Sub(iat)
	switch {
	case age < -100*365*24*time.Hour:
		return invalid("iat is in seconds; this looks like milliseconds")
	case age < -leeway:
		return invalid("iat is %v in the future of the server's clock, which says %s: check the clock of the machine that signs",
			-age.Round(time.Second), now.Format(time.RFC3339))
	case age > t.Age:
		return invalid("iat is %v old, and %v is the limit: sign a new token, or check the clock of the machine that signs",
			age.Round(time.Second), t.Age)
	}
	if err := checkNotBefore(c, now); err != nil {
		return err
	}
	if _, there := c["exp"]; !there {
		return nil
	}
	exp, ok := c.Seconds("exp")
	if !ok {
		return invalid("exp is not a number of seconds")
	}
	if !now.Before(exp) {
		return invalid("it expired at %s, and the server's clock says %s", exp.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	return nil
}

func checkNotBefore(c standin.Object, now time.Time) error {
	if _, there := c["nbf"]; !there {
		return nil
	}
	nbf, ok := c.Seconds("nbf")
	switch {
	case !ok:
		return invalid("nbf is not a number of seconds")
	case now.Add(leeway).Before(nbf):
		return invalid("it is not valid before %s, and the server's clock says %s", nbf.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	return nil
}

// authorize reads user, role and workspaces.
func (t Rules) authorize(c standin.Object, who *Identity) error {
	var ok bool
	if who.User, ok = c.Text("sub"); !ok {
		return invalid("sub must be the user ID")
	}
	service, ok := t.serviceClaim(c)
	if !ok {
		return invalid("auth.%s is missing", t.Service)
	}
	name, _ := service.Text("role")
	if who.Role, ok = parseRole(name); !ok {
		return invalid("auth.%s.role must be user, admin or superadmin", t.Service)
	}
	// The name of the claim is a guess.
	if listed, there := service["groups"]; there && json.Unmarshal(listed, &who.Groups) != nil {
		return invalid("auth.%s.groups must be an array of group IDs", t.Service)
	}
	listed, there := service["workspaces"]
	if !there {
		who.Workspaces = []string{who.Environment}
		if !t.Workspace(who.Environment, who.Environment) {
			return invalid("the default workspace does not exist")
		}
		return nil
	}
	if err := json.Unmarshal(listed, &who.Workspaces); err != nil || who.Workspaces == nil {
		return invalid("auth.%s.workspaces must be an array of workspace IDs", t.Service)
	}
	if len(who.Workspaces) == 0 {
		return invalid("auth.%s.workspaces is empty: omit it to use the default workspace", t.Service)
	}
	for _, id := range who.Workspaces {
		if !t.Workspace(who.Environment, id) {
			return invalid("there is no workspace %q in the environment", id)
		}
	}
	return nil
}

// serviceClaim returns the claim under auth for this service. Claims for other services are
// ignored, even if they are invalid.
func (t Rules) serviceClaim(c standin.Object) (standin.Object, bool) {
	auth, _ := standin.DecodeObject(c["auth"])
	return standin.DecodeObject(auth[t.Service])
}

func invalid(format string, args ...any) *problem.Problem {
	return problem.Refuse(http.StatusUnauthorized, "Invalid token: "+format+".", args...)
}
