package assets

import (
	"context"
	"net/http"

	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
)

// rateLimited sends one request once the limiter permits it. It sends nothing if the limiter
// refuses.
func (c *Client) rateLimited(ctx context.Context, r *request, s *sending, send func() error) error {
	ticket, err := c.limiter.Begin(ctx)
	if err != nil {
		e := c.newError(r)
		e.Err = err
		e.class, _ = retry.Classify(err)
		return e
	}
	s.start = s.now() // the wait is not time of the service
	err = send()
	ticket.End(outcomeOf(ctx, err, s))
	return err
}

// outcomeOf returns the result of a request for the limiter. Local errors are no sign of the state
// of the service.
func outcomeOf(ctx context.Context, err error, s *sending) ratelimit.Outcome {
	e, failed := err.(*Error)
	switch {
	case failed && (e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable):
		return ratelimit.Outcome{Refused: true, RetryAfter: e.RetryAfter}
	case !failed || e.Status != 0:
		return ratelimit.Outcome{Latency: s.thought}
	case ctx.Err() != nil, isBodyError(e.Err), e.class == retry.Fatal:
		return ratelimit.Outcome{Unknown: true}
	}
	return ratelimit.Outcome{Silent: true}
}
