package proposals

import (
	"slices"
	"strings"

	"assetferry/internal/pattern"
)

// A piece of text is in both of two texts, or only in one (Changed).
type piece struct {
	Text    string
	Changed bool
}

// mostWords limits the comparison to 250,000 pairs. Descriptions have far fewer words.
const mostWords = 500

var word = pattern.Lazy(`\s+|[\pL\pN\pM]+|[^\s\pL\pN\pM]`)

// marked splits an old and a new text into pieces and marks the words that the other text does
// not have.
func marked(before, after string) (old, new []piece) {
	a, b := word().FindAllString(before, -1), word().FindAllString(after, -1)
	var kept [][2]int
	if len(a) <= mostWords && len(b) <= mostWords {
		kept = common(a, b)
	}
	at := [2]int{}
	for _, k := range append(kept, [2]int{len(a), len(b)}) {
		old, new = add(old, true, a[at[0]:k[0]]), add(new, true, b[at[1]:k[1]])
		if k[0] < len(a) && k[1] < len(b) {
			old, new = add(old, false, a[k[0]:k[0]+1]), add(new, false, b[k[1]:k[1]+1])
		}
		at = [2]int{k[0] + 1, k[1] + 1}
	}
	return old, new
}

// add appends words to the last piece, or to a new one if its kind differs.
func add(to []piece, changed bool, words []string) []piece {
	for _, w := range words {
		if n := len(to); n > 0 && to[n-1].Changed == changed {
			to[n-1].Text += w
		} else if w != "" {
			to = append(to, piece{w, changed})
		}
	}
	return to
}

// common returns the positions of the words in a longest common subsequence.
func common(a, b []string) [][2]int {
	longest := make([][]int16, len(a)+1) // from i and j on
	for i := range longest {
		longest[i] = make([]int16, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); x == y {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	var all [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			all = append(all, [2]int{i, j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return all
}

// markedTags returns the current tags, followed by the new ones.
func markedTags(there, proposed []string) (tags []tag) {
	for _, t := range there {
		tags = append(tags, tag{t, false})
	}
	for _, t := range missing(there, proposed) {
		tags = append(tags, tag{t, true})
	}
	return tags
}

// missing returns the proposed tags that are not there yet, ignoring case.
func missing(there, proposed []string) (all []string) {
	for _, t := range proposed {
		if !slices.ContainsFunc(there, func(is string) bool { return strings.EqualFold(is, t) }) {
			all = append(all, t)
		}
	}
	return all
}

type tag struct {
	Text  string
	IsNew bool
}
