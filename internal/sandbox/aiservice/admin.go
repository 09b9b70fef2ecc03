package aiservice

import (
	"database/sql"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"time"
)

// A usage is documented to have an object for the environment and an array of users. The names of
// their fields are guesses.
type usage struct {
	Environment environmentUsage `json:"environment"`
	Users       []userUsage      `json:"users"`
}

type environmentUsage struct {
	Credits   float64  `json:"credits"`
	Allowance *float64 `json:"allowance,omitempty"`
}

type userUsage struct {
	UserID  string  `json:"userId"`
	Credits float64 `json:"credits"`
}

// A usageRequest selects a period, with guessed field names, and users.
type usageRequest struct {
	From  *time.Time      `json:"from"`
	To    *time.Time      `json:"to"`
	Users json.RawMessage `json:"users"`
}

// getUsage adds up the credits of a period, including its start and excluding its end.
func (s *Server) getUsage(c *call) error {
	var in usageRequest
	if err := c.json(&in); err != nil {
		return err
	}
	from, to := int64(0), int64(math.MaxInt64)
	if in.From != nil {
		from = in.From.UnixMilli()
	}
	if in.To != nil {
		to = in.To.UnixMilli()
	}
	if from > to {
		return malformed("to", "must not be before from")
	}
	all, ids, err := in.users()
	if err != nil {
		return err
	}
	u := usage{Users: []userUsage{}}
	if s.options.Credits > 0 {
		u.Environment.Allowance = &s.options.Credits
	}
	if err := s.store.do(func(tx *sql.Tx) error { return u.read(tx, c, from, to) }); err != nil {
		return err
	}
	if !all {
		u.Users = listed(u.Users, ids, s.options.Profile.IdleUsers == "omit")
	}
	return c.Reply(http.StatusOK, u)
}

// users parses the requested users: a list of IDs, or "*" for all users with activity.
func (r usageRequest) users() (all bool, ids []string, err error) {
	var text string
	switch {
	case r.Users == nil:
		return false, nil, nil
	case json.Unmarshal(r.Users, &text) == nil && text == "*":
		return true, nil, nil
	case json.Unmarshal(r.Users, &ids) != nil || ids == nil || slices.Contains(ids, ""):
		return false, nil, malformed("users", `must be a list of user IDs, or "*"`)
	}
	return false, ids, nil
}

// listed returns the requested users. It is a guess that these include users without usage.
func listed(active []userUsage, ids []string, omitIdle bool) []userUsage {
	users := []userUsage{}
	for _, id := range ids {
		i := slices.IndexFunc(active, func(u userUsage) bool { return u.UserID == id })
		switch {
		case i >= 0:
			users = append(users, active[i])
		case !omitIdle:
			users = append(users, userUsage{UserID: id})
		}
	}
	return users
}

// read adds up the usage, in total and for each user with activity.
func (u *usage) read(tx *sql.Tx, c *call, from, to int64) error {
	const query = "SELECT user, sum(credits) FROM calls WHERE environment = ? AND at >= ? AND at < ? GROUP BY user ORDER BY min(seq)"
	total := int64(0)
	err := rows(tx, query, []any{c.who.environment, from, to}, func(s scan) error {
		var user string
		var thousandths int64
		err := s(&user, &thousandths)
		total += thousandths
		u.Users = append(u.Users, userUsage{user, credits(thousandths)})
		return err
	})
	u.Environment.Credits = credits(total)
	return err
}

// listAllConversations lists the conversations of all users, or of one, for administrators.
func (s *Server) listAllConversations(c *call) error {
	l := listing{
		columns: conversationColumns, key: "created", seq: "seq", descending: true,
		from: "FROM conversations WHERE environment = ?", args: []any{c.who.environment},
	}
	if c.query.Has("userId") {
		l.from, l.args = l.from+" AND user = ?", append(l.args, c.query.Get("userId"))
	}
	return list(c, l, func(read scan) (conversationView, error) {
		v, err := readConversation(read)
		view := v.view()
		view.UserID = v.user
		return view, err
	})
}
