package rclone

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assetferry/internal/retry"
)

// A storage is a remote with its settings. They contain secrets, so it is neither kept nor shown.
type storage struct {
	Remote
	kind string // such as "drive"
	get  func(setting string) string
}

// longestChain ends a loop of remotes.
const longestChain = 10

// storages returns the storage of a remote and those behind it, such as that of an encrypted remote.
func (s *Server) storages(ctx context.Context, r Remote) (found []storage, err error) {
	var stored map[string]map[string]string
	if err := s.decode(ctx, "config/dump", nil, &stored); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	level := []Remote{r}
	for range longestChain {
		var next []Remote
		for _, r := range level {
			if seen[r.String()] {
				continue
			}
			seen[r.String()] = true
			one := r.storage(s.options.Environ, stored[r.Name])
			found = append(found, one)
			next = append(next, one.behind()...)
		}
		level = next
	}
	return found, nil
}

// CheckNames returns an ErrUnknownRemote if the configuration lacks a remote or one behind it. It sends
// no request to a storage.
func (s *Server) CheckNames(ctx context.Context, r Remote) error {
	found, err := s.storages(ctx, r)
	for _, one := range found {
		if one.kind == "" {
			return &Error{Message: fmt.Sprintf("%q is not in the configuration of rclone", one.Name), Is: ErrUnknownRemote, kind: retry.Fatal}
		}
	}
	return err
}

// storage returns the storage of a remote with the settings that are stored for it. As in rclone, the
// connection string precedes the environment, and that the configuration.
func (r Remote) storage(environ []string, stored map[string]string) storage {
	given := map[string]string{}
	for _, p := range r.Parameters {
		name, value, _ := strings.Cut(p, "=")
		given[name] = unquote(value)
	}
	kind, isType := strings.CutPrefix(r.Name, ":")
	if !isType {
		kind = cmp.Or(valueOf(environ, variable("config_"+r.Name, "type")), stored["type"])
	}
	return storage{r, kind, func(setting string) string {
		return cmp.Or(given[setting], valueOf(environ, variable("config_"+r.Name, setting)), valueOf(environ, variable(kind, setting)), stored[setting])
	}}
}

// behind returns the remotes that contain the objects of a storage. A folder of this machine is none.
func (s storage) behind() (remotes []Remote) {
	below := s.Path
	if s.kind == "combine" { // its first folder is that of an upstream
		_, below, _ = strings.Cut(below, "/")
	}
	for _, text := range append(s.upstreams(), s.get("remote")) {
		if r, err := parseRemote(text); err == nil && filepath.VolumeName(text) == "" { // C:\photos is a folder on Windows
			r.Path = path.Join(r.Path, below)
			remotes = append(remotes, r)
		}
	}
	return remotes
}

// upstreams returns the storages that are combined in a storage.
func (s storage) upstreams() []string {
	found := words(s.get("upstreams"))
	for i, text := range found {
		switch s.kind {
		case "combine": // DIRECTORY=REMOTE:path
			_, found[i], _ = strings.Cut(text, "=")
		case "union":
			for _, option := range []string{":ro", ":nc", ":writeback"} {
				text = strings.TrimSuffix(text, option)
			}
			found[i] = text
		}
	}
	return found
}

// words returns the words of a setting; those that contain spaces are in quotes.
func words(text string) []string {
	in := csv.NewReader(strings.NewReader(text))
	in.Comma = ' '
	all, err := in.Read()
	if err != nil {
		return strings.Fields(text)
	}
	return slices.DeleteFunc(all, func(word string) bool { return word == "" })
}

// variable returns the name of a variable of rclone.
func variable(section, setting string) string {
	return strings.ToUpper("RCLONE_" + section + "_" + setting)
}
