package assets

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
)

// The test verifies that local errors count neither as success nor as failures of the service.
func TestOutcomes(t *testing.T) {
	const thought = 300 * time.Millisecond
	aborted, abort := context.WithCancel(t.Context())
	abort()
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want ratelimit.Outcome
	}{
		{"done", t.Context(), nil, ratelimit.Outcome{Latency: thought}},
		{"no", t.Context(), &Error{Status: 404}, ratelimit.Outcome{Latency: thought}},
		{"unreadable", t.Context(), &Error{Status: 200, Err: io.ErrUnexpectedEOF}, ratelimit.Outcome{Latency: thought}},
		{"broken", t.Context(), &Error{Status: 500}, ratelimit.Outcome{Latency: thought}},
		{"too many", t.Context(), &Error{Status: 429}, ratelimit.Outcome{Refused: true}},
		{"not now", t.Context(), &Error{Status: 503, RetryAfter: time.Minute}, ratelimit.Outcome{Refused: true, RetryAfter: time.Minute}},
		{"refused, then aborted", aborted, &Error{Status: 503}, ratelimit.Outcome{Refused: true}},
		{"cut", t.Context(), &Error{Err: io.EOF, class: retry.Transient}, ratelimit.Outcome{Silent: true}},
		{"stalled", t.Context(), &Error{Err: outbound.StallError{After: stallTimeout}, class: retry.Transient}, ratelimit.Outcome{Silent: true}},
		{"aborted", aborted, &Error{Err: context.Canceled, class: retry.Transient}, ratelimit.Outcome{Unknown: true}},
		{"no content", t.Context(), &Error{Err: &BodyError{Op: "read", Err: io.EOF}, class: retry.Transient}, ratelimit.Outcome{Unknown: true}},
		{"only reads", t.Context(), &Error{Err: ErrReadOnly, class: retry.Fatal}, ratelimit.Outcome{Unknown: true}},
	}
	for _, tt := range tests {
		if got := outcomeOf(tt.ctx, tt.err, &sending{thought: thought}); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// The test verifies that the latency does not include the time of the body.
func TestLatencyIsWithoutTheBody(t *testing.T) {
	const onItsWay, thinking = 40 * time.Second, 2 * time.Second
	r := &request{method: http.MethodPost, body: jsonPayload(strings.Repeat("x", 100))}
	tests := []struct {
		name string
		read int64 // bytes of the body before the answer
		want time.Duration
	}{
		{"after the body", r.body.length, thinking},
		{"before its end", r.body.length - 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, dog := outbound.Watch(t.Context(), stallTimeout)
				defer dog.Stop()
				s := &sending{now: time.Now, start: time.Now(), dog: dog}
				body, err := s.open(ctx, r.body)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(onItsWay)
				if n, err := io.CopyN(io.Discard, body, tt.read); err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				time.Sleep(thinking)
				no := &http.Response{StatusCode: 413, Body: http.NoBody}
				if err := newClient(t, Options{BaseURL: "http://localhost"}).receive(ctx, r, s, no); err == nil {
					t.Error("no error")
				}
				if s.thought != tt.want {
					t.Errorf("the service thought for %v, want %v", s.thought, tt.want)
				}
			})
		})
	}
}
