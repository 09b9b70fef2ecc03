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

// folderURLs caches the URLs of folders.
type folderURLs struct {
	mu    sync.Mutex
	known map[string]string // by resource type and path; "" without a URL
}

func (f *folderURLs) note(at place, rawURL string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= rememberedFolders {
		f.known = make(map[string]string)
	}
	f.known[at.kind+at.path] = rawURL
}

func (f *folderURLs) find(at place) (rawURL string, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rawURL, known = f.known[at.kind+at.path]
	return rawURL, known
}

// urlOf returns the URL of a file, from the URL that the connector returns for the folder. That
// may be relative to the connector. The result is "" if the connector returns none.
func (s *Source) urlOf(ctx context.Context, at place, name string) (string, error) {
	folder, known := s.folderURLs.find(at)
	if !known {
		list, err := ask[folderList](ctx, s, "GetFolders", at.parameters())
		if err == nil {
			err = list.answersFor(at)
		}
		if err != nil {
			return "", err
		}
		folder = list.CurrentFolder.URL
		s.folderURLs.note(at, folder)
	}
	return joined(s.url.connector, folder, name), nil
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
