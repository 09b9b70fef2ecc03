package rewrite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A place is what addresses begin with: "//cdn.example.com/img/", whatever their scheme is,
// or a path, such as "/files/". The path "/" is for what is in no folder, see holds.
type place string

const root place = "/"

// maxPlaces bounds the table of the automaton.
const maxPlaces = 256

// placeOf gives the place of an address that ends with a slash, in the form in which
// addresses are compared.
func placeOf(address string) (place, error) {
	a := Canonical(address)
	if a == "" || strings.Contains(a, "?") {
		return "", fmt.Errorf("%q is no address with a path", address)
	}
	return place(a), nil
}

// words are how a place is noticed in a text: by its host, or by the first folder of its
// path, up to the first character that can be written in several ways; in the root, by any
// slash.
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

// places are what addresses begin with that must be looked up, old ones and new ones.
type places struct {
	old, new []place
}

func newPlaces(old, new []string) (p places, err error) {
	for _, list := range [...]struct {
		from []string
		to   *[]place
	}{{old, &p.old}, {new, &p.new}} {
		for _, address := range list.from {
			at, err := placeOf(address)
			if err != nil {
				return p, err
			}
			*list.to = append(*list.to, at)
		}
		slices.Sort(*list.to)
		*list.to = slices.Compact(*list.to)
	}
	if n := len(p.old) + len(p.new); n > maxPlaces {
		return p, fmt.Errorf("the addresses begin in %d different ways, and at most %d can be looked for at once", n, maxPlaces)
	}
	return p, nil
}

// words are the words of all places, without those that come twice.
func (p places) words() (all []string) {
	for _, at := range slices.Concat(p.old, p.new) {
		all = append(all, at.words()...)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.CompactFunc(all, strings.EqualFold)
}

// holds reports whether an address is in one of some places. There are paths in all texts,
// and in the root is only what looks like one of a file: its name has an ending.
func holds(all []place, address string) bool {
	return slices.ContainsFunc(all, func(p place) bool {
		if p == root {
			path, _, _ := strings.Cut(address, "?")
			return !strings.HasPrefix(path, "//") && strings.Contains(path[strings.LastIndexByte(path, '/')+1:], ".")
		}
		return strings.HasPrefix(address, string(p))
	})
}

// tell reports whether it must be told if nobody knows an address. In the root anything may
// be.
func (p places) tell(address string) bool {
	return slices.ContainsFunc(p.old, func(p place) bool { return p != root && strings.HasPrefix(address, string(p)) })
}
