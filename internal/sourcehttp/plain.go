package sourcehttp

import (
	"errors"
	"net"
	"net/url"
)

// ErrPlain refuses what would show contents and what opens them on the way.
var ErrPlain = errors.New("plain HTTP to another host than this one is refused")

// CheckPlain lets plain HTTP only go where it may.
func CheckPlain(to *url.URL, allowHTTP bool) error {
	if to.Scheme == "https" || allowHTTP || isLoopback(to.Hostname()) {
		return nil
	}
	return ErrPlain
}

// isLoopback reports whether a host is this one.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
