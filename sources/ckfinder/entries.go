package ckfinder

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"assetferry/internal/retry"
	"assetferry/internal/sorting"
	"assetferry/sources/remote"
)

// An entry is a file or a folder in a folder.
type entry struct {
	name string // ends with a slash for a folder
	date plain
	size plain
}

func (e entry) isFolder() bool { return strings.HasSuffix(e.name, "/") }

// entries lists a folder in the order of keys; folders end with a slash. With an error, it may
// return the files or the folders.
func (s *Source) entries(ctx context.Context, at place) ([]entry, error) {
	var (
		both    sync.WaitGroup
		files   []entry
		noFiles error
	)
	both.Go(func() { files, noFiles = s.files(ctx, at) })
	folders, noFolders := s.folders(ctx, at)
	both.Wait()
	entries := append(files, folders...)
	sorting.By(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	// A duplicate name can be requested only once.
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return a.name == b.name })
	if noFiles != nil {
		return entries, noFiles
	}
	return entries, noFolders
}

func (s *Source) files(ctx context.Context, at place) ([]entry, error) {
	list, err := ask[fileList](ctx, s, "GetFiles", at.parameters())
	if err != nil {
		return nil, err
	}
	if err := list.answersFor(at); err != nil {
		return nil, err
	}
	s.folderURLs.note(at, list.CurrentFolder.URL)
	entries := make([]entry, 0, len(list.Files))
	for _, f := range list.Files {
		if strings.Contains(f.Name, "/") {
			return nil, unnameable(f.Name)
		}
		entries = append(entries, entry{f.Name, f.Date, f.Size})
	}
	return entries, list.whole(viewFiles)
}

func (s *Source) folders(ctx context.Context, at place) ([]entry, error) {
	list, err := ask[folderList](ctx, s, "GetFolders", at.parameters())
	if err != nil {
		return nil, err
	}
	if err := list.answersFor(at); err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(list.Folders))
	for _, f := range list.Folders {
		if f.Name == "" || strings.Contains(f.Name, "/") {
			return nil, unnameable(f.Name)
		}
		entries = append(entries, entry{name: f.Name + "/"})
	}
	return entries, list.whole(viewFolders)
}

// odd returns the failure of an invalid response with any status.
func odd(format string, args ...any) error {
	return &remote.Failure{Status: http.StatusOK, Err: fmt.Errorf(format, args...), Kind: retry.Permanent}
}

// answersFor returns an error if a response is for another folder than the requested one. Some
// connectors return another folder for an unknown one.
func (a *answer) answersFor(at place) error {
	if path := a.CurrentFolder.Path; path != nil && strings.Trim(*path, "/") != strings.Trim(at.path, "/") {
		return odd("the connector returned the folder %[2]s instead of %[1]s", at.path, *path)
	}
	return nil
}

// whole returns an error if the session cannot see everything in a folder.
func (a *answer) whole(permission int) error {
	if acl := a.CurrentFolder.ACL; acl != nil && *acl&permission == 0 {
		return odd("the session cannot see everything in this folder")
	}
	return nil
}

// unnameable returns the error for a name that cannot be a segment of a key.
func unnameable(name string) error {
	return odd("the connector lists the invalid name %q", name)
}
