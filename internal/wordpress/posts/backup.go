package posts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assetferry/internal/hint"
	"assetferry/internal/pattern"
	"assetferry/internal/wordpress/blocks"
)

// siteFile is the file in a backup that names the site.
const siteFile = ".assetferry-wordpress.json"

// A siteRecord is the content of siteFile.
type siteRecord struct {
	Version int    `json:"version"`
	Site    string `json:"site"`
}

// A record describes an original. Its content is in a file beside it.
type record struct {
	ID       json.RawMessage `json:"id"`
	Type     string          `json:"type"`
	Route    string          `json:"route"` // of the type
	Modified string          `json:"modified_gmt"`
	Checksum string          `json:"sha256"`
	// Written is the checksum of the content that replaces the original, in its comparable form.
	Written string `json:"written_sha256"`

	file string // with the content
}

const (
	contentEnding = ".html"
	recordEnding  = ".json"
)

// keep stores the original of a post, before the post is written, and returns the file. The record
// comes last: an original without one was never replaced.
func (s *Session) keep(p *post, text string) (original string, err error) {
	if s.Session.Counts.Backup == "" {
		if err := s.keepSite(); err != nil {
			return "", err
		}
		s.Session.Counts.Backup = s.Session.Backup.Dir()
	}
	r := record{
		ID: p.ID, Type: p.kind.name, Route: p.kind.path, Modified: p.Modified,
		Checksum: checksum(*p.Content.Raw), Written: checksum(blocks.Comparable(text)),
	}
	described, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	name := fileName(p)
	if original, err = s.Session.Backup.Save(name+contentEnding, []byte(*p.Content.Raw)); err != nil {
		return "", err
	}
	_, err = s.Session.Backup.Save(name+recordEnding, described)
	return original, err
}

func (s *Session) keepSite() error {
	text, err := json.Marshal(siteRecord{1, s.Site})
	if err != nil {
		return err
	}
	_, err = s.Session.Backup.Save(siteFile, text)
	return err
}

func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

var plainName = pattern.Lazy(`^[a-z0-9_][a-z0-9_-]{0,99}$`)

// fileName returns the name of a post in a backup. The site chooses routes and IDs: names that are
// not plain are replaced by their checksums.
func fileName(p *post) string {
	parts := []string{p.kind.name, p.id()}
	for n, part := range parts {
		if !plainName().MatchString(part) {
			parts[n] = checksum(part)[:16]
		}
	}
	return strings.Join(parts, "-")
}

// SiteOf returns the URL of the site in a backup. It is not ok for a backup of files.
func SiteOf(dir string) (site string, ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, siteFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	var r siteRecord
	if err := json.Unmarshal(text, &r); err != nil || r.Version != 1 {
		return "", false, hint.New(fmt.Errorf("%s is not a file of this version of assetferry", filepath.Join(dir, siteFile)), "use the version that made the backup")
	}
	return r.Site, true, nil
}

// records returns the records of a backup, by name.
func records(dir string) (all []record, err error) {
	names, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+recordEnding))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		if filepath.Base(name) == siteFile {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r := record{file: strings.TrimSuffix(name, recordEnding) + contentEnding}
		err = json.Unmarshal(text, &r)
		if err == nil && !strings.HasPrefix(r.Route, "/") {
			err = errors.New("it has no route")
		}
		if err != nil {
			return nil, hint.New(fmt.Errorf("%s is damaged: %w", name, err), "restore the post in the editor of WordPress, and remove this file to restore the others")
		}
		all = append(all, r)
	}
	return all, nil
}

// escapeGlob escapes the name of a folder for a pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(dir)
}

// Reasons why an original is not restored.
var (
	ErrConflict = errors.New("changed since rewrite wrote it: restore it in the editor of WordPress, from its revisions or from the backup")
	ErrDamaged  = errors.New("the original in the backup is damaged: restore the post in the editor of WordPress, from its revisions")
)

// Restore restores the originals of a backup, in posts that still have the content that replaced them.
// It compares only, for a dry run.
func (s *Session) Restore(ctx context.Context, dir string) error {
	if err := s.checkAccount(ctx); err != nil {
		return err
	}
	all, err := records(dir)
	if err != nil {
		return err
	}
	for _, r := range all {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		p := &post{ID: r.ID, kind: postType{r.Type, r.Route}}
		s.Session.Counts.Files++
		err := s.restore(ctx, r, p)
		switch {
		case err == nil:
		case errors.Is(err, ErrConflict), errors.Is(err, ErrDamaged), !isFatal(ctx, err):
			s.fail(p.name(), err)
		default:
			return err
		}
	}
	return nil
}

func (s *Session) restore(ctx context.Context, r record, p *post) error {
	content, err := os.ReadFile(r.file)
	if err != nil {
		return errors.Join(ErrDamaged, err)
	}
	original := string(content)
	if checksum(original) != r.Checksum {
		return ErrDamaged
	}
	now, err := s.read(ctx, p.kind, p.path())
	switch {
	case err != nil:
		return err
	case *now.Content.Raw == original:
		return nil
	case checksum(blocks.Comparable(*now.Content.Raw)) != r.Written:
		if blocks.Comparable(*now.Content.Raw) == blocks.Comparable(original) {
			return nil
		}
		return ErrConflict
	}
	if s.Session.Backup != nil {
		replaced, err := s.keep(now, original)
		if err == nil {
			err = s.put(ctx, now, original, replaced)
		}
		if err != nil {
			return err
		}
	}
	s.Session.Counts.Changed++
	s.Watch.Restored(p.name())
	return nil
}
