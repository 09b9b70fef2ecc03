// Package s3test completes the S3 server of the tests: its lists of versions have no order and no
// pages.
package s3test

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// WithVersions has requests for lists of versions answered as S3 does, a page at a time; next gets all
// others.
func WithVersions(backend *s3mem.Backend, bucket string, page int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.Method != http.MethodGet || !query.Has("versions") {
			next.ServeHTTP(w, r)
			return
		}
		all, err := versions(backend, bucket)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, all, query, page)
	})
}

type version struct {
	Key, VersionID string
	IsLatest       bool
	LastModified   string
	ETag           string `xml:",omitempty"`
	Size           int64
	StorageClass   string `xml:",omitempty"`
	deleted        bool
}

func (v version) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	type plain struct {
		Key          string
		VersionID    string `xml:"VersionId"`
		IsLatest     bool
		LastModified string
		ETag         string
		Size         int64
		StorageClass string
	}
	name := "Version"
	if v.deleted {
		name = "DeleteMarker"
	}
	return e.EncodeElement(plain{url.QueryEscape(v.Key), v.VersionID, v.IsLatest, v.LastModified, v.ETag, v.Size, v.StorageClass}, xml.StartElement{Name: xml.Name{Local: name}})
}

// versions returns all versions in the order of S3: by key, and the newest first. Their IDs ascend.
func versions(backend *s3mem.Backend, bucket string) (all []version, err error) {
	found, err := backend.ListBucketVersions(bucket, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, item := range found.Versions {
		switch v := item.(type) {
		case *gofakes3.Version:
			all = append(all, version{Key: v.Key, VersionID: cmp.Or(string(v.VersionID), "null"), IsLatest: v.IsLatest, LastModified: v.LastModified.Format(time.RFC3339), ETag: v.ETag, Size: v.Size})
		case *gofakes3.DeleteMarker:
			all = append(all, version{Key: v.Key, VersionID: cmp.Or(string(v.VersionID), "null"), IsLatest: v.IsLatest, LastModified: v.LastModified.Format(time.RFC3339), deleted: true})
		}
	}
	slices.SortFunc(all, func(a, b version) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(b.VersionID, a.VersionID))
	})
	return all, nil
}

func answer(w http.ResponseWriter, all []version, query url.Values, page int) {
	prefix, key, id := query.Get("prefix"), query.Get("key-marker"), query.Get("version-id-marker")
	if n, err := strconv.Atoi(query.Get("max-keys")); err == nil {
		page = min(page, n)
	}
	type result struct {
		XMLName                            xml.Name `xml:"ListVersionsResult"`
		Name, Prefix, KeyMarker            string
		EncodingType                       string
		IsTruncated                        bool
		NextKeyMarker, NextVersionIDMarker string
		Versions                           []version
	}
	out := result{Prefix: url.QueryEscape(prefix), KeyMarker: url.QueryEscape(key), EncodingType: "url"}
	for _, v := range all {
		passed := v.Key < key || v.Key == key && (id == "" || v.VersionID >= id)
		if !strings.HasPrefix(v.Key, prefix) || passed && key != "" {
			continue
		}
		if len(out.Versions) == page {
			last := out.Versions[page-1]
			out.IsTruncated, out.NextKeyMarker, out.NextVersionIDMarker = true, url.QueryEscape(last.Key), last.VersionID
			break
		}
		out.Versions = append(out.Versions, v)
	}
	w.Header().Set("Content-Type", "application/xml")
	text, err := xml.Marshal(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text = []byte(strings.ReplaceAll(string(text), "NextVersionIDMarker", "NextVersionIdMarker"))
	_, _ = w.Write(text)
}
