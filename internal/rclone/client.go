package rclone

import (
	"context"
	"slices"
	"strings"
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

// ClientAdvice returns the page about client IDs if the remote uses that of rclone, and "" if not. It
// returns the page once, so that a command does not show it twice.
func (s *Server) ClientAdvice(ctx context.Context, r Remote) (page string, err error) {
	kind, isType := strings.CutPrefix(r.Name, ":")
	stored := map[string]string{} // with secrets, which are not used
	if !isType {
		if err := s.decode(ctx, "config/get", map[string]string{"name": r.Name}, &stored); err != nil {
			return "", err
		}
		kind = stored["type"]
		if value := valueOf(s.options.Environ, variable("config", r.Name, "type")); value != "" {
			kind = value
		}
	}
	isSet := func(setting string) bool {
		return stored[setting] != "" || valueOf(s.options.Environ, variable(kind, setting)) != "" ||
			valueOf(s.options.Environ, variable("config", r.Name, setting)) != "" ||
			slices.ContainsFunc(r.Parameters, func(p string) bool { return strings.HasPrefix(p, setting+"=") })
	}
	if slices.ContainsFunc(ownAccess, isSet) {
		return "", nil
	}
	if page = ownClient[kind]; page == "" || s.advised.Swap(true) {
		return "", nil
	}
	return page, nil
}

// variable returns the name of a variable of rclone.
func variable(parts ...string) string {
	return strings.ToUpper("RCLONE_" + strings.ReplaceAll(strings.Join(parts, "_"), "-", "_"))
}
