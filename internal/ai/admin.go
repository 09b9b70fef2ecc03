package ai

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"time"
)

// Usage is what was used up in a period. Its fields are guesses.
type Usage struct {
	Credits   float64
	Allowance *float64 // of the environment; nil if the service does not say
}

// UserUsage is the part of one user.
type UserUsage struct {
	UserID  string  `json:"userId"`
	Credits float64 `json:"credits"`
}

// usagePage is the answer about usage, which is a page of users at the same time.
type usagePage struct {
	Credits   *float64          `json:"credits"`
	Allowance *float64          `json:"allowance"`
	Users     pageOf[UserUsage] `json:"users"`
}

func (p *usagePage) check() error {
	if p.Credits == nil {
		return errors.New("it holds no credits")
	}
	return nil
}

// Usage asks for the credits that all users used from one time up to another; zero times are
// no bounds. It takes the scope ai:admin. On premises there is no such thing, and the error is
// an fs.ErrNotExist. What is sent is a guess.
func (c *Client) Usage(ctx context.Context, from, to time.Time) (Usage, error) {
	got, err := c.usage(ctx, from, to, url.Values{"limit": {"1"}})
	if err != nil {
		return Usage{}, err
	}
	return Usage{Credits: *got.Credits, Allowance: got.Allowance}, nil
}

// UsageByUser lists the credits of each user; see [Client.Usage].
func (c *Client) UsageByUser(ctx context.Context, from, to time.Time, pages ...Page) iter.Seq2[UserUsage, error] {
	return walk(pages, func(query url.Values) (pageOf[UserUsage], error) {
		got, err := c.usage(ctx, from, to, query)
		return got.Users, err
	})
}

func (c *Client) usage(ctx context.Context, from, to time.Time, query url.Values) (got usagePage, err error) {
	body := map[string]any{}
	if !from.IsZero() {
		body["from"] = from.UTC()
	}
	if !to.IsZero() {
		body["to"] = to.UTC()
	}
	err = c.ask(ctx, &request{op: "ask for usage", endpoint: "Usage", query: query, body: jsonPayload(body)}, &got)
	return got, err
}

// AdminConversations lists the conversations of a user, or of all users if none is named. It
// takes the scope ai:admin. Where is a guess.
func (c *Client) AdminConversations(ctx context.Context, userID string, pages ...Page) iter.Seq2[Conversation, error] {
	query := url.Values{}
	if userID != "" {
		query.Set("userId", userID)
	}
	return list[Conversation](ctx, c, request{op: "list conversations of all", endpoint: "AdminConversations", query: query}, pages)
}
