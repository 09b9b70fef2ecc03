package aiservice

import (
	"database/sql"
	"math"
	"net/http"
	"time"
)

type usage struct {
	Credits   float64         `json:"credits"`
	Allowance *float64        `json:"allowance,omitempty"`
	Users     page[userUsage] `json:"users"`
}

type userUsage struct {
	UserID  string  `json:"userId"`
	Credits float64 `json:"credits"`
}

// getUsage adds up the credits of a period, from its beginning to before its end. The
// names of the fields are guesses.
func (s *Server) getUsage(c *call) error {
	var in struct {
		From *time.Time `json:"from"`
		To   *time.Time `json:"to"`
	}
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
	var u usage
	if s.options.Credits > 0 {
		u.Allowance = &s.options.Credits
	}
	err := s.store.do(func(tx *sql.Tx) error { return u.read(tx, c, from, to) })
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, u)
}

func (u *usage) read(tx *sql.Tx, c *call, from, to int64) (err error) {
	const period = "FROM calls WHERE environment = ? AND at >= ? AND at < ?"
	args := []any{c.who.environment, from, to}
	var thousandths int64
	if err := tx.QueryRow("SELECT coalesce(sum(credits), 0) "+period, args...).Scan(&thousandths); err != nil {
		return err
	}
	u.Credits = credits(thousandths)
	l := listing{
		columns: "of.user, of.credits", key: "of.user", seq: "of.seq", args: args,
		from: "FROM (SELECT user, sum(credits) AS credits, min(seq) AS seq " + period + " GROUP BY user) AS of WHERE 1",
	}
	u.Users, err = pageOf(tx, c, l, func(read scan) (userUsage, error) {
		var user string
		err := read(&user, &thousandths)
		return userUsage{user, credits(thousandths)}, err
	})
	return err
}

// listAllConversations is for administrators: of all users, or of one.
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
