package outbound

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// ErrDowngrade means that a redirect leads from https to plain HTTP.
var ErrDowngrade = errors.New("leads from https to plain HTTP")

// ErrRedirects means that there are too many redirects.
var ErrRedirects = errors.New("too many redirects")

// FollowRedirects returns the CheckRedirect of an http.Client. The client follows a limited number
// of redirects, none from https to plain HTTP, and none that a check refuses.
//
// Every http.Client of this program that follows redirects uses it, because net/http sends the
// redirected URL as Referer. The URL of a private file or of a webhook may contain a secret.
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
	// maxRest and restTimeout limit reading the body of a redirect, so that its connection can be
	// reused.
	maxRest     = 2 << 10
	restTimeout = time.Second
)

var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// EndRedirect removes the body of a redirect. An http.Client reads it without a timeout before it
// follows.
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
