package remote

import (
	"errors"
	"net/url"

	"assetferry/internal/outbound"
)

// ErrPlain means that plain HTTP would expose content and credentials on the network.
var ErrPlain = errors.New("plain HTTP is refused, except to this machine")

// CheckPlain returns ErrPlain if plain HTTP to a URL is not allowed.
func CheckPlain(to *url.URL, allowHTTP bool) error {
	if to.Scheme == "https" || allowHTTP || outbound.IsLoopback(to.Hostname()) {
		return nil
	}
	return ErrPlain
}
