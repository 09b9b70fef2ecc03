// Package outbound is shared by clients of services: the targets that may get a token, stalled
// transfers, network errors, and the display of responses.
package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// ParseBase parses the base URL of a service. Errors do not repeat the URL, which may contain a
// password.
func ParseBase(raw string, allowHTTP bool) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	switch {
	case err != nil || u.Host == "":
		return nil, errors.New("base URL must have the form https://host")
	case u.User != nil:
		return nil, fmt.Errorf("base URL %s: a user name or password is not allowed", Origin(u))
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("base URL %s: a query or a fragment is not allowed", Origin(u))
	}
	return u, CheckScheme(u, allowHTTP)
}

// CheckScheme returns an error if tokens and assets would be sent over plain HTTP.
func CheckScheme(u *url.URL, allowHTTP bool) error {
	switch {
	case u.Scheme == "https", u.Scheme == "http" && (allowHTTP || IsLoopback(u.Hostname())):
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("URL %s: plain HTTP to another machine needs --allow-http", Origin(u))
	}
	return fmt.Errorf("URL %s: the scheme must be https", Origin(u))
}

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Origin returns scheme, host and port of a URL: the part that decides who gets the token, and the
// only part that errors show.
func Origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
