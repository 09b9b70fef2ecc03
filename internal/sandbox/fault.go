package sandbox

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

// A Fault is a rule for misbehaving, made by [ParseFault].
type Fault struct {
	method, route string // "*" for any

	// What happens. With none of the first three the request is only delayed.
	status     int    // answered instead of the true status
	drop       moment // the connection is cut
	limit      float64
	delay      time.Duration
	commit     moment
	retryAfter string
	hasRetry   bool

	// When it happens, counting every request that matches. With none, always.
	rate      float64
	hasRate   bool
	nth, once int
	seed      uint64
}

// A moment is when a fault strikes: before or after the change that the request
// asks for is made.
type moment string

const (
	before moment = "before"
	after  moment = "after"
)

// ParseFault reads a rule such as
//
//	POST /assets status=429 rate=0.3 retry-after=1 seed=7
//
// It begins with a method and a route, as in the statistics; either may be "*".
// What follows are words of the form key=value, each at most once. A value with
// spaces in it is quoted as in Go.
//
// What happens, of which one must be given:
//
//	status=503      answer with this status and an error body; with a status
//	                from 200 on that is an answer that makes no sense
//	drop=before     cut the connection without making the change
//	drop=after      make the change, then cut the connection
//	limit=200/s     answer 429 (or status) to what goes beyond; also /m and /h
//	delay=2s        wait first; may be combined with the others
//
// How it happens:
//
//	commit=before   with status: refuse before any change is made (the default)
//	commit=after    with status: make the change, then answer with the status
//	retry-after=1   with status or limit: the header of that name, as it stands
//
// When it happens; without any of these, always:
//
//	rate=0.3        with this probability; seed=7 gives other dice
//	nth=3           on every third request
//	once=3          on the third request only
//
// Each rule counts all requests that match it. Of several that are due, the
// first one given decides.
func ParseFault(text string) (Fault, error) {
	f, err := parseFault(text)
	if err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", text, err)
	}
	return f, nil
}

func parseFault(text string) (Fault, error) {
	words, err := faultWords(text)
	if err != nil {
		return Fault{}, err
	}
	if len(words) < 2 {
		return Fault{}, errors.New(`want METHOD ROUTE key=value..., such as "POST /assets status=503"`)
	}
	f := Fault{method: strings.ToUpper(words[0]), route: words[1]}
	if !slices.Contains(faultMethods(), f.method) {
		return Fault{}, fmt.Errorf("%q is no method; there are %s", words[0], strings.Join(faultMethods(), ", "))
	}
	if f.route != "*" && !strings.HasPrefix(f.route, "/") {
		return Fault{}, fmt.Errorf(`%q is no route; want one such as /assets/{id}, or *`, f.route)
	}
	seen := make(map[string]bool)
	for _, w := range words[2:] {
		key, value, found := strings.Cut(w, "=")
		if !found {
			return Fault{}, fmt.Errorf("%q is not of the form key=value; keys are %s", w, faultKeys)
		}
		if seen[key] {
			return Fault{}, fmt.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if err := f.set(key, value); err != nil {
			return Fault{}, err
		}
	}
	return f, f.check(seen)
}

func faultMethods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "*"}
}

const faultKeys = "status, commit, drop, limit, delay, retry-after, rate, nth, once, seed"

// faultWords cuts text at spaces outside quotes. Quotes begin a value.
func faultWords(text string) ([]string, error) {
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
				return nil, fmt.Errorf("%s is not quoted well", quoted)
			}
			words = append(words, text[:eq+1]+value)
			text = text[eq+1+len(quoted):]
			if text != "" && text[0] != ' ' && text[0] != '\t' {
				return nil, fmt.Errorf("%q follows a quote without a space", text)
			}
			continue
		}
		words, text = append(words, text[:end]), text[end:]
	}
}

// set reads the value of one key.
func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "status":
		f.status, err = faultNumber(key, value, 200, 599)
	case "commit":
		f.commit, err = faultMoment(key, value)
	case "drop":
		f.drop, err = faultMoment(key, value)
	case "limit":
		f.limit, err = faultLimit(value)
	case "delay":
		if f.delay, err = time.ParseDuration(value); err != nil || f.delay <= 0 {
			err = fmt.Errorf("delay=%s: want a duration such as 300ms or 2s", value)
		}
	case "retry-after":
		f.retryAfter, f.hasRetry = value, true
		if strings.ContainsAny(value, "\r\n") {
			err = errors.New("retry-after: a header cannot have line breaks")
		}
	case "rate":
		f.hasRate = true
		if f.rate, err = strconv.ParseFloat(value, 64); err != nil || !(f.rate >= 0 && f.rate <= 1) {
			err = fmt.Errorf("rate=%s: want a number from 0 to 1", value)
		}
	case "nth":
		f.nth, err = faultNumber(key, value, 1, math.MaxInt32)
	case "once":
		f.once, err = faultNumber(key, value, 1, math.MaxInt32)
	case "seed":
		if f.seed, err = strconv.ParseUint(value, 10, 64); err != nil {
			err = fmt.Errorf("seed=%s: want a whole number, not negative", value)
		}
	default:
		err = fmt.Errorf("%q is no key; keys are %s", key, faultKeys)
	}
	return err
}

func faultNumber(key, value string, low, high int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s=%s: want a whole number from %d to %d", key, value, low, high)
	}
	return n, nil
}

func faultMoment(key, value string) (moment, error) {
	if m := moment(value); m == before || m == after {
		return m, nil
	}
	return "", fmt.Errorf("%s=%s: want %s=before or %s=after", key, value, key, key)
}

// faultLimit reads "200/s" and gives requests a second.
func faultLimit(value string) (float64, error) {
	count, unit, _ := strings.Cut(value, "/")
	per, ok := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(count, 64)
	if err != nil || !ok || !(n > 0 && n <= 1e9) || n/per == 0 {
		return 0, fmt.Errorf("limit=%s: want a number of requests per s, m or h, such as 200/s", value)
	}
	return n / per, nil
}

// check refuses combinations that mean nothing, instead of ignoring a part.
func (f *Fault) check(given map[string]bool) error {
	for _, pair := range [][2]string{
		{"status", "drop"}, {"limit", "drop"}, {"limit", "commit"},
		{"rate", "nth"}, {"rate", "once"}, {"nth", "once"},
		{"limit", "rate"}, {"limit", "nth"}, {"limit", "once"},
	} {
		if given[pair[0]] && given[pair[1]] {
			return fmt.Errorf("%s and %s do not go together", pair[0], pair[1])
		}
	}
	switch {
	case f.status == 0 && f.drop == "" && f.limit == 0 && f.delay == 0:
		return errors.New("nothing would happen: give one of status, drop, limit, delay")
	case given["commit"] && f.status == 0:
		return errors.New("commit needs status (with a cut connection, say drop=before or drop=after)")
	case given["retry-after"] && f.status == 0 && f.limit == 0:
		return errors.New("retry-after needs status or limit")
	case given["seed"] && !f.hasRate:
		return errors.New("seed needs rate")
	}
	return nil
}

// String gives the rule as ParseFault reads it.
func (f Fault) String() string {
	b := []string{f.method, f.route}
	add := func(given bool, key string, value any) {
		if given {
			b = append(b, fmt.Sprintf("%s=%v", key, value))
		}
	}
	add(f.status != 0, "status", f.status)
	add(f.commit != "", "commit", f.commit)
	add(f.drop != "", "drop", f.drop)
	add(f.limit != 0, "limit", strconv.FormatFloat(f.limit, 'g', -1, 64)+"/s")
	add(f.delay != 0, "delay", f.delay)
	add(f.hasRetry, "retry-after", quoteIfNeeded(f.retryAfter))
	add(f.hasRate, "rate", strconv.FormatFloat(f.rate, 'g', -1, 64))
	add(f.nth != 0, "nth", f.nth)
	add(f.once != 0, "once", f.once)
	add(f.seed != 0, "seed", f.seed)
	return strings.Join(b, " ")
}

func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\"") || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}

// answerStatus is the status that the rule answers with.
func (f Fault) answerStatus() int {
	if f.status == 0 && f.limit != 0 {
		return http.StatusTooManyRequests
	}
	return f.status
}
