package rclone

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"strings"

	"assetferry/internal/retry"
)

// A storage is a remote with its settings. They contain secrets, so it is neither kept nor shown.
type storage struct {
	name string // of the remote; see Remote
	kind string // such as "drive"
	get  func(setting string) string
}

// storages returns the storage of a remote and those behind it, such as that of an encrypted remote.
func (s *Server) storages(ctx context.Context, r Remote) (found []storage, err error) {
	var stored map[string]map[string]string
	if err := s.decode(ctx, "config/dump", nil, &stored); err != nil {
		return nil, err
	}
	seen := map[string]bool{} // remotes can name each other in a loop
	for waiting := []Remote{r}; len(waiting) > 0; waiting = waiting[1:] {
		next := waiting[0]
		next.Path = ""
		if seen[next.String()] {
			continue
		}
		seen[next.String()] = true
		one := next.storage(s.options.Environ, stored[next.Name])
		found = append(found, one)
		waiting = append(waiting, one.behind()...)
	}
	return found, nil
}

// CheckNames returns an ErrUnknownRemote if the configuration lacks a remote or one behind it. It sends
// no request to a storage.
func (s *Server) CheckNames(ctx context.Context, r Remote) error {
	found, err := s.storages(ctx, r)
	for _, one := range found {
		if one.kind == "" {
			return &Error{Message: fmt.Sprintf("%v: %q", ErrUnknownRemote, one.name), Is: ErrUnknownRemote, kind: retry.Fatal}
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
	return storage{r.Name, kind, func(setting string) string {
		return cmp.Or(given[setting], valueOf(environ, variable("config_"+r.Name, setting)), valueOf(environ, variable(kind, setting)), stored[setting])
	}}
}

// behind returns the remotes that contain the objects of a storage.
func (s storage) behind() (remotes []Remote) {
	list := csv.NewReader(strings.NewReader(s.get("upstreams")))
	list.Comma = ' '
	texts, _ := list.Read() // without a valid list there is none
	for i := range texts {
		if s.kind == "combine" { // DIRECTORY=REMOTE:path
			_, texts[i], _ = strings.Cut(texts[i], "=")
		}
	}
	for _, text := range append(texts, s.get("remote")) {
		if r, err := parse(text); err == nil { // a path of this machine is no remote
			remotes = append(remotes, r)
		}
	}
	return remotes
}

// unquote returns the value of a parameter, in which a doubled quote is one.
func unquote(text string) string {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return text
	}
	quote := text[:1]
	return strings.ReplaceAll(strings.TrimSuffix(text[1:], quote), quote+quote, quote)
}

// variable returns the name of a variable of rclone.
func variable(section, setting string) string {
	return strings.ToUpper("RCLONE_" + section + "_" + setting)
}
