package metadata

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Google Takeout writes what it knows of photo.jpg into photo.jpg.json or, since 2024, into
// photo.jpg.supplemental-metadata.json, and cuts all of that but .json after so many
// characters. The number of one of several files that had the same name comes behind the
// cut: it is photo.jpg(2).json for photo(2).jpg.
const (
	takeoutMark  = ".supplemental-metadata"
	takeoutWidth = 46
)

// takeoutSidecars returns the keys of what Google Takeout may have written of an object. A
// number that is not cut off may be of its own name as well.
func takeoutSidecars(key string) (keys []string) {
	dir, name := path.Split(key)
	add := func(name, number string) {
		keys = append(keys, dir+cutName(name)+number+".json", dir+cutName(name+takeoutMark)+number+".json")
	}
	without, number := withoutNumber(name)
	if number != "" {
		add(without, number)
	}
	if number == "" || strings.HasPrefix(cutName(name), strings.TrimSuffix(name, path.Ext(name))) {
		add(name, "")
	}
	return keys
}

// addTakeout adds what Google Takeout may have written a sidecar of.
func (o *Owner) addTakeout() {
	key, ok := strings.CutSuffix(o.sidecar, ".json")
	if !ok {
		return
	}
	dir, name := path.Split(key)
	o.takeout(dir, name, "")
	if name, number := cutNumber(name); number != "" {
		o.takeout(dir, name, number)
	}
}

func (o *Owner) takeout(dir, name, number string) {
	names := []string{name}
	if utf8.RuneCountInString(name) == takeoutWidth {
		// Of a longer name the end is missing, and how much of it nobody can tell.
		o.Begin = dir + strings.TrimSuffix(name, path.Ext(name))
	}
	for n := len(takeoutMark); n > 0; n-- {
		if owner, ok := strings.CutSuffix(name, takeoutMark[:n]); ok {
			names = append(names, owner)
		}
	}
	for _, name := range names {
		if owner := dir + withNumber(name, number); o.Describes(owner) && !slices.Contains(o.Keys, owner) {
			o.Keys = append(o.Keys, owner)
		}
	}
}

// cutName returns as much of a name as there is place for.
func cutName(name string) string {
	n := 0
	for at := range name {
		if n++; n > takeoutWidth {
			return name[:at]
		}
	}
	return name
}

// withoutNumber takes the number out of a name such as "photo(2).jpg".
func withoutNumber(name string) (without, number string) {
	ending := path.Ext(name)
	stem, number := cutNumber(strings.TrimSuffix(name, ending))
	return stem + ending, number
}

// withNumber puts it there again.
func withNumber(name, number string) string {
	ending := path.Ext(name)
	return strings.TrimSuffix(name, ending) + number + ending
}

// cutNumber cuts a number in parentheses off the end of a name, unless there is nothing
// else.
func cutNumber(name string) (rest, number string) {
	digits := strings.TrimSuffix(name, ")")
	at := len(strings.TrimRight(digits, "0123456789"))
	if at < 2 || len(digits) == len(name) || at == len(digits) || digits[at-1] != '(' {
		return name, ""
	}
	return name[:at-1], name[at-1:]
}
