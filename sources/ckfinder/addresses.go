package ckfinder

import (
	"context"
	"net/url"
	"strings"
	"sync"
)

// rememberedFolders is how many folders have their URLs remembered: objects are
// described in the order of their keys, more or less.
const rememberedFolders = 1000

// folderAddresses remembers where the files of folders can be seen.
type folderAddresses struct {
	mu    sync.Mutex
	known map[string]string // by resource type and path; empty for what cannot be seen
}

func (f *folderAddresses) note(at place, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= rememberedFolders {
		f.known = make(map[string]string)
	}
	f.known[at.kind+at.path] = address
}

func (f *folderAddresses) find(at place) (address string, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	address, known = f.known[at.kind+at.path]
	return address, known
}

// addressOf is where a file can be seen, as the connector says it of the folder: it may be
// relative to the connector, and is empty where the connector has no such URL.
func (s *Source) addressOf(ctx context.Context, at place, name string) (string, error) {
	folder, known := s.addresses.find(at)
	if !known {
		list, err := ask[folderList](ctx, s, "GetFolders", at.parameters())
		if err == nil {
			err = list.answersFor(at)
		}
		if err != nil {
			return "", err
		}
		folder = list.CurrentFolder.URL
		s.addresses.note(at, folder)
	}
	return joined(s.address.connector, folder, name), nil
}

// joined is the URL of a file in a folder. Connectors give URLs of folders as they
// are written, or with their characters escaped; both mean the same, and the result is
// escaped.
func joined(connector *url.URL, folder, name string) string {
	if folder == "" {
		return ""
	}
	u, err := url.Parse(folder)
	if err != nil {
		return ""
	}
	u = connector.ResolveReference(u)
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+"/"+name, ""
	return u.String()
}
