package rendition

import (
	linked "container/list"
	"sync"
)

// recentBytes is a cache with a limit in bytes.
type recentBytes[K comparable] struct {
	limit int

	mu    sync.Mutex
	size  int
	order *linked.List // of *keptBytes[K], most recently used first
	byKey map[K]*linked.Element
}

type keptBytes[K comparable] struct {
	key   K
	bytes []byte
}

func newRecentBytes[K comparable](limit int) *recentBytes[K] {
	return &recentBytes[K]{limit: limit, order: linked.New(), byKey: make(map[K]*linked.Element)}
}

func (r *recentBytes[K]) get(key K) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.byKey[key]
	if !ok {
		return nil, false
	}
	r.order.MoveToFront(e)
	return e.Value.(*keptBytes[K]).bytes, true
}

// put stores bytes and removes the least recently used ones. Bytes larger than the limit are
// not stored.
func (r *recentBytes[K]) put(key K, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.byKey[key]; there || len(b) > r.limit {
		return
	}
	r.byKey[key] = r.order.PushFront(&keptBytes[K]{key, b})
	r.size += len(b)
	for r.size > r.limit {
		oldest := r.order.Remove(r.order.Back()).(*keptBytes[K])
		delete(r.byKey, oldest.key)
		r.size -= len(oldest.bytes)
	}
}
