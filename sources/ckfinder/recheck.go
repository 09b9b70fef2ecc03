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
	// reuse is for how many times as long it counts then, and longestReuse is the end of
	// that: dates are in minutes, so no listing would tell of what changed in the last one.
	reuse        = 10
	longestReuse = time.Minute
)

// A folderMemory is the folder that was listed last to find out whether files in it are
// still those that were listed.
type folderMemory struct {
	slow time.Duration // how long a folder takes to list that is not listed anew for each file

	mu    sync.Mutex
	at    place
	files map[string]string // names and version tags, without validators
	until time.Time
}

// recheck makes sure by a listing that a file is still the one that was listed. It is for
// connectors whose answers hold nothing that tells versions apart.
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
