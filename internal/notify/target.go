package notify

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"assetferry/internal/outbound"
)

// A Target is the URL of a webhook and its events. It shows only the scheme and the host of the URL.
type Target struct {
	url    *url.URL
	events []Event // empty: all
}

// ParseTarget parses a URL, or a URL for some events: "failure=https://host/path",
// "start,failure=https://host/path". Its errors do not contain the text.
func ParseTarget(text string) (t Target, err error) {
	rawURL := text
	if names, rest, ok := strings.Cut(text, "="); ok && !strings.Contains(names, ":") { // otherwise the = is in the URL
		rawURL = rest
		if t.events, err = parseEvents(names); err != nil {
			return t, err
		}
	}
	t.url, err = url.Parse(rawURL)
	switch {
	case err != nil:
		return Target{}, errors.New("the URL is not valid")
	case t.url.Scheme != "https" && t.url.Scheme != "http":
		return Target{}, errors.New("the URL does not begin with https:// or http://")
	case t.url.Hostname() == "":
		return Target{}, errors.New("the URL has no host")
	}
	return t, nil
}

func parseEvents(names string) (events []Event, err error) {
	for name := range strings.SplitSeq(names, ",") {
		event := Event(name)
		if !slices.Contains([]Event{Start, Success, Failure}, event) {
			return nil, fmt.Errorf("the part before \"=\" is not a list of %s, %s and %s", Start, Success, Failure)
		}
		events = append(events, event)
	}
	return events, nil
}

// String returns the part of the URL that may be shown.
func (t Target) String() string {
	if t.url == nil {
		return ""
	}
	return t.url.Scheme + "://" + t.url.Host
}

// GoString hides the rest of the URL from %#v.
func (t Target) GoString() string { return t.String() }

func (t Target) wants(e Event) bool { return len(t.events) == 0 || slices.Contains(t.events, e) }

// checkScheme rejects plain HTTP, which shows the URL and the message on the network.
func (t Target) checkScheme(allowHTTP bool) error {
	host := t.url.Hostname()
	if t.url.Scheme == "https" || allowHTTP || outbound.IsLoopback(host) {
		return nil
	}
	return fmt.Errorf("plain HTTP to %s would send the notification and its URL unencrypted; use https:// or --allow-http", host)
}

// hide removes the URL from an error.
func (t Target) hide(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok { // its text begins with the URL
		err = e.Err
	}
	text := err.Error()
	password, _ := t.url.User.Password()
	for _, part := range []string{t.url.RequestURI(), t.url.Path, t.url.RawQuery, t.url.User.Username(), password} {
		if len(part) > 1 {
			text = strings.ReplaceAll(text, part, "[redacted]")
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// maxRedirects is the maximum number of redirects.
const maxRedirects = 3

// errRedirect says that a URL redirects elsewhere. Another attempt does not change that.
var errRedirect = errors.New("the URL redirects")

// stayAtHost follows redirects only within a host, and only with the message. Another host would
// see parts of the URL, and a request without the message would look like a success.
func stayAtHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme:
		return fmt.Errorf("%w to another host", errRedirect)
	case req.Method != first.Method:
		return fmt.Errorf("%w without the message", errRedirect)
	}
	return nil
}
