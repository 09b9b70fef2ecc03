package wordpress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	api "assetferry/internal/wordpress"
	"assetferry/sources"
	"assetferry/sources/keyindex"
)

// keys gives entries their keys. The names of posts are requested for many entries at once.
type keys struct {
	source  *Source
	pending []entry
	folders map[int64]string // by the ID of a post
	routes  []string         // of the types of posts; nil until they were requested
}

func keysOf(s *Source) *keys {
	return &keys{source: s, folders: map[int64]string{0: "unattached"}}
}

// maxPending is the number of entries whose posts are requested at once.
const maxPending = 100

// add adds the record of an entry.
func (k *keys) add(ctx context.Context, e entry, add func(keyindex.Record) error) error {
	if k.source.folders != ByPost {
		return record(e, e.uploadPath(), add)
	}
	if k.pending = append(k.pending, e); len(k.pending) < maxPending {
		return nil
	}
	return k.flush(ctx, add)
}

// flush adds the records of all pending entries.
func (k *keys) flush(ctx context.Context, add func(keyindex.Record) error) error {
	if err := k.request(ctx); err != nil {
		return err
	}
	for _, e := range k.pending {
		if err := record(e, k.folders[e.Post]+"/"+path.Base(e.uploadPath()), add); err != nil {
			return err
		}
	}
	k.pending = k.pending[:0]
	return nil
}

// record adds an entry with a key. An entry without a file has the key of its ID.
func record(e entry, key string, add func(keyindex.Record) error) error {
	if e.SourceURL == "" {
		key = fmt.Sprintf("without file/%d", e.ID)
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return add(keyindex.Record{Key: sources.Key(key), Data: string(data)})
}

// request requests the folders of the posts that pending entries belong to.
func (k *keys) request(ctx context.Context) error {
	var missing []string
	for _, e := range k.pending {
		if _, ok := k.folders[e.Post]; !ok {
			k.folders[e.Post] = fmt.Sprintf("other/%d", e.Post)
			missing = append(missing, strconv.FormatInt(e.Post, 10))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	routes, err := k.postRoutes(ctx)
	if err != nil {
		return err
	}
	for _, route := range routes {
		if err := k.requestFrom(ctx, route, missing); err != nil {
			return err
		}
	}
	return nil
}

// hidden are the answers for a type that the account may not see. The password was checked before.
var hidden = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}

func (k *keys) requestFrom(ctx context.Context, route string, ids []string) error {
	query := url.Values{"include": {strings.Join(ids, ",")}, "per_page": {"100"}, "_fields": {"id,slug,type"}}
	if k.source.client.HasPassword() {
		query.Set("context", "edit")
		query.Set("status", "any")
	}
	var posts []struct {
		ID   int64  `json:"id"`
		Slug string `json:"slug"`
		Type string `json:"type"`
	}
	err := k.source.client.Get(ctx, route, query, &posts)
	if e, ok := errors.AsType[*api.Error](err); ok && slices.Contains(hidden, e.Status()) {
		return nil
	}
	for _, p := range posts {
		name := strings.ReplaceAll(unescaped(p.Slug), "/", "-")
		if name == "" || name == "." || name == ".." { // a draft has no name yet
			name = strconv.FormatInt(p.ID, 10)
		}
		k.folders[p.ID] = p.Type + "/" + name
	}
	return err
}

// postRoutes returns the routes of all types of posts.
func (k *keys) postRoutes(ctx context.Context) ([]string, error) {
	if k.routes != nil {
		return k.routes, nil
	}
	var types map[string]struct {
		Base      string `json:"rest_base"`
		Namespace string `json:"rest_namespace"`
	}
	if err := k.source.client.Get(ctx, "/wp/v2/types", nil, &types); err != nil {
		return nil, err
	}
	for name, t := range types {
		if name == "attachment" || strings.HasPrefix(name, "wp_") || t.Base == "" || strings.Contains(t.Base, "(") {
			continue
		}
		if t.Namespace == "" { // before WordPress 5.9
			t.Namespace = "wp/v2"
		}
		k.routes = append(k.routes, "/"+t.Namespace+"/"+t.Base)
	}
	slices.Sort(k.routes)
	return k.routes, nil
}
