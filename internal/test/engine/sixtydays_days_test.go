package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/sources"
)

// A life is a library, its destination, and all who work with them, day by day.
type life struct {
	*world
	*rand.Rand
	model    *model
	contents map[string]string // all contents that ever were, by checksum
	left     *unfinished       // run, if there is one
	people   map[string]string // the users' folders, by category
	fresh    int               // a counter for unique names and contents
	script   []string          // all events, to analyse a failure
}

// An unfinished run must be resumed.
type unfinished struct {
	round round
	model *model // when the run began
}

const alwaysThere = "sentinel.txt"

func (l *life) notes(format string, args ...any) {
	l.script = append(l.script, fmt.Sprintf(format, args...))
}

func (l *life) chance(percent int) bool { return l.IntN(100) < percent }

func pick[T any](l *life, from []T) T { return from[l.IntN(len(from))] }

// content returns a content that no object or asset has.
func (l *life) content(key string) string {
	l.fresh++
	text := fmt.Sprintf("%d%s", l.fresh, strings.Repeat("x", l.IntN(40)))
	switch path.Ext(key) {
	case ".jpg":
		return "\xff\xd8\xff\xe0" + text
	case ".png":
		return "\x89PNG\r\n\x1a\n" + text
	}
	return text
}

// newKey returns a new key that is not in use.
func (l *life) newKey() string {
	for {
		key := pick(l, []string{"", "", "a/", "a/x/", "b/", "c/"}) + fmt.Sprintf("n%02d", l.IntN(60)) + pick(l, []string{".jpg", ".jpg", ".png", ".txt", ".bin"})
		if _, taken := l.model.objects[key]; !taken && !l.isHidden(key) {
			return key
		}
	}
}

func (l *life) isHidden(key string) bool {
	for k, o := range l.model.objects {
		if o.Obstacle.HidesObjects() && strings.HasPrefix(key, k) {
			return true
		}
	}
	return false
}

// keys returns the keys of readable objects.
func (l *life) keys() []string {
	var keys []string
	for key, o := range l.model.objects {
		if o.Obstacle == "" && key != alwaysThere {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (l *life) putObject(key, content string, o sources.Object) {
	o.Key, o.VersionTag = sources.Key(key), ""
	l.contents[checksum(content)] = content
	l.model.objects[key] = object{l.source.PutObject(o, []byte(content)), content}
}

func (l *life) remove(key string) {
	l.source.Delete(sources.Key(key))
	delete(l.model.objects, key)
}

// rename gives an object another key, and in most cases renames its sidecar too.
func (l *life) rename(from, to string) {
	o := l.model.objects[from]
	l.remove(from)
	l.putObject(to, o.content, sources.Object{Time: o.Time})
	if w, said := l.model.words[from]; said && l.chance(70) {
		l.model.words[to] = w
		delete(l.model.words, from)
	}
	l.notes("  source: rename %s to %s", from, to)
}

// day makes random changes to the source.
func (l *life) day() {
	for range l.IntN(6) {
		l.atSource()
	}
}

func (l *life) atSource() {
	keys := l.keys()
	if len(keys) < 8 || l.chance(25) && len(keys) < 45 {
		key := l.newKey()
		content := l.content(key)
		if len(keys) > 0 && l.chance(25) {
			content = l.model.objects[pick(l, keys)].content
		}
		l.putObject(key, content, sources.Object{})
		l.describe(key)
		l.notes("  source: add %s %.12q", key, content)
		return
	}
	key := pick(l, keys)
	o := l.model.objects[key]
	switch l.IntN(13) {
	case 0:
		l.putObject(key, l.content(key), sources.Object{})
		l.notes("  source: change %s", key)
	case 1:
		same := []byte(o.content)
		same[len(same)-1] ^= 3
		l.putObject(key, string(same), sources.Object{})
		l.notes("  source: change %s, size kept", key)
	case 2:
		l.putObject(key, o.content, sources.Object{})
		l.notes("  source: touch %s", key)
	case 3, 4:
		l.rename(key, l.newKey())
	case 5:
		l.renameFolder()
	case 6:
		other := pick(l, keys)
		l.putObject(key, l.model.objects[other].content, sources.Object{})
		l.putObject(other, o.content, sources.Object{})
		l.notes("  source: swap %s and %s", key, other)
	case 7, 8:
		l.remove(key)
		l.notes("  source: remove %s", key)
	case 9:
		l.bringBack()
	case 10, 11:
		l.describe(key)
	case 12:
		l.obstruct(key)
	}
}

// renameFolder renames a folder with all its objects.
func (l *life) renameFolder() {
	from := pick(l, []string{"a/", "a/x/", "b/", "c/", "d/"})
	to := pick(l, []string{"b/", "c/", "d/", "d/y/", "e/"})
	for _, key := range l.keys() {
		target := to + strings.TrimPrefix(key, from)
		if _, taken := l.model.objects[target]; strings.HasPrefix(key, from) && !taken && !l.isHidden(target) {
			l.rename(key, target)
		}
	}
}

// bringBack restores a deleted object, with its former content or another.
func (l *life) bringBack() {
	for _, key := range slices.Sorted(maps.Keys(l.model.known)) {
		if _, there := l.model.objects[key]; there || l.isHidden(key) || l.chance(50) {
			continue
		}
		content := l.model.known[key].content
		if l.chance(30) {
			content = l.content(key)
		}
		l.putObject(key, content, sources.Object{})
		l.notes("  source: bring back %s", key)
		return
	}
}

// describe changes the metadata of an object at the source, or removes it.
func (l *life) describe(key string) {
	w := l.model.words[key]
	switch l.IntN(4) {
	case 0:
		l.fresh++
		w.Description = fmt.Sprintf("by source %d", l.fresh)
	case 1:
		w.Tags = slices.Sorted(maps.Keys(map[string]bool{pick(l, tagsOfAll): true, pick(l, tagsOfAll): true}))
	case 2:
		w = words{}
	}
	l.model.words[key] = w
	l.notes("  source: %s is %q, %v", key, w.Description, w.Tags)
}

var tagsOfAll = []string{"t1", "t2", "t3", "t4", "t5"}

// obstruct makes an object, or a whole folder, unreadable.
func (l *life) obstruct(key string) {
	if dir, _ := path.Split(key); dir != "" && l.chance(40) {
		for k := range maps.Clone(l.model.objects) {
			if strings.HasPrefix(k, dir) {
				l.remove(k)
			}
		}
		l.model.objects[dir] = object{Object: l.source.PutObject(sources.Object{Key: sources.Key(dir), Obstacle: sources.UnreadableDirectory}, nil)}
		l.notes("  source: %s cannot be read", dir)
		return
	}
	l.model.objects[key] = object{Object: l.source.PutObject(sources.Object{Key: sources.Key(key), Obstacle: sources.Unreadable}, nil), content: l.model.objects[key].content}
	l.notes("  source: %s cannot be read", key)
}

// heal makes some unreadable objects readable again.
func (l *life) heal() {
	for _, key := range slices.Sorted(maps.Keys(l.model.objects)) {
		o := l.model.objects[key]
		switch {
		case o.Obstacle == "" || l.chance(40):
			continue
		case o.Obstacle == sources.Unreadable:
			l.putObject(key, o.content, sources.Object{})
		default: // the objects of the folder are restored, if they were ever uploaded
			l.remove(key)
			for _, k := range slices.Sorted(maps.Keys(l.model.known)) {
				if _, there := l.model.objects[k]; strings.HasPrefix(k, key) && !there {
					known := l.model.known[k]
					l.putObject(k, known.content, sources.Object{Time: known.version.Time})
				}
			}
		}
		l.notes("  source: %s can be read again", key)
	}
}

// visit makes random changes at the destination, as users do.
func (l *life) visit() {
	for range l.IntN(3) {
		if len(l.model.known) == 0 {
			return
		}
		l.atDestination()
	}
}

func (l *life) atDestination() {
	var ids []string
	for _, key := range slices.Sorted(maps.Keys(l.model.known)) { // sorted, so that a seed always picks the same of several equal assets
		ids = append(ids, l.model.known[key].asset)
	}
	slices.SortStableFunc(ids, func(a, b string) int { return strings.Compare(l.model.nameOf(a), l.model.nameOf(b)) })
	id := pick(l, ids)
	t := l.model.things[id]
	before := t.At
	if t.Trashed {
		l.restores(id, t)
		return
	}
	asset, err := l.other.Asset(l.Context(), id)
	must(l, err)
	l.fresh++
	switch l.IntN(7) {
	case 0:
		if to := (spot{t.At.Category, "by people", t.At.Name}); l.model.isFree(to) {
			must(l, l.other.Move(l.Context(), targetOf(l.people[t.At.Category]), transferOf(id)))
			t.At = to
		}
	case 1:
		name := fmt.Sprintf("by hand %d", l.fresh)
		_, err := l.other.Update(l.Context(), id, changesOf(name))
		must(l, err)
		t.At.Name = name + path.Ext(t.At.Name)
	case 2, 3:
		t.Content, t.rewritten = l.rewrites(t.Content), true
		_, err := l.other.Replace(l.Context(), id, replacement(asset.Filename(), t.Content))
		must(l, err)
	case 4:
		must(l, l.other.Trash(l.Context(), id))
		t.Trashed, t.modified = true, asset.LastModifiedAt
		l.notes("  people: trash %v", before)
		return
	case 5:
		text := fmt.Sprintf("by people %d", l.fresh)
		_, err := l.other.Update(l.Context(), id, assets.Changes{Description: &text})
		must(l, err)
		t.Words.Description = text
	case 6:
		tags := slices.Sorted(maps.Keys(map[string]bool{pick(l, tagsOfAll): true, fmt.Sprintf("p%d", l.IntN(3)): true}))
		_, err := l.other.Update(l.Context(), id, assets.Changes{Tags: &tags})
		must(l, err)
		t.Words.Tags = tags
	}
	l.sees(id, asset)
	l.notes("  people: %v is now at %v, %.12q %v", before, t.At, t.Content, t.Words)
}

// rewrites returns the content that users replace a content with; half of the time the length stays
// the same. It is never a content that a source had, since that would be no edit.
func (l *life) rewrites(content string) string {
	if content == "" || l.chance(50) {
		return content + "by people"
	}
	return string(rune('a'+l.fresh%26)) + content[1:]
}

// sees records whether the service counts the users' action as a modification of the asset.
func (l *life) sees(id string, before assets.Asset) {
	after, err := l.other.Asset(l.Context(), id)
	must(l, err)
	t := l.model.things[id]
	t.touched = t.touched || !after.LastModifiedAt.Equal(before.LastModifiedAt)
}

func (l *life) restores(id string, t *thing) {
	if !l.model.isFree(t.At) || l.chance(50) {
		return
	}
	must(l, l.other.Restore(l.Context(), assets.Restoration{AssetID: id}))
	t.Trashed = false
	l.sees(id, assets.Asset{LastModifiedAt: t.modified})
	l.notes("  people: restore %v", t.At)
}

func (m *model) isFree(s spot) bool {
	for _, t := range m.things {
		if t.At == s && !t.Trashed {
			return false
		}
	}
	return true
}

func (m *model) nameOf(id string) string {
	t := m.things[id]
	return t.At.Category + "/" + t.At.Folder + "/" + t.At.Name + t.Content
}
