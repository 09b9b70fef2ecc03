package rclone

import (
	"context"
	"maps"

	"assetferry/sources"
)

// technical are names of metadata that describe the storage of an object and not the object.
var technical = map[string]bool{
	"mtime": true, "atime": true, "utime": true, "mode": true, "uid": true, "gid": true, "rdev": true, "tier": true, "id": true,
	"permissions": true, "content-encoding": true, "cache-control": true, "content-disposition": true,
	"viewed-by-me": true, "writers-can-share": true, "copy-requires-writer-permission": true, "folder-color-rgb": true,
	"created-by-id": true, "last-modified-by-id": true, "malware-detected": true, "package-type": true,
	"shared-owner-id": true, "shared-by-id": true, "shared-scope": true, "shared-time": true,
}

// Describe implements sources.Catalog.
func (s *Source) Describe(ctx context.Context, o sources.Object) (sources.Description, error) {
	if !s.abilities.describes {
		return sources.Description{}, nil
	}
	options := s.abilities.asked()
	options.Metadata = true
	r := reader{ctx: ctx, source: s, object: o}
	now, err := s.stat(ctx, string(o.Key), options)
	if err == nil {
		err = r.compare(now)
	}
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, ofObject(err))
	}
	d := sources.Description{ContentType: now.metadata["content-type"], Metadata: maps.Clone(now.metadata)}
	maps.DeleteFunc(d.Metadata, func(name, value string) bool { return technical[name] || name == "content-type" || value == "" })
	if len(d.Metadata) == 0 {
		d.Metadata = nil
	}
	return d, nil
}
