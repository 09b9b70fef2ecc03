package rendition

import (
	linked "container/list"
	"sync"
)

// recentBytes keep what was made last, up to a number of bytes.
type recentBytes[K comparable] struct {
	limit int

	mu    sync.Mutex
	size  int
	order *linked.List // of *keptBytes[K], the one used last in front
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

// put keeps bytes, and lets go of those that were not used for longest. What is
// larger than the limit is not kept at all.
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
