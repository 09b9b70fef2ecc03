package rclone

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assetferry/internal/hint"
)

// rclone lists a union without what is in a storage that fails, an encrypted remote without the names that it
// cannot decrypt, and a web server without the objects for which it returns an error. Such a listing looks
// complete.

// onlyNames are the options of requests for names.
var onlyNames = listOptions{NoMimeType: true, NoModTime: true}

// names calls each for every entry of a folder of another storage.
func (s *Source) names(ctx context.Context, fs, dir string, each func(entry) error) error {
	in, err := s.server.Call(ctx, "operations/list", map[string]any{"fs": fs, "remote": dir, "opt": onlyNames})
	if err != nil {
		return err
	}
	defer in.Close()
	return s.entries(in, each)
}

// checkUpstreams returns the error of a storage of a union that cannot be listed.
func (s *Source) checkUpstreams(ctx context.Context) error {
	for _, name := range s.options.Upstreams {
		err := patiently(ctx, func(ctx context.Context) error {
			return s.call(ctx, "operations/stat", map[string]any{"fs": name, "remote": "", "opt": onlyNames}, &struct{}{})
		})
		if err != nil {
			kind, path, _ := strings.Cut(name, ",") // without parameters, which may be secret
			if path != "" {
				kind += ":"
			}
			return fmt.Errorf("%s, which is a part of the union: %w", kind, err)
		}
	}
	return nil
}

// errUndecryptable means that rclone lists no object of an encrypted remote, although it has some.
var errUndecryptable error = hint.New(errors.New("rclone can decrypt no name in the encrypted remote, so its password is probably wrong"),
	"correct password and password2 of the remote with rclone config")

// checkDecrypted returns an error for a remote without objects if there are some in the storage behind it.
func (s *Source) checkDecrypted(ctx context.Context) error {
	for _, name := range s.options.Encrypted {
		err := patiently(ctx, func(ctx context.Context) error {
			return s.names(ctx, name, "", func(entry) error { return errUndecryptable })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// omitted calls each for every entry of a folder that rclone does not list because its server returns an
// error for it.
func (s *Source) omitted(ctx context.Context, dir string, seen map[string]bool, each func(entry) error) error {
	return s.names(ctx, s.options.Names, dir, func(e entry) error {
		if seen[e.path] || e.isDir {
			return nil
		}
		e.isOmitted = true
		return each(e)
	})
}
