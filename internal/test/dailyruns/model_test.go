//go:build unix

package dailyruns_test

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"time"
)

// An asset is one at the destination, as it is or as it must be.
type asset struct {
	id      string // empty until the test has asked the service
	place   string // category, folders and name
	content string
	metadata
	revisions int  // the number of its contents, present and former
	edited    bool // a user changed it after the tool did
	trashed   bool
}

// A memory is the tool's record of an uploaded object.
type memory struct {
	asset   *asset
	content string    // as uploaded
	time    time.Time // of the object at its upload
	place   string    // where its asset was uploaded
	said    metadata  // the source's metadata at the last metadata update
	deleted time.Time // when a finished run first missed it; zero if it is at the source
}

// A model predicts the result of a sync from its documentation.
type model struct {
	library *library
	assets  []*asset
	known   map[string]*memory
	seen    string // the last object of the check for drift
}

// A fate is the outcome of an object, with the code of its reason, as reports list them.
type fate struct{ action, state, why string }

// A policy is the set of flags of a run.
type policy struct {
	now       time.Time
	trash     bool // --delete trash
	percent   int  // --max-delete-percent
	look      int  // --drift-share: one in so many; 0: the default of the test
	repair    bool // --repair
	overwrite bool // --on-destination-change overwrite
}

const (
	gracePeriod = 20 * time.Hour
	share       = 30
	percent     = 1
)

// placeOf returns the place of an object's asset.
func placeOf(key string) string {
	switch path.Ext(key) {
	case ".jpg", ".png":
		return "Images/" + key
	}
	return "Documents/" + key
}

// of returns the asset of an object.
func (m *model) of(key string) *asset { return m.known[key].asset }

// clone returns an independent copy of the model. The source is shared.
func (m *model) clone() *model {
	c := &model{library: m.library, known: map[string]*memory{}, seen: m.seen}
	same := map[*asset]*asset{}
	copied := func(a *asset) *asset {
		if same[a] == nil {
			b := *a
			same[a] = &b
		}
		return same[a]
	}
	for _, a := range m.assets {
		c.assets = append(c.assets, copied(a))
	}
	for key, known := range m.known {
		k := *known
		k.asset = copied(known.asset)
		c.known[key] = &k
	}
	return c
}

// A day is the prediction of a sync, object by object.
type day struct {
	*model
	policy
	fates     map[string]fate
	unchanged int
	guarded   bool // a safety check prevented some trashing
}

// sync applies a sync to the model, and returns the outcome of each object with an item.
func (m *model) sync(p policy) *day {
	p.look, p.percent = cmp.Or(p.look, share), cmp.Or(p.percent, percent)
	n := &day{model: m, policy: p, fates: map[string]fate{}}
	looked := n.looked()
	moved, torn := n.moves()
	for _, key := range m.library.keys() {
		switch o, known := m.library.objects[key], m.known[key]; {
		case o.hidden && known != nil:
			n.fates[key] = fate{"skip", "skipped", "folder_not_read"}
		case o.hidden:
		case o.closed && known == nil:
			n.fates[key] = fate{"create", "failed", "new"}
		case o.closed && !o.time.Equal(known.time): // otherwise the tool does not open it
			n.fates[key] = fate{"replace", "failed", "content_changed"}
		case known != nil:
			n.follow(key, o, known, looked[key])
		case moved[key] != "":
			n.move(key, moved[key])
		default:
			n.create(key, o)
			if torn[key] {
				n.fates[key] = fate{"create", "created", "several_move_candidates"}
			}
		}
	}
	if m.library.hidden != "" {
		n.fates[m.library.hidden] = fate{"skip", "failed", "unreadable"}
	}
	n.orphans()
	return n
}

// looked returns the objects whose assets this run checks for drift, in addition to its other work:
// a share of them in each run, in the order of their keys.
func (n *day) looked() map[string]bool {
	keys := slices.Sorted(maps.Keys(n.known))
	left := (len(keys) + n.look - 1) / n.look
	from, _ := slices.BinarySearch(keys, n.seen+"\x00")
	looked := map[string]bool{}
	for _, key := range slices.Concat(keys[from:], keys[:from])[:left] {
		looked[key] = true
		n.seen = key
	}
	return looked
}

// deleted returns the objects that are deleted at the source.
func (n *day) deleted() (keys []string) {
	for key := range n.known {
		if n.library.objects[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// moves matches new objects with deleted ones of identical content: first those with the same name,
// and then a single pair. If several remain, there is no match.
func (n *day) moves() (moved map[string]string, torn map[string]bool) {
	deleted, news := map[string][]string{}, map[string][]string{}
	for _, key := range n.deleted() {
		deleted[n.known[key].content] = append(deleted[n.known[key].content], key)
	}
	for key, o := range n.library.objects {
		if n.known[key] == nil && !o.closed && !o.hidden {
			news[o.content] = append(news[o.content], key)
		}
	}
	moved, torn = map[string]string{}, map[string]bool{}
	for content, to := range news {
		from := deleted[content]
		for _, key := range slices.Clone(to) {
			same := named(from, path.Base(key))
			if len(from) == 1 && len(to) == 1 {
				same = from
			}
			if len(same) == 1 && len(named(to, path.Base(key))) == 1 {
				moved[key] = same[0]
				from, to = without(from, same[0]), without(to, key)
			}
		}
		for _, key := range to {
			torn[key] = len(from) > 0
		}
	}
	return moved, torn
}

func named(keys []string, name string) (all []string) {
	for _, key := range keys {
		if path.Base(key) == name {
			all = append(all, key)
		}
	}
	return all
}

func without(keys []string, key string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == key })
}

func (n *day) create(key string, o *object) {
	a := &asset{place: placeOf(key), content: o.content, metadata: o.said, revisions: 1}
	n.assets = append(n.assets, a)
	n.known[key] = &memory{asset: a, content: o.content, time: o.time, place: a.place, said: o.said}
	n.fates[key] = fate{"create", "created", "new"}
}

func (n *day) move(key, from string) {
	known := n.known[from]
	if a := known.asset; n.isDeleted(a) || a.place != known.place {
		n.stop(key, known)
		return
	}
	delete(n.known, from)
	n.known[key] = known
	known.asset.place, known.place, known.time, known.deleted = placeOf(key), placeOf(key), n.library.objects[key].time, time.Time{}
	n.fates[key] = fate{"move", "moved", "moved"}
}

func (m *model) isDeleted(a *asset) bool { return a.trashed || !slices.Contains(m.assets, a) }

func (k *memory) isMoved() bool { return k.asset.place != k.place }

func (k *memory) isRetouched() bool { return k.asset.content != k.content }

// isTheirs reports whether users changed an asset in a way that the tool must not overwrite.
func (m *model) isTheirs(known *memory) bool {
	return m.isDeleted(known.asset) || known.isMoved() || known.isRetouched()
}

// stop decides about an asset that users changed.
func (n *day) stop(key string, known *memory) {
	switch {
	case n.isDeleted(known.asset):
		n.fates[key] = fate{"skip", "skipped", "asset_deleted"}
	case known.isMoved():
		n.fates[key] = fate{"conflict", "conflict", "asset_moved"}
	default:
		n.fates[key] = fate{"conflict", "conflict", "asset_edited"}
	}
}

// follow decides about an object with an asset.
func (n *day) follow(key string, o *object, known *memory, looked bool) {
	known.deleted = time.Time{}
	news := o.said.over(known.said)
	changed, redescribed := o.content != known.content, !news.equal(known.said)
	switch asked := changed || redescribed || looked; {
	case asked && n.isDeleted(known.asset) && n.repair:
		n.create(key, o)
		n.fates[key] = fate{"create", "created", "asset_deleted_created"}
		return
	case asked && n.isDeleted(known.asset), (changed || looked) && n.isTheirs(known) && !n.overwrite:
		n.stop(key, known)
		return
	case changed:
		n.refill(o, known)
		n.fates[key] = fate{"replace", "replaced", "content_changed"}
	case redescribed:
		n.fates[key] = fate{"update_metadata", "metadata_updated", "metadata_changed"}
	case looked && known.isMoved():
		known.asset.place, known.asset.edited = known.place, false
		n.fates[key] = fate{"move", "moved", "asset_moved_reverted"}
	case looked && known.isRetouched():
		n.refill(o, known)
		n.fates[key] = fate{"replace", "replaced", "asset_edited_reverted"}
	default:
		n.unchanged++
	}
	if merged := n.merge(known.said, o.said, known.asset.metadata); changed || redescribed && !merged.equal(known.asset.metadata) {
		known.asset.metadata, known.asset.edited = merged, false
	}
	known.content, known.time, known.said = o.content, o.time, news
}

// refill gives an asset the content of its object. The former content is kept as a revision.
func (n *day) refill(o *object, known *memory) {
	known.asset.content, known.asset.revisions, known.asset.edited = o.content, known.asset.revisions+1, false
}

// over returns the metadata m, with the values of before where m has none.
func (m metadata) over(before metadata) metadata {
	if m.text != "" {
		before.text = m.text
	}
	if len(m.tags) > 0 {
		before.tags = m.tags
	}
	return before
}

// merge returns the metadata that an asset must have. The text of the source wins unless users
// changed it; tags are combined, except those that users removed; nothing is erased.
func (n *day) merge(before, said, is metadata) metadata {
	if said.text != "" && (is.text == before.text || n.overwrite) {
		is.text = said.text
	}
	is.tags = slices.Clone(is.tags)
	for _, t := range said.tags {
		if !slices.Contains(is.tags, t) && (n.overwrite || !slices.Contains(before.tags, t)) {
			is.tags = append(is.tags, t)
		}
	}
	slices.Sort(is.tags)
	return is
}

// orphans decides about deleted objects: their assets stay, or are trashed once a previous run has
// missed the object and the grace period is over. Assets that users changed meanwhile stay.
func (n *day) orphans() {
	stays := "deleted_at_source"
	if n.trash {
		stays = "grace_period"
	}
	known, deleted := len(n.known), n.deleted()
	var due []string
	for _, key := range deleted {
		n.fates[key] = fate{"skip", "skipped", stays}
		if since := &n.known[key].deleted; since.IsZero() {
			*since = n.now
		} else if n.trash && n.now.Sub(*since) >= gracePeriod {
			due = append(due, key)
		}
	}
	if n.guarded = len(due)*100 > n.percent*known; n.guarded {
		for _, key := range due {
			n.fates[key] = fate{"skip", "skipped", "too_many_deletes"}
		}
		return
	}
	for _, key := range due {
		n.discard(key, n.known[key])
	}
}

// discard trashes the asset of a deleted object.
func (n *day) discard(key string, known *memory) {
	switch deleted := n.isDeleted(known.asset); {
	case !deleted && (known.asset.edited || n.isTheirs(known)):
		n.stop(key, known)
		return
	case deleted:
		n.fates[key] = fate{"trash", "trashed", "deleted_at_both"}
	default:
		n.fates[key] = fate{"trash", "trashed", "grace_period_over"}
	}
	known.asset.trashed = true
	delete(n.known, key)
}

// goOn makes a run resume an unfinished one. An outcome of the unfinished run counts if the
// prediction has the same one.
func (n *day) goOn(left *day, said map[string]fate) {
	for key, was := range left.fates {
		if was != said[key] {
			continue
		}
		if _, also := n.fates[key]; !also {
			n.unchanged--
		}
		n.fates[key] = was
	}
}

// exit returns the exit code of the run.
func (n *day) exit() int {
	if n.guarded {
		return 6
	}
	for _, f := range n.fates {
		if f.state == "failed" || f.state == "conflict" {
			return 3
		}
	}
	return 0
}

// reported counts the outcomes by the word that reports use for them.
func (n *day) reported() map[string]int {
	counts := map[string]int{}
	for _, f := range n.fates {
		counts[f.state]++
	}
	if n.unchanged > 0 {
		counts["unchanged"] += n.unchanged
	}
	return counts
}
