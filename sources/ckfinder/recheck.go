package ckfinder

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

const (
	slowFolder = time.Second
	// reuse is the factor of that time for which a listing is reused, up to longestReuse. Dates are
	// in minutes, so a listing does not show a change within the last minute anyway.
	reuse        = 10
	longestReuse = time.Minute
)

// A folderMemory is the last listing of a folder that was made to check files in it.
type folderMemory struct {
	slow time.Duration // the listing time from which a listing is reused

	mu    sync.Mutex
	at    place
	files map[string]string // names and version tags, without validators
	until time.Time
}

// recheck checks with a listing that a file has not changed, for connectors whose responses do not
// identify versions.
func (s *Source) recheck(ctx context.Context, at place, name, tag string) error {
	files, err := s.filesNow(ctx, at)
	if err != nil {
		return err
	}
	now, ok := files[name]
	switch {
	case !ok:
		return &remote.Failure{Code: fileNotFound, Err: fs.ErrNotExist, Kind: retry.Permanent}
	case now != tag:
		return &remote.Failure{Err: sources.ErrChanged, Kind: retry.Permanent}
	}
	return nil
}

func (s *Source) filesNow(ctx context.Context, at place) (map[string]string, error) {
	m := &s.lastFolder
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == at && time.Now().Before(m.until) {
		return m.files, nil
	}
	begun := time.Now()
	entries, err := s.files(ctx, at)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string, len(entries))
	for _, e := range entries {
		files[e.name] = versionTag(e, "")
	}
	m.at, m.files, m.until = at, files, time.Now()
	if took := time.Since(begun); took >= m.slow {
		m.until = m.until.Add(min(reuse*took, longestReuse))
	}
	return files, nil
}
