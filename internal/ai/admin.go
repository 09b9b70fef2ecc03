package ai

import (
	"context"
	"iter"
	"net/url"
)

// AdminConversations lists the conversations of a user, or of all users. It requires the scope
// ai:admin. The path is a guess.
func (c *Client) AdminConversations(ctx context.Context, userID string, pages ...Page) iter.Seq2[Conversation, error] {
	query := url.Values{}
	if userID != "" {
		query.Set("userId", userID)
	}
	return list[Conversation](ctx, c, request{op: "list conversations of all users", endpoint: "AdminConversations", query: query}, pages)
}
