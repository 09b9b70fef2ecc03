package aiservice

import (
	"database/sql"
	"math"
	"net/http"
)

// A bill is the cost of a request.
type bill struct {
	route, model string
	tokens       int // weighted input tokens
	searches     int
}

// newBill returns a bill with tokens weighted by the model.
func newBill(c *call, m Model, tokens, searches int) bill {
	return bill{c.route.pattern, m.ID, int(math.Ceil(float64(tokens) * m.weight())), searches}
}

func (b bill) cost() cost {
	return cost{llmRequests: 1, webSearches: b.searches, inputTokens: b.tokens}
}

// thousandths returns the cost in thousandths of credits: a credit for the request, and one for
// every thousand tokens. The counting of the service is unknown.
func (b bill) thousandths() int64 { return 1000 + int64(b.tokens) }

// charge refuses a request without remaining credits or beyond the limits. Otherwise it bills the
// request, in one transaction with do.
func (s *Server) charge(c *call, b bill, do func(*sql.Tx) error) error {
	return s.store.do(func(tx *sql.Tx) error {
		if err := s.checkCredits(tx, c.who.environment); err != nil {
			return err
		}
		if err := s.limits.take(c.who, b.cost()); err != nil {
			return err
		}
		if do != nil {
			if err := do(tx); err != nil {
				return err
			}
		}
		_, err := tx.Exec("INSERT INTO calls (environment, user, at, route, model, tokens, credits) VALUES (?, ?, ?, ?, ?, ?, ?)",
			c.who.environment, c.who.user, s.now().UnixMilli(), b.route, b.model, b.tokens, b.thousandths())
		return err
	})
}

// checkCredits refuses requests once the allowance is used up; the last one may exceed it. Status
// and code are guesses.
func (s *Server) checkCredits(tx *sql.Tx, environment string) error {
	if s.options.Credits <= 0 || s.options.OnPremises {
		return nil
	}
	used, err := creditsUsed(tx, environment)
	if err != nil || used < s.options.Credits {
		return err
	}
	return &problem{
		status: http.StatusPaymentRequired, code: "credits-exhausted", message: "The credits of the environment are used up.",
		data: map[string]any{"allowance": s.options.Credits}, action: "Buy credits, or wait for the next period.",
	}
}

func creditsUsed(tx *sql.Tx, environment string) (float64, error) {
	var thousandths int64
	err := tx.QueryRow("SELECT coalesce(sum(credits), 0) FROM calls WHERE environment = ?", environment).Scan(&thousandths)
	return credits(thousandths), err
}

func credits(thousandths int64) float64 { return float64(thousandths) / 1000 }

func (v *Stats) readBilling(tx *sql.Tx) error {
	if err := tx.QueryRow("SELECT count(*) FROM conversations").Scan(&v.Conversations); err != nil {
		return err
	}
	const query = "SELECT environment, user, count(*), sum(credits) FROM calls GROUP BY environment, user ORDER BY environment, user"
	return rows(tx, query, nil, func(s scan) error {
		var of CreditsOf
		var thousandths int64
		err := s(&of.Environment, &of.User, &of.Calls, &thousandths)
		of.Credits = credits(thousandths)
		v.BilledRequests += of.Calls
		v.Credits = append(v.Credits, of)
		return err
	})
}
