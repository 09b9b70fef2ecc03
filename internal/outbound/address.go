// Package outbound is what clients of services have in common in how requests leave and
// answers come back: where a token may go, when something stands still on its way, what is
// wrong with the network, and what of an answer may be shown.
package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// ParseBase checks the base address of a service. Its errors do not repeat the address, which
// may hold a password.
func ParseBase(raw string, allowHTTP bool) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	switch {
	case err != nil || u.Host == "":
		return nil, errors.New("base address is not of the form https://host")
	case u.User != nil:
		return nil, fmt.Errorf("base address %s: must not hold a user name or password", Origin(u))
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("base address %s: must end with its path", Origin(u))
	}
	return u, CheckScheme(u, allowHTTP)
}

// CheckScheme keeps tokens and assets off the open network.
func CheckScheme(u *url.URL, allowHTTP bool) error {
	switch {
	case u.Scheme == "https", u.Scheme == "http" && (allowHTTP || IsLoopback(u.Hostname())):
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("address %s: plain HTTP is allowed to this computer only, unless --allow-http is given", Origin(u))
	}
	return fmt.Errorf("address %s: scheme is not https", Origin(u))
}

// IsLoopback reports whether a host is this computer.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Origin is the part of an address that decides who gets the token, and all of it that
// errors show.
func Origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
