package rewrite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A place is a beginning of URLs: "//cdn.example.com/img/" for any scheme, or a path such as
// "/files/". The path "/" is for files without a folder, see holds.
type place string

const root place = "/"

// maxPlaces limits the memory of a wordSet.
const maxPlaces = 256

// placeOf returns the place of a URL that ends with a slash, in canonical form.
func placeOf(url string) (place, error) {
	a := Canonical(url)
	if a == "" || strings.Contains(a, "?") {
		return "", fmt.Errorf("%q is not a URL with a path", url)
	}
	return place(a), nil
}

// words returns the words by which a place is found in a text: its host, or the first folder of its
// path, up to the first character with several spellings. In the root, it is any slash.
func (p place) words() []string {
	if p == root {
		return []string{string(root)}
	}
	text, _ := strings.CutPrefix(string(p), "/")
	text, _ = strings.CutPrefix(text, "/")
	n := 0
	for n < len(text) && isUnreserved(text[n]) {
		n++
	}
	if n > 0 {
		return []string{text[:n]}
	}
	const digits = "0123456789abcdef"
	c := text[0]
	encoded := string([]byte{'%', digits[c>>4], digits[c&15]})
	return []string{text[:1], encoded, "%25" + encoded[1:]}
}

// places are the beginnings of URLs to look up, old and new.
type places struct {
	old, new []place
}

func newPlaces(old, new []string) (p places, err error) {
	for _, list := range [...]struct {
		from []string
		to   *[]place
	}{{old, &p.old}, {new, &p.new}} {
		for _, url := range list.from {
			at, err := placeOf(url)
			if err != nil {
				return p, err
			}
			*list.to = append(*list.to, at)
		}
		slices.Sort(*list.to)
		*list.to = slices.Compact(*list.to)
	}
	if n := len(p.old) + len(p.new); n > maxPlaces {
		return p, fmt.Errorf("the URLs have %d different prefixes; at most %d are supported", n, maxPlaces)
	}
	return p, nil
}

// words returns the words of all places without duplicates.
func (p places) words() (all []string) {
	for _, at := range slices.Concat(p.old, p.new) {
		all = append(all, at.words()...)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.CompactFunc(all, strings.EqualFold)
}

// holds reports whether a URL is in one of the places. In the root, it must look like a file: its name
// has an extension. Other paths occur in all texts.
func holds(all []place, url string) bool {
	return slices.ContainsFunc(all, func(p place) bool {
		if p == root {
			path, _, _ := strings.Cut(url, "?")
			return !strings.HasPrefix(path, "//") && strings.Contains(path[strings.LastIndexByte(path, '/')+1:], ".")
		}
		return strings.HasPrefix(url, string(p))
	})
}

// isReported reports whether an unknown URL is reported. In the root, any path can occur.
func (p places) isReported(url string) bool {
	return slices.ContainsFunc(p.old, func(p place) bool { return p != root && strings.HasPrefix(url, string(p)) })
}
