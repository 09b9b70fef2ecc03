// Package fault defines the rules for faults of the sandbox services.
package fault

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Rule is a rule from [Parse]. Equal rules behave the same.
type Rule struct {
	Method, Route string // "*" for any

	// The effect. Without status, drop, limit and stream, the request is only delayed.
	Status     int     // replaces the real status; 0: none
	Drop       Moment  // the connection is closed
	Limit      float64 // requests per second; 0: none
	Delay      time.Duration
	Commit     Moment
	RetryAfter string // value of the header, with HasRetry
	HasRetry   bool
	Stream     Stream

	// The condition, counted over all matching requests. Without one, the rule always applies.
	Rate      float64 // with HasRate
	HasRate   bool
	Nth, Once int
	Seed      uint64
}

// A Moment is the time of a fault: before or after the change by the request.
type Moment string

// The moments; "" for other faults.
const (
	Before Moment = "before"
	After  Moment = "after"
)

// A Stream is a fault of a streamed response.
type Stream string

// Faults of streams; see [Parse].
const (
	Error    Stream = "error"
	Cut      Stream = "cut"
	NoDone   Stream = "nodone"
	Envelope Stream = "envelope"
	Slow     Stream = "slow"
	Garbled  Stream = "garbled"
	Fenced   Stream = "fenced"
	Empty    Stream = "empty"
)

func streams() []Stream {
	return []Stream{Error, Cut, NoDone, Envelope, Slow, Garbled, Fenced, Empty}
}

// Parse parses a rule such as
//
//	POST /assets status=429 rate=0.3 retry-after=1 seed=7
//
// It starts with a method and a route as in the statistics; both may be "*". Then follow words
// of the form key=value, each at most once. A value with spaces is quoted as in Go.
//
// At least one of these effects is required:
//
//	status=503      respond with this status and an error body; a status from
//	                200 on gives an invalid response
//	drop=before     close the connection without making the change
//	drop=after      make the change, then close the connection
//	limit=200/s     respond with 429 (or status) above this rate; also /m and /h
//	delay=2s        wait first; can be combined with the others
//	stream=cut      spoil a streamed response; other routes are not affected:
//	                error     an error event during the response, at its end
//	                cut       the connection ends during the response
//	                nodone    no event marks the end
//	                envelope  every event has another envelope
//	                slow      a wait before every event: delay, or 200ms
//	                garbled   text in another form than requested
//	                fenced    the text in a code fence, with words around it
//	                empty     no text
//
// Details of the effect:
//
//	commit=before   with status: refuse before the change (the default)
//	commit=after    with status: make the change, then respond with the status
//	retry-after=1   with status or limit: the value of this header
//
// Conditions; without one, the rule always applies:
//
//	rate=0.3        with this probability; seed=7 changes the random numbers
//	nth=3           to every third request
//	once=3          only to the third request
//
// Each rule counts all requests that match it. If several rules apply, the first one is used.
func Parse(text string) (Rule, error) {
	f, err := parse(text)
	if err != nil {
		return Rule{}, fmt.Errorf("fault %q: %w", text, err)
	}
	return f, nil
}

func parse(text string) (Rule, error) {
	words, err := split(text)
	if err != nil {
		return Rule{}, err
	}
	if len(words) < 2 {
		return Rule{}, errors.New(`expected METHOD ROUTE key=value..., such as "POST /assets status=503"`)
	}
	f := Rule{Method: strings.ToUpper(words[0]), Route: words[1]}
	if !slices.Contains(methods(), f.Method) {
		return Rule{}, fmt.Errorf("%q is not a method; use %s", words[0], strings.Join(methods(), ", "))
	}
	if f.Route != "*" && !strings.HasPrefix(f.Route, "/") {
		return Rule{}, fmt.Errorf(`%q is not a route; use one such as /assets/{id}, or *`, f.Route)
	}
	seen := make(map[string]bool)
	for _, w := range words[2:] {
		key, value, found := strings.Cut(w, "=")
		if !found {
			return Rule{}, fmt.Errorf("%q is not of the form key=value; keys are %s", w, keys)
		}
		if seen[key] {
			return Rule{}, fmt.Errorf("%s occurs twice", key)
		}
		seen[key] = true
		if err := f.set(key, value); err != nil {
			return Rule{}, err
		}
	}
	return f, f.check(seen)
}

func methods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "*"}
}

const keys = "status, commit, drop, limit, delay, stream, retry-after, rate, nth, once, seed"

// split splits text at spaces outside quotes. Quotes begin a value.
func split(text string) ([]string, error) {
	var words []string
	for {
		if text = strings.TrimLeft(text, " \t"); text == "" {
			return words, nil
		}
		end := strings.IndexAny(text, " \t")
		if end < 0 {
			end = len(text)
		}
		if eq := strings.Index(text[:end], `="`); eq >= 0 {
			quoted, err := strconv.QuotedPrefix(text[eq+1:])
			if err != nil {
				return nil, fmt.Errorf("%q has no closing quote", text)
			}
			value, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%s has invalid quotes", quoted)
			}
			words = append(words, text[:eq+1]+value)
			text = text[eq+1+len(quoted):]
			if text != "" && text[0] != ' ' && text[0] != '\t' {
				return nil, fmt.Errorf("expected a space after the quote, before %q", text)
			}
			continue
		}
		words, text = append(words, text[:end]), text[end:]
	}
}

// set parses the value of a key.
func (f *Rule) set(key, value string) (err error) {
	switch key {
	case "status":
		f.Status, err = number(key, value, 200, 599)
	case "commit":
		f.Commit, err = parseMoment(key, value)
	case "drop":
		f.Drop, err = parseMoment(key, value)
	case "limit":
		f.Limit, err = parseLimit(value)
	case "delay":
		if f.Delay, err = time.ParseDuration(value); err != nil || f.Delay <= 0 {
			err = fmt.Errorf("delay=%s: expected a duration such as 300ms or 2s", value)
		}
	case "retry-after":
		f.RetryAfter, f.HasRetry = value, true
		if strings.ContainsAny(value, "\r\n") {
			err = errors.New("retry-after: a header cannot have line breaks")
		}
	case "stream":
		if f.Stream = Stream(value); !slices.Contains(streams(), f.Stream) {
			err = fmt.Errorf("stream=%s: use one of %v", value, streams())
		}
	case "rate":
		f.HasRate = true
		if f.Rate, err = strconv.ParseFloat(value, 64); err != nil || !(f.Rate >= 0 && f.Rate <= 1) {
			err = fmt.Errorf("rate=%s: expected a number from 0 to 1", value)
		}
	case "nth":
		f.Nth, err = number(key, value, 1, math.MaxInt32)
	case "once":
		f.Once, err = number(key, value, 1, math.MaxInt32)
	case "seed":
		if f.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
			err = fmt.Errorf("seed=%s: expected a non-negative whole number", value)
		}
	default:
		err = fmt.Errorf("%q is not a key; keys are %s", key, keys)
	}
	return err
}

func number(key, value string, low, high int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s=%s: expected a whole number from %d to %d", key, value, low, high)
	}
	return n, nil
}

func parseMoment(key, value string) (Moment, error) {
	if m := Moment(value); m == Before || m == After {
		return m, nil
	}
	return "", fmt.Errorf("%s=%s: use %s=before or %s=after", key, value, key, key)
}

// parseLimit parses "200/s" as requests per second.
func parseLimit(value string) (float64, error) {
	count, unit, _ := strings.Cut(value, "/")
	per, ok := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(count, 64)
	if err != nil || !ok || !(n > 0 && n <= 1e9) || n/per == 0 {
		return 0, fmt.Errorf("limit=%s: expected requests per s, m or h, such as 200/s", value)
	}
	return n / per, nil
}

// check refuses combinations without meaning.
func (f *Rule) check(given map[string]bool) error {
	for _, pair := range [][2]string{
		{"status", "drop"}, {"limit", "drop"}, {"limit", "commit"},
		{"rate", "nth"}, {"rate", "once"}, {"nth", "once"},
		{"limit", "rate"}, {"limit", "nth"}, {"limit", "once"},
		{"stream", "status"}, {"stream", "drop"}, {"stream", "limit"},
	} {
		if given[pair[0]] && given[pair[1]] {
			return fmt.Errorf("%s and %s cannot be used together", pair[0], pair[1])
		}
	}
	switch {
	case f.Status == 0 && f.Drop == "" && f.Limit == 0 && f.Delay == 0 && f.Stream == "":
		return errors.New("the rule has no effect: add status, drop, limit, delay or stream")
	case given["commit"] && f.Status == 0:
		return errors.New("commit requires status (to close the connection, use drop=before or drop=after)")
	case given["retry-after"] && f.Status == 0 && f.Limit == 0:
		return errors.New("retry-after requires status or limit")
	case given["seed"] && !f.HasRate:
		return errors.New("seed requires rate")
	}
	return nil
}

// String returns the rule in the form that Parse accepts.
func (f Rule) String() string {
	b := []string{f.Method, f.Route}
	add := func(given bool, key string, value any) {
		if given {
			b = append(b, fmt.Sprintf("%s=%v", key, value))
		}
	}
	add(f.Status != 0, "status", f.Status)
	add(f.Commit != "", "commit", f.Commit)
	add(f.Drop != "", "drop", f.Drop)
	add(f.Limit != 0, "limit", strconv.FormatFloat(f.Limit, 'g', -1, 64)+"/s")
	add(f.Delay != 0, "delay", f.Delay)
	add(f.Stream != "", "stream", f.Stream)
	add(f.HasRetry, "retry-after", quoteIfNeeded(f.RetryAfter))
	add(f.HasRate, "rate", strconv.FormatFloat(f.Rate, 'g', -1, 64))
	add(f.Nth != 0, "nth", f.Nth)
	add(f.Once != 0, "once", f.Once)
	add(f.Seed != 0, "seed", f.Seed)
	return strings.Join(b, " ")
}

func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\"") || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}

// AnswerStatus returns the status that the rule sets; 0: the real one.
func (f Rule) AnswerStatus() int {
	if f.Status == 0 && f.Limit != 0 {
		return http.StatusTooManyRequests
	}
	return f.Status
}
