package ckfinder

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// commandTimeout is the maximum time for a complete response.
const commandTimeout = 2 * answerTimeout

// ask sends a command and reads its response, with retries.
func ask[T any, R interface {
	*T
	reply
}](ctx context.Context, s *Source, command string, parameters url.Values) (R, error) {
	var got R
	err := patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, remote.ErrStalled)
		defer cancel()
		got = R(new(T))
		err := s.command(ctx, command, parameters, got)
		if err != nil && context.Cause(ctx) == remote.ErrStalled {
			return &remote.Failure{Err: remote.ErrStalled, Kind: retry.Transient}
		}
		return err
	})
	return got, err
}

// patiently retries transient errors.
func patiently(ctx context.Context, try func(context.Context) error) error {
	return remote.Patiently(ctx, retry.Policy{Attempts: 4}, try)
}

func (s *Source) command(ctx context.Context, command string, parameters url.Values, got reply) error {
	a, err := s.get(ctx, command, parameters, "")
	if err != nil {
		return err
	}
	defer a.Body.Close()
	unreadable := decode(a.Body, got)
	switch problem := got.head().trouble(); {
	case problem != nil || a.StatusCode >= 300:
		return refused(a, problem)
	case isFailure(unreadable):
		return unreadable
	case errors.Is(unreadable, errPage):
		return &remote.Failure{Status: a.StatusCode, Err: errPage, Kind: retry.Fatal, Auth: true}
	case unreadable != nil:
		return &remote.Failure{Status: a.StatusCode, Err: unreadable, Kind: retry.Transient}
	}
	if err := got.check(); err != nil {
		return &remote.Failure{Status: a.StatusCode, Err: err, Kind: retry.Permanent}
	}
	return nil
}

func isFailure(err error) bool {
	_, is := errors.AsType[*remote.Failure](err)
	return is
}

// get requests a range of the response to a command, or all of it if bytes is "".
func (s *Source) get(ctx context.Context, command string, parameters url.Values, bytes string) (*http.Response, error) {
	u := *s.url.connector
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
		return nil, remote.Unreached(err, retry.Fatal)
	}
	return a, err
}

// decode reads JSON after spaces and a byte order mark, which some scripts write.
func decode(body io.Reader, into any) error {
	meter := outbound.NewMeter(body, weight)
	r := bufio.NewReader(meter)
	for {
		b, err := r.Peek(1)
		if err != nil {
			return errors.New("the response is empty")
		}
		if strings.IndexByte(" \t\r\n\xef\xbb\xbf", b[0]) < 0 {
			break
		}
		_, _ = r.Discard(1)
	}
	if b, _ := r.Peek(1); b[0] == '<' {
		return errPage
	}
	err := readItems(json.NewDecoder(r), meter, into)
	if large, ok := errors.AsType[*outbound.TooLargeError](meter.Err()); ok {
		return &remote.Failure{Err: fmt.Errorf("invalid response: %w", large), Kind: retry.Permanent}
	}
	if err != nil {
		return &unreadableError{err}
	}
	return nil
}

// weight is the memory of entries of a folder, which are small.
var weight = outbound.Weight{Object: 160, Value: 8}

// A listing is a response with a list that is read item by item, because it contains a whole folder.
type listing interface {
	key() string // of the list
	begin()
	item(*json.Decoder) error
}

// readItems reads a response. It does not keep the text of the list.
func readItems(d *json.Decoder, in *outbound.Meter, into any) error {
	list, ok := into.(listing)
	if !ok {
		return d.Decode(into)
	}
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return cmp.Or(err, errNoObject)
	}
	rest := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if !strings.EqualFold(name, list.key()) {
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				return err
			}
			rest[name] = value
		} else if err := readList(d, in, list); err != nil {
			return err
		}
		in.Next()
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

var errNoObject = errors.New("it is not a JSON object")

func readList(d *json.Decoder, in *outbound.Meter, list listing) error {
	switch begin, err := d.Token(); {
	case err != nil || begin == nil:
		return err
	case begin != json.Delim('['):
		return errors.New(list.key() + " is not a list")
	}
	for list.begin(); d.More(); in.Next() {
		if err := list.item(d); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
