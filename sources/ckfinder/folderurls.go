package ckfinder

import (
	"context"
	"net/url"
	"strings"
	"sync"
)

// rememberedFolders is the number of cached folder URLs. Objects are read roughly in the order of
// keys.
const rememberedFolders = 1000

// folderAddresses caches the URLs of folders.
type folderAddresses struct {
	mu    sync.Mutex
	known map[string]string // by resource type and path; "" without a URL
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

// addressOf returns the URL of a file, from the URL that the connector returns for the folder. That
// may be relative to the connector. The result is "" if the connector returns none.
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

// joined returns the escaped URL of a file in a folder. Connectors return escaped or unescaped URLs
// of folders.
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
