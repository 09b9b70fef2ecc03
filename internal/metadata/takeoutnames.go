package metadata

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Google Takeout writes the metadata of photo.jpg into photo.jpg.json or, since 2024, into
// photo.jpg.supplemental-metadata.json. It cuts the name before .json to a number of characters. If
// several files had the same name, the number follows the cut name: photo.jpg(2).json for photo(2).jpg.
const (
	takeoutMark  = ".supplemental-metadata"
	takeoutWidth = 46
)

// takeoutSidecars returns the possible keys of the Takeout sidecar of an object. A number in the name may
// also belong to the original name.
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

// addTakeout adds the possible objects of a Takeout sidecar.
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
		// The end of a longer name is missing, and its length is unknown.
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

// cutName cuts a name to the limit of Takeout.
func cutName(name string) string {
	n := 0
	for at := range name {
		if n++; n > takeoutWidth {
			return name[:at]
		}
	}
	return name
}

// withoutNumber removes the number from a name such as "photo(2).jpg".
func withoutNumber(name string) (without, number string) {
	ending := path.Ext(name)
	stem, number := cutNumber(strings.TrimSuffix(name, ending))
	return stem + ending, number
}

// withNumber reverses withoutNumber.
func withNumber(name, number string) string {
	ending := path.Ext(name)
	return strings.TrimSuffix(name, ending) + number + ending
}

// cutNumber removes a number in parentheses from the end of a name, unless the name has nothing else.
func cutNumber(name string) (rest, number string) {
	digits := strings.TrimSuffix(name, ")")
	at := len(strings.TrimRight(digits, "0123456789"))
	if at < 2 || len(digits) == len(name) || at == len(digits) || digits[at-1] != '(' {
		return name, ""
	}
	return name[:at-1], name[at-1:]
}
