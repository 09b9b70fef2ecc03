package ckfinder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assetferry/internal/retry"
)

const (
	// commandTimeout is how long an answer may take until all of it is there.
	commandTimeout = 2 * answerTimeout
	// longestWait is the longest that a request waits because the connector asked for it.
	longestWait = 10 * time.Second
	// largestAnswer is more than a folder of a million files has.
	largestAnswer = 256 << 20
)

// errStalled says that an answer does not come to its end.
var errStalled = errors.New("no byte moved for too long")

// ask makes a command and reads its answer, more than once if need be.
func ask[T any, R interface {
	*T
	reply
}](ctx context.Context, s *Source, command string, parameters url.Values) (R, error) {
	var got R
	err := s.patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, commandTimeout, errStalled)
		defer cancel()
		got = R(new(T))
		err := s.command(ctx, command, parameters, got)
		if err != nil && context.Cause(ctx) == errStalled {
			return &failure{err: errStalled, class: retry.Transient}
		}
		return err
	})
	return got, err
}

// patiently tries what may go better the next time.
func (s *Source) patiently(ctx context.Context, try func(context.Context) error) error {
	return retry.Policy{Attempts: 4}.Do(ctx, nil, func(ctx context.Context) error {
		err := try(ctx)
		if f, ok := errors.AsType[*failure](err); ok && f.delay > longestWait {
			return retry.Stop(err)
		}
		return err
	})
}

func (s *Source) command(ctx context.Context, command string, parameters url.Values, got reply) error {
	a, err := s.get(ctx, command, parameters, "")
	if err != nil {
		return err
	}
	defer a.Body.Close()
	unreadable := decode(a.Body, got)
	switch told := got.head().trouble(); {
	case told != nil || a.StatusCode >= 300:
		return refused(a, told)
	case errors.Is(unreadable, errPage):
		return &failure{status: a.StatusCode, err: errPage, class: retry.Fatal, auth: true}
	case unreadable != nil:
		return &failure{status: a.StatusCode, err: unreadable, class: retry.Transient}
	}
	if err := got.check(); err != nil {
		return &failure{status: a.StatusCode, err: err, class: retry.Permanent}
	}
	return nil
}

// get makes a request for some bytes of what a command answers; all of them if none are
// named.
func (s *Source) get(ctx context.Context, command string, parameters url.Values, bytes string) (*http.Response, error) {
	u := *s.address.connector
	query := u.Query()
	maps.Copy(query, parameters)
	query.Set("command", command)
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "identity")
	if bytes != "" {
		r.Header.Set("Range", "bytes="+bytes)
	}
	a, err := s.client.Do(r)
	if err != nil && ctx.Err() == nil {
		return nil, unreached(err)
	}
	return a, err
}

// decode reads JSON, from the first character that is no space and no mark of a byte order,
// which scripts leave behind.
func decode(body io.Reader, into any) error {
	r := bufio.NewReader(io.LimitReader(body, largestAnswer))
	for {
		b, err := r.Peek(1)
		if err != nil {
			return errors.New("the answer is empty")
		}
		if strings.IndexByte(" \t\r\n\xef\xbb\xbf", b[0]) < 0 {
			break
		}
		_, _ = r.Discard(1)
	}
	if b, _ := r.Peek(1); b[0] == '<' {
		return errPage
	}
	if err := json.NewDecoder(r).Decode(into); err != nil {
		return &unreadableError{err}
	}
	return nil
}
