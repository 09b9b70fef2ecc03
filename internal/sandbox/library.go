package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/rendition"
	"assetferry/internal/sandbox/shelves"
)

// openLibrary creates the library pages, unless they are off.
func (s *Server) openLibrary() error {
	if !s.options.Library {
		return nil
	}
	secret, err := s.librarySecret()
	if err != nil {
		return fmt.Errorf("library page: %w", err)
	}
	s.access = library.NewAccess(secret, s.options.Dir != "")
	read := s.shelves()
	s.library = library.New(read, read, s.access, s.options.Log)
	return nil
}

func (s *Server) shelves() shelves.Shelves {
	return shelves.New(s.store, s.workspaces, s.contents, s.squarePicture)
}

// squarePicture generates an image like the thumbnails of the service.
func (s *Server) squarePicture(a records.Asset, side int) (library.Content, error) {
	out, err := s.image(a, box{side, side, rendition.WebP})
	if err != nil {
		return library.Content{}, err
	}
	return library.Content{
		ReadSeekCloser: noClose{out.content}, Name: out.name, Type: out.mime, Tag: out.tag, Modified: out.modified,
	}, nil
}

// noClose is a reader that needs no Close.
type noClose struct{ io.ReadSeeker }

func (noClose) Close() error { return nil }

// librarySecret returns the secret of the cookie. It survives a restart if the data does.
func (s *Server) librarySecret() (string, error) {
	if s.options.Dir == "" {
		return rand.Text(), nil
	}
	path := filepath.Join(s.options.Dir, "library.key")
	text, err := os.ReadFile(path)
	if secret := strings.TrimSpace(string(text)); err == nil && len(secret) >= len(rand.Text()) {
		return secret, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	secret := rand.Text() // no other process: the folder is locked
	return secret, datadir.WritePrivate(path, secret+"\n")
}

// LibraryURL returns the URL of the library page with a new key that works once, for a sandbox
// at a base URL. It returns "" if the page is off.
func (s *Server) LibraryURL(base string) string {
	if s.library == nil {
		return ""
	}
	return base + library.Path(s.access.NewKey())
}
