package engine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/state"
)

// A model computes the result that a sync must have at a destination. It follows the documentation
// and shares no code with the engine.
type model struct {
	objects map[string]object      // at the source, by key
	words   map[string]words       // metadata at the source, by key
	things  map[string]*thing      // at the destination, by ID, including the trash
	known   map[string]remembrance // uploaded objects, by key
	cursor  sources.Key            // the last asset of the check for drift
	unread  time.Time              // when all unreadable objects without an asset were first listed; zero if there are none
}

// An object is one at the source.
type object struct {
	sources.Object
	content string
}

// words are the metadata of an object or an asset.
type words struct {
	Description string
	Tags        []string
}

// A spot is the place where users find an asset.
type spot struct{ Category, Folder, Name string }

// A thing is an asset.
type thing struct {
	Content string
	At      spot
	Words   words
	Trashed bool

	rewritten bool      // by users, since the last run that wrote it
	touched   bool      // by users, in any way
	modified  time.Time // when it was trashed
}

// A remembrance is the record of an uploaded object.
type remembrance struct {
	asset, content  string
	version         sources.Object // as it was listed
	left            spot
	said            words
	metadataPending bool      // its asset was created, and its metadata has not been written since
	missed          int       // the number of finished runs in a row without the object
	since           time.Time // the start of the first of these runs
}

// A round is a run with its rules and limits.
type round struct {
	rules migrate.Rules
	share float64 // the share of the assets that the run checks for drift
	limit safety.SafetyChecks
}

// A verdict is the decision about an object, with its reason.
type verdict struct {
	Action      state.Action
	Reason      migrate.Reason
	PreviousKey string
}

// An expected is the model's prediction of a run.
type expected struct {
	Items     map[string]verdict
	Unchanged int64
	Stopped   bool // nothing is trashed, because it would be too much
	Guarded   bool // a safety check stops the run before any change
	seeming   map[string]bool
	cursor    sources.Key
	begins    time.Time
	hidden    []string
	movedFrom map[string]bool
	failed    map[string]bool // because of an injected fault
	round     round
}

func newModel() *model {
	return &model{objects: map[string]object{}, words: map[string]words{}, things: map[string]*thing{}, known: map[string]remembrance{}}
}

// copied returns an independent copy of the model.
func (m *model) copied() *model {
	c := &model{maps.Clone(m.objects), maps.Clone(m.words), map[string]*thing{}, maps.Clone(m.known), m.cursor, m.unread}
	for id, t := range m.things {
		same := *t
		c.things[id] = &same
	}
	return c
}

// place returns where the asset of a key belongs.
func place(key string) spot {
	dir, name := path.Split(key)
	category := "Images"
	if e := path.Ext(name); e == ".txt" || e == ".bin" {
		category = "Texts"
	}
	return spot{category, strings.TrimSuffix(dir, "/"), name}
}

// foresee predicts a run that begins now without faults.
func (m *model) foresee(n round, begins time.Time) *expected {
	f := &expected{Items: map[string]verdict{}, seeming: map[string]bool{}, movedFrom: map[string]bool{}, round: n, begins: begins}
	for key, o := range m.objects {
		if o.Obstacle.HidesObjects() {
			f.hidden = append(f.hidden, key)
		}
	}
	var created, deleted []string
	for _, key := range slices.Sorted(maps.Keys(m.objects)) {
		if m.listed(f, key) {
			created = append(created, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.known)) {
		_, there := m.objects[key]
		switch {
		case !there && !f.hides(key):
			deleted = append(deleted, key)
		case f.hides(key):
			f.Items[key] = verdict{Action: state.Skip, Reason: migrate.ReasonFolderNotRead}
		}
	}
	m.follow(f, created, deleted)
	m.bury(f, deleted)
	for key, v := range f.Items {
		f.Items[key] = m.regard(f, key, v)
	}
	m.lookAround(f)
	changes := int64(0)
	for _, v := range f.Items {
		if v.Action == state.Replace || v.Action == state.UpdateMetadata || v.Action == state.Move {
			changes++
		}
	}
	f.Guarded = changes > max(n.limit.MaxChanges, n.limit.AcceptChanges)
	return f
}

func (f *expected) hides(key string) bool {
	return slices.ContainsFunc(f.hidden, func(begin string) bool { return strings.HasPrefix(key, begin) })
}

// listed decides about an object at the source, and reports whether it is new.
func (m *model) listed(f *expected, key string) (isNew bool) {
	o, known := m.objects[key], m.known[key]
	sync := f.round.rules.Sync
	say := func(a state.Action, why migrate.Reason) { f.Items[key] = verdict{a, why, ""} }
	reported := m.reports(key, known.said)
	switch {
	case o.Obstacle != "":
		say(state.Skip, migrate.ReasonUnreadable)
	case known.asset == "":
		say(state.Create, migrate.ReasonNew)
		return true
	case o.content != known.content:
		say(state.Replace, migrate.ReasonContentChanged)
	case known.metadataPending:
		say(state.UpdateMetadata, migrate.ReasonMetadataMissing)
		f.seeming[key] = !sameVersion(o.Object, known.version)
	case reported:
		say(state.UpdateMetadata, migrate.ReasonMetadataChanged)
		f.seeming[key] = !sameVersion(o.Object, known.version)
	case !sameVersion(o.Object, known.version):
		say(state.Unchanged, migrate.ReasonOnlyVersionChanged)
		f.seeming[key] = true
	case sync.Checksum:
		say(state.Unchanged, migrate.ReasonUnchanged)
	default:
		f.Unchanged++
	}
	return false
}

func sameVersion(a, b sources.Object) bool {
	return a.Size == b.Size && a.Time.Equal(b.Time) && a.VersionTag == b.VersionTag
}

// reports reports whether the source has metadata of an object that it did not have before. Removed
// metadata does not count.
func (m *model) reports(key string, before words) bool {
	now := m.words[key]
	return now.Description != "" && now.Description != before.Description || len(now.Tags) > 0 && !slices.Equal(now.Tags, before.Tags)
}

// follow finds the objects that only have another key.
func (m *model) follow(f *expected, created, deleted []string) {
	byContent := map[string][2][]string{}
	for n, keys := range [][]string{deleted, created} {
		for _, key := range keys {
			content := m.known[key].content
			if n == 1 {
				content = m.objects[key].content
			}
			both := byContent[content]
			both[n] = append(both[n], key)
			byContent[content] = both
		}
	}
	for _, both := range byContent {
		m.pair(f, both[0], both[1])
	}
}

// pair matches deleted and created keys with identical content. It prefers the pairs whose keys
// have the longest common ends, as long as there is no other choice.
func (m *model) pair(f *expected, deleted, created []string) {
	for parts := 9; parts >= 0; parts-- {
		ends := map[string][2][]string{}
		for n, keys := range [][]string{deleted, created} {
			for _, key := range keys {
				names := strings.Split(key, "/")
				if len(names) < parts {
					continue
				}
				end := strings.Join(names[len(names)-parts:], "/")
				both := ends[end]
				both[n] = append(both[n], key)
				ends[end] = both
			}
		}
		for _, both := range ends {
			if len(both[0]) != 1 || len(both[1]) != 1 {
				continue
			}
			from, to := both[0][0], both[1][0]
			if f.Items[to] = (verdict{state.Create, migrate.ReasonCategoryFixed, ""}); place(from).Category == place(to).Category {
				f.Items[to] = verdict{state.Move, migrate.ReasonMoved, from}
				f.movedFrom[from] = true
			}
			deleted = slices.DeleteFunc(slices.Clone(deleted), func(k string) bool { return k == from })
			created = slices.DeleteFunc(slices.Clone(created), func(k string) bool { return k == to })
		}
	}
	if len(deleted) > 0 {
		for _, key := range created {
			f.Items[key] = verdict{state.Create, migrate.ReasonSeveralMoveCandidates, ""}
		}
	}
}

// bury decides about objects that are deleted at the source.
func (m *model) bury(f *expected, deleted []string) {
	r := f.round.rules.Sync
	deleted = slices.DeleteFunc(deleted, func(key string) bool { return f.movedFrom[key] })
	var due []string
	for _, key := range deleted {
		known := m.known[key]
		switch {
		case r.Delete != "trash":
			f.Items[key] = verdict{state.Skip, migrate.ReasonDeletedAtSource, ""}
		case known.missed == 0 || f.begins.Before(known.since.Add(r.GracePeriod)):
			f.Items[key] = verdict{state.Skip, migrate.ReasonGracePeriod, ""}
		case !m.unread.IsZero() && !known.since.Truncate(time.Millisecond).After(m.unread): // it may be one of the unreadable objects
			f.Items[key] = verdict{state.Skip, migrate.ReasonPossiblyMoved, ""}
		default:
			due = append(due, key)
		}
	}
	g, n := f.round.limit, int64(len(due))
	tooLargeAPart := float64(100*n) > g.MaxDeletePercent*float64(len(m.known)) && (n > 5 || n > int64(len(m.known))/2)
	f.Stopped = n > g.AcceptDeletes && (n > g.MaxDelete || tooLargeAPart)
	for _, key := range due {
		f.Items[key] = verdict{state.Trash, migrate.ReasonGracePeriodOver, ""}
		if f.Stopped {
			f.Items[key] = verdict{state.Skip, migrate.ReasonTooManyDeletes, ""}
		}
	}
}

// A standing is what users did with an asset.
type standing int

const (
	asLeft standing = iota
	deleted
	movedThere
	rewritten
)

func (m *model) standing(known remembrance, toTrash bool) standing {
	t := m.things[known.asset]
	switch {
	case t.Trashed:
		return deleted
	case t.At != known.left:
		return movedThere
	case t.rewritten, toTrash && (t.touched || t.Words.Description != "" && t.Words.Description != known.said.Description):
		return rewritten
	}
	return asLeft
}

// regard adjusts a decision to what users did with the asset.
func (m *model) regard(f *expected, key string, v verdict) verdict {
	known := m.known[cmp.Or(v.PreviousKey, key)]
	if known.asset == "" || v.Action == state.Skip || v.Action == state.Unchanged {
		return v
	}
	sync := f.round.rules.Sync
	wins := sync.OnDestinationChange == "overwrite"
	s := m.standing(known, v.Action == state.Trash)
	switch {
	case s != deleted && v.Action == state.UpdateMetadata && sync.OnDestinationChange == "report" && m.differ(key):
		v.Reason, v.Action = migrate.ReasonAssetMetadataEdited, state.Conflict
		delete(f.seeming, key)
	case s == asLeft:
	case s == deleted && v.Action == state.Trash:
		v.Reason = migrate.ReasonDeletedAtBoth
	case s == deleted:
		return m.stayDeleted(f, cmp.Or(v.PreviousKey, key), v)
	case wins || v.Action == state.UpdateMetadata || s == rewritten && v.Action == state.Move:
	case s == movedThere:
		v.Action, v.Reason = state.Conflict, migrate.ReasonAssetMoved
	case s == rewritten:
		v.Action, v.Reason = state.Conflict, migrate.ReasonAssetEdited
	}
	return v
}

// differ reports whether the source and the users have both changed the metadata of an object, in
// different ways.
func (m *model) differ(key string) bool {
	known, now := m.known[key], m.words[key].Description
	there := m.things[known.asset].Words.Description
	return now != "" && now != there && now != known.said.Description && there != known.said.Description
}

func (m *model) stayDeleted(f *expected, previousKey string, v verdict) verdict {
	if f.round.rules.Sync.Repair {
		return verdict{state.Create, migrate.ReasonAssetDeletedCreated, previousKey}
	}
	return verdict{state.Skip, migrate.ReasonAssetDeleted, v.PreviousKey}
}

// lookAround checks the next few assets for drift.
func (m *model) lookAround(f *expected) {
	share := f.round.share
	if f.round.rules.Sync.Repair {
		share = 1
	}
	keys := slices.Sorted(maps.Keys(m.known))
	n := int(math.Ceil(float64(len(keys)) * share))
	f.cursor = m.cursor
	if n == 0 {
		return
	}
	first := slices.IndexFunc(keys, func(key string) bool { return key > string(m.cursor) })
	if first < 0 {
		first = 0
	}
	for i := range n {
		f.cursor = sources.Key(keys[(first+i)%len(keys)])
		m.driftsOff(f, string(f.cursor))
	}
}

func (m *model) driftsOff(f *expected, key string) {
	v, has := f.Items[key]
	if has && v.Action != state.Unchanged || f.movedFrom[key] || f.hides(key) {
		return
	}
	wins := f.round.rules.Sync.OnDestinationChange == "overwrite"
	switch m.standing(m.known[key], false) {
	case asLeft:
		return
	case deleted:
		v = m.stayDeleted(f, key, verdict{})
	case movedThere:
		v = verdict{state.Conflict, migrate.ReasonAssetMoved, ""}
		if wins {
			v = verdict{state.Move, migrate.ReasonAssetMovedReverted, key}
		}
	case rewritten:
		v = verdict{state.Conflict, migrate.ReasonAssetEdited, ""}
		if wins {
			v = verdict{state.Replace, migrate.ReasonAssetEditedReverted, ""}
		}
	}
	if !has {
		f.Unchanged--
	}
	f.Items[key] = v
	delete(f.seeming, key)
}

// carryOut changes the destination of the model as the run does. The function assetOf returns the
// IDs of new assets.
func (m *model) carryOut(f *expected, assetOf func(key string) string) {
	policy := f.round.rules.Sync.OnDestinationChange
	for _, key := range slices.Sorted(maps.Keys(f.Items)) {
		v := f.Items[key]
		if f.failed[key] {
			continue
		}
		o, known := m.objects[key], m.known[cmp.Or(v.PreviousKey, key)]
		t := m.things[known.asset]
		switch v.Action {
		case state.Create:
			if v.PreviousKey != "" {
				delete(m.known, v.PreviousKey)
			}
			t = &thing{Content: o.content, At: place(key)}
			known = remembrance{asset: assetOf(key), content: o.content, version: o.Object, left: t.At}
			known.said = t.merge(words{}, m.words[key], policy)
			m.things[known.asset], m.known[key] = t, known
		case state.Replace:
			t.Content, t.rewritten, t.touched = o.content, false, false
			known.content, known.version, known.metadataPending = o.content, o.Object, false
			known.said = t.merge(known.said, m.words[key], policy)
			m.known[key] = known
		case state.UpdateMetadata:
			known.said, known.metadataPending = t.merge(known.said, m.words[key], policy), false
			m.known[key] = known
		case state.Move:
			delete(m.known, v.PreviousKey)
			if known.metadataPending || m.reports(key, known.said) {
				known.metadataPending = false
				known.said = t.merge(known.said, m.words[key], policy)
			}
			t.At = place(key)
			known.left, known.version = t.At, o.Object
			m.known[key] = known
		case state.Trash:
			t.Trashed = true
			delete(m.known, key)
		}
	}
	for key := range f.seeming {
		known := m.known[key]
		known.version = m.objects[key].Object
		m.known[key] = known
	}
	m.miss(f)
	m.cursor = f.cursor
}

// miss counts the runs that missed an object, if the source was readable.
func (m *model) miss(f *expected) {
	for key, known := range m.known {
		_, there := m.objects[key]
		_, noted := f.Items[key]
		switch {
		case there || !noted || f.hides(key): // it may be in an unreadable folder
			known.missed = 0
		case known.missed == 0:
			known.missed, known.since = 1, f.begins
		default:
			known.missed++
		}
		m.known[key] = known
	}
}

// merge combines the former and present metadata of the source with the users' edits, and returns
// what the run has written from the source so far.
func (t *thing) merge(before, now words, policy string) words {
	after := before
	open := false
	if d := now.Description; d != "" {
		after.Description = d
		switch there := t.Words.Description; {
		case d == there:
		case there == before.Description || policy == "overwrite":
			t.Words.Description = d
		case d != before.Description && policy == "report":
			open = true
		}
	}
	if len(now.Tags) > 0 {
		after.Tags = now.Tags
	}
	for _, tag := range now.Tags {
		if !slices.Contains(t.Words.Tags, tag) && (policy == "overwrite" || !slices.Contains(before.Tags, tag)) {
			t.Words.Tags = append(slices.Clone(t.Words.Tags), tag)
		}
	}
	slices.Sort(t.Words.Tags)
	if open {
		return before
	}
	return after
}

// AsksForChecksums makes the model a describer.
func (*model) AsksForChecksums() bool { return false }

func (m *model) Describe(o metadata.Identity) (metadata.Fields, bool, error) {
	w := m.words[o.Key]
	f := asFields(metadata.Metadata{Description: w.Description, Tags: w.Tags})
	return f, f != nil, nil
}

// count returns how many objects have one of some actions.
func (f *expected) count(actions ...state.Action) (n int) {
	for _, v := range f.Items {
		if slices.Contains(actions, v.Action) {
			n++
		}
	}
	return n
}

// report returns the items as lines by key.
func (f *expected) report() map[string]string {
	lines := map[string]string{}
	for key, v := range f.Items {
		lines[key] = line(v.Action, string(v.Reason), v.PreviousKey, stateOf(v))
	}
	return lines
}

func stateOf(v verdict) state.ItemState {
	switch {
	case v.Reason == migrate.ReasonUnreadable:
		return state.ItemFailed
	case v.Action == state.Conflict:
		return state.ItemConflict
	case v.Action == state.Skip || v.Action == state.Unchanged:
		return state.ItemSkipped
	}
	return state.ItemDone
}

func line(a state.Action, why, previousKey string, s state.ItemState) string {
	text := fmt.Sprintf("%s %s (%s)", a, s, why)
	if previousKey != "" {
		text += " from " + previousKey
	}
	return text
}
