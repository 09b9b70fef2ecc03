package rclone

import (
	"context"
	"slices"
)

// ownClient has the pages that explain how to create a client ID, by the type of a storage for which
// rclone has one. All users of rclone share that and its rate limit.
var ownClient = map[string]string{
	"box":      "https://rclone.org/box/#get-your-own-box-app-id",
	"drive":    "https://rclone.org/drive/#making-your-own-client-id",
	"dropbox":  "https://rclone.org/dropbox/#get-your-own-dropbox-app-id",
	"onedrive": "https://rclone.org/onedrive/#getting-your-own-client-id-and-key",
}

// ownAccess are the settings that replace the client ID of rclone.
var ownAccess = []string{"client_id", "service_account_file", "service_account_credentials", "env_auth", "box_config_file", "access_token"}

// ClientAdvice returns the remote that uses the client ID of rclone, which is r or one behind it, and
// the page about client IDs. Both are "" if there is none. It returns them once, so that a command does
// not show them twice.
func (s *Server) ClientAdvice(ctx context.Context, r Remote) (remote, page string, err error) {
	found, err := s.storages(ctx, r)
	for _, one := range found {
		isSet := func(setting string) bool { return one.get(setting) != "" }
		page := ownClient[one.kind]
		if page != "" && !slices.ContainsFunc(ownAccess, isSet) && !s.advised.Swap(true) {
			return one.Name, page, nil
		}
	}
	return "", "", err
}
