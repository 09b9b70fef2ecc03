// Package rclone reads a remote of the user's own rclone as a source: any of the storages that rclone
// supports, through the API of one rclone process.
//
// A listing asks for no hashes and no times where each costs the storage a request.
// Folders are listed several ahead of the consumer and, where the storage can, with everything below
// them. Each listing is read as a stream and sorted into the order of keys, in a temporary file if it
// is large. Content is read in one request, and continued at an offset after an interruption.
package rclone

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"assetferry/internal/hint"
	"assetferry/sources"
)

// A Server is a running rclone with --use-server-modtime, as in package internal/rclone. Its errors
// have classes for package retry, satisfy errors.Is(err, fs.ErrNotExist) where it fits, and may have
// methods IsAuth and Hint.
type Server interface {
	// Call runs a command and returns its response, which is JSON.
	Call(ctx context.Context, command string, in any) (io.ReadCloser, error)
	// Get requests an object of a remote. The status of its response is 200, 206 or 416.
	Get(ctx context.Context, fs, remote string, header http.Header) (*http.Response, error)
}

// Options are the options of New; the zero value is usable.
type Options struct {
	// FollowLinks follows symbolic links of a local folder instead of reporting them.
	FollowLinks bool
	// Ahead is the number of folders that are listed at once; 0 means 8.
	Ahead int
	// Concurrency is the maximum useful number of parallel Opens; 0 means no limit.
	Concurrency int
	// Upstreams and Encrypted are the storages behind unions and encrypted remotes, as in package
	// internal/rclone.
	Upstreams, Encrypted []string
	// Names is a remote whose listings have all names, as in package internal/rclone; or "".
	Names string
}

// A Source is a folder of a remote.
type Source struct {
	server    Server
	name      string // REMOTE:path, as the user wrote it
	root      string // the same, with the options of this package
	abilities abilities
	options   Options
	wholeTime time.Duration // see wholeTime
	last      atomic.Pointer[sources.Listing]
	reached   atomic.Bool // a folder was listed

	listed, known atomic.Int64 // folders of the latest listing
}

// New returns the source of REMOTE:path. It asks the server what the storage can do.
func New(ctx context.Context, server Server, name string, o Options) (*Source, error) {
	s := &Source{server: server, name: name, root: name, options: o, wholeTime: wholeTime}
	if o.Ahead <= 0 {
		s.options.Ahead = 8
	}
	if err := s.ask(ctx); err != nil {
		return nil, s.fail(ctx, "list", "", err)
	}
	return s, nil
}

// ask learns the abilities of the storage.
func (s *Source) ask(ctx context.Context) error {
	var can features
	err := s.contact(ctx, func(ctx context.Context) error {
		return s.call(ctx, "operations/fsinfo", map[string]any{"fs": s.name}, &can)
	})
	if err != nil {
		return err
	}
	s.abilities = can.abilities()
	if !can.Features.IsLocal {
		return nil
	}
	// By default, rclone omits links without a message. It refuses this option if the user's own
	// configuration has the other one.
	option := "links"
	if s.options.FollowLinks {
		option = "copy_links"
	}
	if root, ok := withOption(s.name, option); ok && s.call(ctx, "operations/fsinfo", map[string]any{"fs": root}, &features{}) == nil {
		s.root, s.abilities.links = root, !s.options.FollowLinks
	}
	return ctx.Err()
}

// withOption adds an option of the storage to REMOTE:path. It reports false for a name that already
// has options, which may contain anything.
func withOption(name, option string) (string, bool) {
	at := strings.IndexByte(strings.TrimPrefix(name, ":"), ':')
	if at < 0 || strings.ContainsAny(name[:at], `,"'/`) {
		return "", false
	}
	at += len(name) - len(strings.TrimPrefix(name, ":"))
	return name[:at] + "," + option + "=true" + name[at:], true
}

// Identity names the source for the state database.
func (s *Source) Identity() string { return "rclone:" + s.name }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{
		Precision: s.abilities.precision, ContentTags: s.abilities.hash == "md5",
		Describes: s.abilities.describes, Concurrency: s.options.Concurrency,
	}
}

// fail returns an error of the source for people.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	next := hint.Of(err)
	if next == "" && errors.Is(err, sources.ErrChanged) {
		next = "run the same command again"
	}
	return &sources.Error{Op: op, Source: s.Identity(), Key: key, Err: err, Hint: next}
}

var (
	_ sources.Catalog  = (*Source)(nil)
	_ sources.Measured = (*Source)(nil)
)
