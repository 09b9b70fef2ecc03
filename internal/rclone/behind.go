package rclone

import (
	"context"
	"slices"
)

// A Behind has the storages behind a remote whose failures rclone does not report.
type Behind struct {
	// Upstreams are those of unions. rclone omits what is in one that fails, as long as another one answers.
	Upstreams []string
	// Encrypted are those of encrypted remotes. rclone omits names that it cannot decrypt.
	Encrypted []string
	// Names is the same remote of the type http without requests for each object: its listing has all names,
	// also those for which the server returns an error. It is empty for other types.
	Names string
}

// Behind returns what is behind a remote. It reads only the configuration.
func (s *Server) Behind(ctx context.Context, r Remote) (b Behind, err error) {
	found, err := s.storages(ctx, r)
	for i, one := range found {
		switch {
		case one.kind == "http" && i == 0:
			r.Parameters = append(slices.Clone(r.Parameters), "no_head=true")
			b.Names = r.String()
		case one.kind == "union":
			b.Upstreams = append(b.Upstreams, one.upstreams()...)
		case one.kind == "crypt" && one.Path == "": // below it, the path could not be found either
			b.Encrypted = append(b.Encrypted, one.get("remote"))
		}
	}
	return b, err
}
