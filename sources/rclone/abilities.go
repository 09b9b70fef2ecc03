package rclone

import (
	"slices"
	"time"
)

// features are what rclone says about a storage.
type features struct {
	Features struct {
		BucketBased  bool
		IsLocal      bool
		ListR        bool
		ReadMetadata bool
		SlowHash     bool
		SlowModTime  bool
		UserMetadata bool
	}
	Hashes       []string
	MetadataInfo *struct {
		System map[string]struct{}
	}
	Precision int64 // nanoseconds; a hundred years if there are no times
}

// abilities are what listings and reads of a storage use.
type abilities struct {
	precision time.Duration // of times; 0 if each costs a request
	unsure    bool          // a time may be that of the listing itself
	coarse    bool          // the time of one object is in seconds, those in a listing may have fractions
	hash      string        // the name of the hash that listings contain, or ""
	whole     bool          // a folder can be listed with everything below it
	describes bool          // objects have metadata for people
	links     bool          // symbolic links are listed, with the ending of linkName
}

// hashes are the hashes that are used, the best first.
var hashes = []string{"md5", "sha256", "sha1", "quickxor", "dropbox", "hidrive", "mailru", "crc32"}

// people are the names of metadata that people write or read.
var people = []string{"description", "labels", "tags", "owner", "content-type", "title", "created-by-display-name"}

// unsettable is the least precision in rclone of a storage whose times cannot be set, such as most
// WebDAV servers. Its times are those of the uploads, and show changes as well.
const unsettable = 24 * time.Hour

func (f *features) abilities() abilities {
	// An S3 server such as MinIO lists milliseconds, but the header of an object has seconds.
	can := abilities{whole: f.Features.ListR, coarse: f.Features.BucketBased}
	switch p := time.Duration(f.Precision); {
	case f.Features.SlowModTime && !f.Features.BucketBased: // buckets have the times of uploads
	case p >= unsettable:
		can.precision, can.unsure = time.Second, true
	default:
		can.precision = max(p, 1)
	}
	// Where a time costs a request, so may a hash: that of an object in parts is in its metadata.
	if !f.Features.SlowHash && !f.Features.SlowModTime {
		for _, name := range hashes {
			if can.hash == "" && slices.Contains(f.Hashes, name) {
				can.hash = name
			}
		}
	}
	if f.Features.ReadMetadata && !f.Features.IsLocal && f.MetadataInfo != nil {
		can.describes = f.Features.UserMetadata
		for _, name := range people {
			if _, has := f.MetadataInfo.System[name]; has {
				can.describes = true
			}
		}
	}
	return can
}

// listOptions are the options of operations/list and operations/stat.
type listOptions struct {
	Recurse    bool     `json:"recurse,omitempty"`
	NoMimeType bool     `json:"noMimeType"`
	NoModTime  bool     `json:"noModTime,omitempty"`
	ShowHash   bool     `json:"showHash,omitempty"`
	HashTypes  []string `json:"hashTypes,omitempty"`
	Metadata   bool     `json:"metadata,omitempty"`
}

// asked returns the options of a listing.
func (a abilities) asked() listOptions {
	o := listOptions{NoMimeType: true, NoModTime: a.precision == 0}
	if a.hash != "" {
		o.ShowHash, o.HashTypes = true, []string{a.hash}
	}
	return o
}
