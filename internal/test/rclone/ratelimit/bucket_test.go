//go:build rclone

package ratelimit

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A bucket is the part of the JSON API of Google Cloud Storage that reads one.
type bucket struct {
	name    string
	objects []object
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all := "/storage/v1/b/" + b.name + "/o"
	name, isContent := strings.CutPrefix(r.URL.Path, "/download"+all+"/")
	if !isContent {
		name = strings.TrimPrefix(r.URL.Path, all+"/")
	}
	switch o := b.find(name); {
	case r.URL.Path == all:
		b.list(w, r)
	case o == nil:
		refuse(w, http.StatusNotFound, "notFound", "No such object: "+name)
	case isContent || r.URL.Query().Get("alt") == "media":
		http.ServeContent(w, r, "", uploaded, strings.NewReader(o.content))
	default:
		answer(w, b.describe(r.Host, o))
	}
}

func (b *bucket) find(name string) *object {
	for n := range b.objects {
		if b.objects[n].name == name {
			return &b.objects[n]
		}
	}
	return nil
}

func (b *bucket) list(w http.ResponseWriter, r *http.Request) {
	prefix, delimiter := r.URL.Query().Get("prefix"), r.URL.Query().Get("delimiter")
	var items []any
	var prefixes []string
	for n := range b.objects {
		rest, below := strings.CutPrefix(b.objects[n].name, prefix)
		folder, _, inFolder := strings.Cut(rest, "/")
		switch {
		case !below:
		case delimiter != "" && inFolder:
			prefixes = append(prefixes, prefix+folder+"/")
		default:
			items = append(items, b.describe(r.Host, &b.objects[n]))
		}
	}
	answer(w, map[string]any{"kind": "storage#objects", "items": items, "prefixes": slices.Compact(prefixes)})
}

// describe returns the metadata of an object.
func (b *bucket) describe(host string, o *object) map[string]any {
	return map[string]any{
		"kind": "storage#object", "bucket": b.name, "name": o.name, "size": strconv.Itoa(len(o.content)), "contentType": "text/plain",
		"md5Hash": base64.StdEncoding.EncodeToString(o.sum[:]), "updated": uploaded, "timeCreated": uploaded,
		"mediaLink": "http://" + host + "/download/storage/v1/b/" + b.name + "/o/" + url.PathEscape(o.name) + "?alt=media",
	}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client may have closed the connection
}
