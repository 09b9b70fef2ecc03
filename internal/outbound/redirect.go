package outbound

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// ErrDowngrade refuses to leave the encrypted way.
var ErrDowngrade = errors.New("leads from https to plain HTTP")

// ErrRedirects ends what leads in circles.
var ErrRedirects = errors.New("too many redirects")

// FollowRedirects makes the CheckRedirect of an http.Client that follows at most so many
// redirects, none from https to plain HTTP, and none that one of the checks refuses.
//
// Every http.Client of the product that follows redirects has it, because net/http sends the
// URL that was redirected as Referer: that of a private file, or of a webhook, may hold a secret.
func FollowRedirects(most int, checks ...func(next *http.Request, via []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		next.Header.Del("Referer")
		switch previous := via[len(via)-1]; {
		case len(via) > most:
			return fmt.Errorf("%w: more than %d", ErrRedirects, most)
		case previous.URL.Scheme == "https" && next.URL.Scheme != "https":
			return fmt.Errorf("a redirect %w", ErrDowngrade)
		}
		for _, check := range checks {
			if err := check(next, via); err != nil {
				return err
			}
		}
		return nil
	}
}

const (
	// maxRest and restTimeout are how much of the body of a redirect is read, and for how long, so
	// that its connection can be used again.
	maxRest     = 2 << 10
	restTimeout = time.Second
)

var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// EndRedirect takes the body off an answer that redirects. An http.Client reads it before it
// follows, for as long as that takes, which may be for ever.
func EndRedirect(answer *http.Response) {
	if !slices.Contains(redirects, answer.StatusCode) || answer.Header.Get("Location") == "" {
		return
	}
	body := answer.Body
	answer.Body = http.NoBody
	late := time.AfterFunc(restTimeout, func() { _ = body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, maxRest)
	_ = body.Close()
}
