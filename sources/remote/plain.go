package remote

import (
	"errors"
	"net/url"

	"assetferry/internal/outbound"
)

// ErrPlain refuses what would show contents and what opens them on the way.
var ErrPlain = errors.New("plain HTTP to another host than this one is refused")

// CheckPlain lets plain HTTP only go where it may.
func CheckPlain(to *url.URL, allowHTTP bool) error {
	if to.Scheme == "https" || allowHTTP || outbound.IsLoopback(to.Hostname()) {
		return nil
	}
	return ErrPlain
}
