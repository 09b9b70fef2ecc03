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

// A Target is an address and which events it is told of. It shows nobody more of the
// address than scheme and host.
type Target struct {
	address *url.URL
	events  []Event // empty: all
}

// ParseTarget reads an address, or an address for a few events: "failure=https://host/path",
// "start,failure=https://host/path". Its errors do not repeat the text.
func ParseTarget(text string) (t Target, err error) {
	address := text
	if names, rest, ok := strings.Cut(text, "="); ok && !strings.Contains(names, ":") { // else it stands in the address
		address = rest
		if t.events, err = parseEvents(names); err != nil {
			return t, err
		}
	}
	t.address, err = url.Parse(address)
	switch {
	case err != nil:
		return Target{}, errors.New("the address is not valid")
	case t.address.Scheme != "https" && t.address.Scheme != "http":
		return Target{}, errors.New("the address does not begin with https:// or http://")
	case t.address.Hostname() == "":
		return Target{}, errors.New("the address has no host")
	}
	return t, nil
}

func parseEvents(names string) (events []Event, err error) {
	for name := range strings.SplitSeq(names, ",") {
		event := Event(name)
		if !slices.Contains([]Event{Start, Success, Failure}, event) {
			return nil, fmt.Errorf("what stands before the \"=\" is not a list of %s, %s and %s", Start, Success, Failure)
		}
		events = append(events, event)
	}
	return events, nil
}

// String is all that may be shown of the address.
func (t Target) String() string {
	if t.address == nil {
		return ""
	}
	return t.address.Scheme + "://" + t.address.Host
}

// GoString keeps the address from being shown by %#v.
func (t Target) GoString() string { return t.String() }

func (t Target) wants(e Event) bool { return len(t.events) == 0 || slices.Contains(t.events, e) }

// mayBeReached refuses to show the address, and what is told, to everyone on the way.
func (t Target) mayBeReached(allowHTTP bool) error {
	host := t.address.Hostname()
	if t.address.Scheme == "https" || allowHTTP || outbound.IsLoopback(host) {
		return nil
	}
	return fmt.Errorf("plain HTTP to %s would show the notification and its address to everyone on the way; use https:// or --allow-http", host)
}

// hide takes the address out of an error.
func (t Target) hide(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok { // which begins with it
		err = e.Err
	}
	text := err.Error()
	password, _ := t.address.User.Password()
	for _, part := range []string{t.address.RequestURI(), t.address.Path, t.address.RawQuery, t.address.User.Username(), password} {
		if len(part) > 1 {
			text = strings.ReplaceAll(text, part, "[redacted]")
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// maxRedirects is how often a message is sent on.
const maxRedirects = 3

// errLeads says that an address leads elsewhere, which another try does not change.
var errLeads = errors.New("it leads to another place")

// stayAtHost follows a redirect only within a host, and only with the message: to another
// host the address, or a part of it, would be shown to somebody else, and what comes
// without a message only looks as if it had arrived.
func stayAtHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme:
		return fmt.Errorf("%w, of another host", errLeads)
	case req.Method != first.Method:
		return fmt.Errorf("%w, without the message", errLeads)
	}
	return nil
}
