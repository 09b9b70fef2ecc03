package ai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/retry"
)

// The documentation of usage (pages usage-and-billing of the service and tinymceai-usage of its
// sister product, read in November 2026):
//   - POST /v1/admin/billing/usage, only at the vendor, with a token that grants ai:admin. The
//     aud claim of the token selects the environment.
//   - Chat messages, actions, reviews and calls of document processing are billed in credits, to
//     the sub claim of the token. One allowance covers the environment; users have none.
//   - The request contains the period. It may contain users: a list of user IDs, which are sub
//     claims, or "*" for every user with activity in the period.
//   - The answer contains an object environment with the total, and an array users with the
//     credits of each.
//
// Guesses: the names of the ends of the period, and the fields in environment and users. Requests
// use one spelling; in answers several are accepted.

// AllUsers makes [Client.Usage] return every user with activity in the period.
const AllUsers = "*"

// ErrNoUsage reports that the answer lacks a requested user. This does not mean a usage of 0.
var ErrNoUsage = errors.New("the service did not report the usage")

// Usage is the usage in a period.
type Usage struct {
	Credits   float64  // of the environment
	Allowance *float64 // of the environment; nil if unknown
	Users     []UserUsage
}

// UserUsage is the usage of one user.
type UserUsage struct {
	UserID  string
	Credits float64
}

// Usage returns the credits that were used between two times; zero times are no bounds. users
// selects users to list besides the total: none, some IDs, or [AllUsers]. If the answer lacks an
// ID, the error satisfies errors.Is(err, ErrNoUsage). It requires the scope ai:admin. On premises
// the endpoint does not exist, and the error is an fs.ErrNotExist.
func (c *Client) Usage(ctx context.Context, from, to time.Time, users ...string) (Usage, error) {
	r := request{op: "read usage", endpoint: "Usage", body: jsonPayload(usageBody(from, to, users))}
	var total Usage
	// The documentation does not list usage among the paged lists; if it is paged nevertheless, it
	// is read to its end.
	for u, err := range walk(r.op, nil, func(query url.Values) (pageOf[UserUsage], error) {
		asked, got := r, usageAnswer{needsUsers: len(users) > 0}
		asked.query = query
		err := c.ask(ctx, &asked, &got)
		total.Credits, total.Allowance = got.credits, got.allowance
		return got.users, err
	}) {
		if err != nil {
			return Usage{}, err
		}
		total.Users = append(total.Users, u)
	}
	for _, user := range users {
		if user != AllUsers && !slices.ContainsFunc(total.Users, func(u UserUsage) bool { return u.UserID == user }) {
			e := c.newError(&r)
			e.Subject, e.Err, e.class = "of user "+user, ErrNoUsage, retry.Permanent
			return total, e
		}
	}
	return total, nil
}

func usageBody(from, to time.Time, users []string) map[string]any {
	body := map[string]any{}
	if !from.IsZero() {
		body["from"] = from.UTC()
	}
	if !to.IsZero() {
		body["to"] = to.UTC()
	}
	switch {
	case slices.Equal(users, []string{AllUsers}):
		body["users"] = AllUsers
	case len(users) > 0:
		body["users"] = users
	}
	return body
}

// A usageAnswer is the answer to a request for usage.
type usageAnswer struct {
	needsUsers bool
	credits    float64
	allowance  *float64
	users      pageOf[UserUsage]
}

func (a *usageAnswer) UnmarshalJSON(data []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	var environment map[string]any
	if err := json.Unmarshal(keys["environment"], &environment); err != nil || environment == nil {
		return fmt.Errorf("no object environment; the fields are %s", names(keys))
	}
	var ok bool
	if a.credits, ok = creditsIn(environment); !ok {
		return fmt.Errorf("environment has no credits; the fields are %s", names(environment))
	}
	if allowance, ok := allowanceIn(environment); ok {
		a.allowance = &allowance
	}
	if users, ok := keys["users"]; ok && string(users) != "null" {
		if err := json.Unmarshal(users, &a.users); err != nil {
			return fmt.Errorf("users: %w", err)
		}
		return a.users.check()
	}
	if a.needsUsers {
		return fmt.Errorf("no users; the fields are %s", names(keys))
	}
	return nil
}

// UnmarshalJSON decodes the usage of a user. Without a number it returns an error, and never 0.
func (u *UserUsage) UnmarshalJSON(data []byte) error {
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	var ok bool
	if u.UserID, ok = userIn(fields); !ok {
		return fmt.Errorf("a user has no ID; the fields are %s", names(fields))
	}
	if u.Credits, ok = creditsIn(fields); !ok {
		return fmt.Errorf("user %s has no credits; the fields are %s", u.UserID, names(fields))
	}
	return nil
}

// Plausible names, without case and underscores. Names that can only mean the usage come first:
// credits may be the allowance if there is another field, and id may be that of a row.
var (
	usedSpellings = []string{"creditsused", "usedcredits", "creditsconsumed", "consumedcredits", "usedamount", "used", "consumed",
		"creditusage", "creditsusage", "credits", "usage", "totalcredits", "creditstotal", "total", "amount"}
	allowanceSpellings = []string{"allowance", "creditallowance", "creditsallowance", "creditlimit", "creditslimit", "limit", "quota",
		"creditquota", "creditsquota", "included", "includedcredits"}
	userSpellings = []string{"userid", "sub", "id", "user"}
)

func creditsIn(fields map[string]any) (float64, bool) { return numberIn(fields, usedSpellings) }

// allowanceIn also looks beside the usage: {"usage": {"used": 1, "limit": 2}}.
func allowanceIn(fields map[string]any) (float64, bool) {
	if n, ok := numberIn(fields, allowanceSpellings); ok {
		return n, true
	}
	for _, inner := range []string{"usage", "credits"} {
		if nested, ok := spelled(fields, inner).(map[string]any); ok {
			if n, ok := allowanceIn(nested); ok {
				return n, true
			}
		}
	}
	return 0, false
}

// numberIn returns the number in the first matching field: a number, a text, or a number within an
// object.
func numberIn(fields map[string]any, spellings []string) (float64, bool) {
	for _, spelling := range spellings {
		switch v := spelled(fields, spelling).(type) {
		case float64:
			return v, v >= 0
		case string:
			n, err := strconv.ParseFloat(v, 64)
			return n, err == nil && n >= 0 && !math.IsInf(n, 0)
		case map[string]any:
			if n, ok := numberIn(v, spellings); ok {
				return n, true
			}
		}
	}
	return 0, false
}

func userIn(fields map[string]any) (string, bool) {
	for _, spelling := range userSpellings {
		switch v := spelled(fields, spelling).(type) {
		case string:
			return v, v != ""
		case map[string]any:
			return userIn(v)
		}
	}
	return "", false
}

// joiners removes characters that name comparisons ignore.
var joiners = strings.NewReplacer("_", "", "-", "")

// spelled returns the field with a name, ignoring case and underscores; nil if there is none.
func spelled(fields map[string]any, spelling string) any {
	for name, value := range fields {
		if strings.ToLower(joiners.Replace(name)) == spelling {
			return value
		}
	}
	return nil
}

// names returns the sorted names of fields, for messages about unexpected fields.
func names[T any](fields map[string]T) string {
	if len(fields) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
}
