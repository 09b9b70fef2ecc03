package rclone

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// renewed are the settings of remotes that rclone changes by itself. The former value is often
// invalid then.
var renewed = []string{"token", "client_refresh_token", "trust_token", "cookies"}

// CheckTokens returns a *ConfigError if rclone could not store the renewed tokens of a remote in its
// configuration. Most storages have none.
func (s *Server) CheckTokens(ctx context.Context, r Remote) error {
	renews, err := s.RenewsTokens(ctx, r)
	if err != nil || !renews {
		return err
	}
	path, err := ConfigFile(ctx, s.program, s.options.Environ) // old versions have no call for it
	if err != nil || path == "" {
		return err
	}
	if err := CheckWritable(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RenewsTokens reports whether rclone renews tokens of a remote, or of one behind it, as that of an
// encrypted remote.
func (s *Server) RenewsTokens(ctx context.Context, r Remote) (bool, error) {
	var remotes map[string]map[string]string
	if err := s.decode(ctx, "config/dump", nil, &remotes); err != nil {
		return false, err
	}
	return renewsTokens(remotes, r), nil
}

func renewsTokens(remotes map[string]map[string]string, r Remote) bool {
	seen := map[string]bool{}
	var renews func(name string) bool
	behind := func(text string) bool {
		for other := range remotes {
			if strings.Contains(text, other+":") && renews(other) {
				return true
			}
		}
		return false
	}
	renews = func(name string) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		for setting, value := range remotes[name] {
			if slices.Contains(renewed, setting) && value != "" || behind(value) {
				return true
			}
		}
		return false
	}
	return renews(r.Name) || slices.ContainsFunc(r.Parameters, behind)
}
