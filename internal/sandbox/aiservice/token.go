package aiservice

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"hash"
	"net/http"
	"strings"
	"time"

	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/tokens"
)

// leeway is how far the clock of the machine that signs may be off; that of the
// service on premises.
const leeway = time.Minute

// maxToken is the longest token looked at; a guess.
const maxToken = 64 << 10

// An identity is whom a valid token names.
type identity struct {
	environment, user string
	scopes            scopes
}

// tokenRules say which tokens are valid.
type tokenRules struct {
	keys    map[string]tokens.AccessKey // by environment
	age     time.Duration
	noAdmin bool
}

// verify checks the value of an Authorization header.
func (t tokenRules) verify(header string, now time.Time) (identity, error) {
	text, ok := bearer(header)
	if !ok {
		return identity{}, invalidToken("", `Authorization must be "Bearer" and a token`)
	}
	c, environment, err := t.authenticate(text)
	if err != nil {
		return identity{}, err
	}
	if err := t.checkTimes(c, now); err != nil {
		return identity{}, err
	}
	user, ok := c.Text("sub")
	if !ok {
		return identity{}, invalidToken("payload", "sub must be the user ID")
	}
	auth, _ := standin.DecodeObject(c["auth"])
	service, ok := standin.DecodeObject(auth["ai"])
	if !ok {
		return identity{}, invalidToken("payload", "auth.ai is missing")
	}
	return identity{environment, user, t.scopes(service)}, nil
}

// authenticate checks the form and the signature.
func (t tokenRules) authenticate(text string) (c standin.Object, environment string, err error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(text) > maxToken {
		return nil, "", invalidToken("", "it does not have three parts separated by dots")
	}
	head, _ := standin.DecodePart(parts[0])
	alg, _ := head.Text("alg")
	checksum, ok := map[string]func() hash.Hash{"HS256": sha256.New, "HS384": sha512.New384, "HS512": sha512.New}[alg]
	if _, critical := head["crit"]; !ok || critical {
		return nil, "", invalidToken("signature", "alg must be HS256, HS384 or HS512, without crit")
	}
	c, ok = standin.DecodePart(parts[1])
	if !ok {
		return nil, "", invalidToken("payload", "its claims are not a JSON object")
	}
	if environment, ok = c.Text("aud"); !ok {
		return nil, "", invalidToken("payload", "aud must be the environment ID, as a string")
	}
	key, ok := t.keys[environment]
	if !ok {
		return nil, "", &problem{
			status: http.StatusUnauthorized, code: "environment-not-found", message: "Environment not found.",
			explanation: "The service does not have the environment in the aud of the token.", action: "Check the environment ID and the URL of the service.",
		}
	}
	m := hmac.New(checksum, []byte(key))
	m.Write([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || !hmac.Equal(signature, m.Sum(nil)) {
		return nil, "", invalidToken("signature", "the signature does not match the access key of the environment")
	}
	return c, environment, nil
}

// checkTimes holds iat, nbf and exp against the server's clock. There are clients without
// exp; their tokens are good as long as they are young.
func (t tokenRules) checkTimes(c standin.Object, now time.Time) error {
	iat, ok := c.Seconds("iat")
	if !ok {
		return invalidToken("payload", "iat is missing, or is not a number of seconds")
	}
	switch age := now.Sub(iat); {
	case age < -leeway:
		return invalidToken("", "iat is in the future of the server's clock")
	case age > t.age+leeway:
		return invalidToken("", "it is too old")
	}
	if err := checkNotBefore(c, now); err != nil {
		return err
	}
	if _, there := c["exp"]; !there {
		return nil
	}
	exp, ok := c.Seconds("exp")
	if !ok {
		return invalidToken("payload", "exp is not a number of seconds")
	}
	if !now.Before(exp.Add(leeway)) {
		return invalidToken("", "it has expired")
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
		return invalidToken("payload", "nbf is not a number of seconds")
	case now.Add(leeway).Before(nbf):
		return invalidToken("", "nbf is in the future of the server's clock")
	}
	return nil
}

// scopes are those in auth.ai.permissions. Anything but an array of strings grants
// nothing, and so do scopes that are spelled wrong.
func (t tokenRules) scopes(service standin.Object) (granted scopes) {
	if json.Unmarshal(service["permissions"], &granted) != nil {
		return nil
	}
	if t.noAdmin {
		return granted.without(adminScope)
	}
	return granted
}

// invalidToken refuses a token; part is the one that is wrong, if it is one.
func invalidToken(part, why string) *problem {
	code := "invalid-jwt"
	if part != "" {
		code += "-" + part
	}
	return &problem{status: http.StatusUnauthorized, code: code, message: "Invalid token: " + why + "."}
}
