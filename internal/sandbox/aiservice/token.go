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

// leeway is the permitted clock difference of the machine that signs, as for the service on
// premises.
const leeway = time.Minute

// maxToken is the maximum length of a token; a guess.
const maxToken = 64 << 10

// An identity is the user and the environment of a valid token.
type identity struct {
	environment, user string
	scopes            scopes
}

// tokenRules are the rules for valid tokens.
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

// checkTimes compares iat, nbf and exp with the clock of the server. Some clients omit exp; their
// tokens expire by age.
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

// scopes returns the scopes in auth.ai.permissions. Values other than an array of strings grant
// nothing, and neither do misspelled scopes.
func (t tokenRules) scopes(service standin.Object) (granted scopes) {
	if json.Unmarshal(service["permissions"], &granted) != nil {
		return nil
	}
	if t.noAdmin {
		return granted.without(adminScope)
	}
	return granted
}

// invalidToken returns the error for a token; part is the wrong part, if known.
func invalidToken(part, why string) *problem {
	code := "invalid-jwt"
	if part != "" {
		code += "-" + part
	}
	return &problem{status: http.StatusUnauthorized, code: code, message: "Invalid token: " + why + "."}
}
