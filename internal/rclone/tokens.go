package rclone

import (
	"context"
	"errors"
	"io/fs"
	"slices"
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

// RenewsTokens reports whether rclone renews tokens of a remote, or of one behind it.
func (s *Server) RenewsTokens(ctx context.Context, r Remote) (bool, error) {
	found, err := s.storages(ctx, r)
	return slices.ContainsFunc(found, func(one storage) bool {
		return slices.ContainsFunc(renewed, func(setting string) bool { return one.get(setting) != "" })
	}), err
}
