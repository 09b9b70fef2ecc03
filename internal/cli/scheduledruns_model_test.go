package cli

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
)

// A fileHistory is what a test knows of the files of a source: all the contents that they have had
// and the runs that have looked at them. No two files ever have the same content.
type fileHistory struct {
	keys     map[string]map[string]*leaving // by content: the keys that it was under; nil where it still is
	begun    int                            // runs; they are numbered from 1
	ended    []int                          // of these, those that came to their end
	finished []int                          // of these, those that were done with everything
}

// A leaving is when a content was not under a key any more.
type leaving struct{ begun, ended int } // so many runs had begun, and so many had ended

func (h *fileHistory) appears(key, content string) {
	if h.keys[content] == nil {
		h.keys[content] = map[string]*leaving{}
	}
	h.keys[content][key] = nil
}

func (h *fileHistory) leaves(key, content string) {
	h.keys[content][key] = &leaving{h.begun, len(h.ended)}
}

// ends notes how the last run that has begun came to its end.
func (h *fileHistory) ends(code int) {
	if code == exit.CodeDone || code == exit.CodeItems {
		h.ended = append(h.ended, h.begun)
	}
	if code == exit.CodeDone {
		h.finished = append(h.finished, h.begun)
	}
}

// missed is how many runs have missed a content under a key for sure: those that began after
// it was gone, and finished.
func (h *fileHistory) missed(l *leaving) (n int) {
	for _, run := range h.finished {
		if run > l.begun {
			n++
		}
	}
	return n
}

// mayHaveMissed is how many runs may have missed it: those that ended after it was gone.
func (h *fileHistory) mayHaveMissed(l *leaving) int { return len(h.ended) - l.ended }

// A step is what the service had before a run and has after it. The source has rested since
// before that run.
type step struct {
	*fileHistory
	files         tree
	before, after []stored
}

// problems says what is not as a run has to leave it:
//
//   - Every file has one asset, with its content, in its folder. It has the file's name, unless
//     another asset had that name when the run began, and no right to it.
//   - No other asset is there but those that wait to be trashed: where a file was that is gone,
//     with its content, and not yet missed by two runs. Its content may be that of a file that
//     is there if a run has seen it under both of its keys, as it was renamed meanwhile; but
//     none gets a second asset while the source rests.
//   - No asset is given up but those that have waited: missed by a run before this one.
func (s step) problems() (found []string) {
	problem := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	assets, there, had, has := map[string]int{}, map[string]bool{}, byContent(s.before), byContent(s.after)
	for _, a := range s.after {
		there[a.id] = true
		if key, is := s.fileOf(a); is {
			assets[key]++
		} else if why := s.mustNotWait(a); why != "" {
			problem("asset %s, %s, is there: %s", a.id, keyOf(a), why)
		}
	}
	for key, content := range s.files {
		if n := assets[key]; n != 1 {
			problem("%s has %d assets", key, n)
		} else if has[content] > max(1, had[content]) {
			problem("%s was sent a second time", key)
		}
	}
	for _, a := range s.before {
		if why := s.mustStay(a, had); !there[a.id] && why != "" {
			problem("asset %s, %s, is not there any more: %s", a.id, keyOf(a), why)
		}
	}
	return found
}

// byContent counts assets by content.
func byContent(all []stored) map[string]int {
	n := map[string]int{}
	for _, a := range all {
		n[string(a.content)]++
	}
	return n
}

// fileOf gives the file that an asset is of: it has its content, its folder, and its name, as
// far as it can have it.
func (s step) fileOf(a stored) (key string, is bool) {
	for key, content := range s.files {
		if content == string(a.content) && isAt(a, key) {
			return key, a.name == path.Base(key) || s.isHeld(a, path.Base(key))
		}
	}
	return "", false
}

// isAt reports whether an asset has the folder and the name of a key, which may have the
// suffix that tells it apart from another one.
func isAt(a stored, key string) bool {
	dir, name := path.Split(key)
	return a.folder == strings.TrimSuffix(dir, "/") && (a.name == name || hasSuffix(a.name, name))
}

// isHeld reports whether another asset than that of a file had its name when the run began.
func (s step) isHeld(of stored, name string) bool {
	for _, a := range s.before {
		if a.id != of.id && a.folder == of.folder && strings.EqualFold(a.name, name) && s.files[keyOf(a)] != string(a.content) {
			return true
		}
	}
	return false
}

// mustNotWait says why an asset of no file cannot be one that waits to be trashed.
func (s step) mustNotWait(a stored) string {
	why := "no file ever had its content"
	for key, left := range s.keys[string(a.content)] {
		_, isFile := s.files[key]
		switch {
		case isFile || !isAt(a, key):
			why = "it is neither where the file of its content is nor where one was that is gone"
		case s.missed(left) > 1:
			return fmt.Sprintf("the file is gone, and %d runs have missed it", s.missed(left))
		default:
			return ""
		}
	}
	return why
}

// mustStay says why an asset must not have been trashed.
func (s step) mustStay(a stored, had map[string]int) string {
	for _, content := range s.files {
		if content == string(a.content) && had[content] == 1 {
			return "its file is"
		}
	}
	for key, left := range s.keys[string(a.content)] {
		if left != nil && isAt(a, key) && s.mayHaveMissed(left) > 1 { // this run is one of them
			return ""
		}
	}
	return "no run has missed it before"
}

func keyOf(a stored) string { return strings.TrimPrefix(a.folder+"/"+a.name, "/") }

var suffix = regexp.MustCompile(`~[0-9a-f]{6}$`)

// hasSuffix reports whether an asset has a name with the suffix that tells it apart from
// another one of that name.
func hasSuffix(has, name string) bool {
	stem, ext := strings.TrimSuffix(has, path.Ext(has)), path.Ext(has)
	return suffix.MatchString(stem) && suffix.ReplaceAllString(stem, "")+ext == name
}

// The model itself says no where it has to.
func TestScheduledRunsModel(t *testing.T) {
	asset := func(id, folder, name, content string) stored {
		return stored{id: id, folder: folder, name: name, content: []byte(content)}
	}
	a := asset("1", "dir", "a.jpg", "A")
	deleted := asset("2", "dir", "b.jpg", "B")
	for name, tc := range map[string]struct {
		before, after []stored
		want          string // "" if that is right
	}{
		"as it is":                   {nil, []stored{a}, ""},
		"one waits":                  {[]stored{a, deleted}, []stored{a, deleted}, ""},
		"missing":                    {nil, nil, "dir/a.jpg has 0 assets"},
		"twice":                      {nil, []stored{a, asset("3", "dir", "a.jpg", "A")}, "dir/a.jpg has 2 assets"},
		"old content":                {nil, []stored{asset("1", "dir", "a.jpg", "old")}, "no file ever had"},
		"in another folder":          {nil, []stored{asset("1", "", "a.jpg", "A")}, "asset 1, a.jpg, is there: it is neither"},
		"with another name":          {nil, []stored{asset("1", "dir", "A.jpg", "A")}, "asset 1, dir/A.jpg, is there: it is neither"},
		"told apart from nothing":    {nil, []stored{asset("1", "dir", "a~012345.jpg", "A")}, "dir/a.jpg has 0 assets"},
		"told apart":                 {[]stored{asset("4", "dir", "A.jpg", "C")}, []stored{asset("1", "dir", "a~012345.jpg", "A")}, ""},
		"told apart in another one":  {[]stored{asset("4", "", "A.jpg", "C")}, []stored{asset("1", "dir", "a~012345.jpg", "A")}, "dir/a.jpg has 0 assets"},
		"waits for too long":         {nil, []stored{a, asset("4", "dir", "A.jpg", "C")}, "2 runs have missed it"},
		"waits where it never was":   {nil, []stored{a, asset("2", "", "b.jpg", "B")}, "it is neither where"},
		"content of before":          {nil, []stored{a, asset("5", "dir", "a.jpg", "before")}, "it is neither where"},
		"trashed at once":            {[]stored{a, deleted}, []stored{a}, "asset 2, dir/b.jpg, is not there any more: no run has"},
		"told apart from itself":     {[]stored{asset("1", "dir", "A.jpg", "A")}, []stored{asset("1", "dir", "a~012345.jpg", "A")}, "dir/a.jpg has 0 assets"},
		"renamed while it was seen":  {[]stored{a, asset("6", "old", "a.jpg", "A")}, []stored{a, asset("6", "old", "a.jpg", "A")}, ""},
		"sent a second time":         {[]stored{asset("6", "old", "a.jpg", "A")}, []stored{a, asset("6", "old", "a.jpg", "A")}, "was sent a second time"},
		"trashed in time":            {[]stored{a, asset("4", "dir", "A.jpg", "C")}, []stored{a}, ""},
		"another asset for the file": {[]stored{asset("9", "dir", "a.jpg", "A")}, []stored{a}, "asset 9, dir/a.jpg, is not there any more: its file is"},
	} {
		h := &fileHistory{keys: map[string]map[string]*leaving{}}
		for _, v := range [][2]string{{"dir/a.jpg", "before"}, {"old/a.jpg", "A"}, {"dir/a.jpg", "A"}, {"dir/b.jpg", "B"}, {"dir/A.jpg", "C"}} {
			h.appears(v[0], v[1])
		}
		h.leaves("dir/A.jpg", "C")
		h.begun++
		h.ends(exit.CodeDone)
		h.leaves("dir/b.jpg", "B")
		h.leaves("dir/a.jpg", "before")
		h.leaves("old/a.jpg", "A")
		h.begun++
		h.ends(exit.CodeDone)
		s := step{h, tree{"dir/a.jpg": "A"}, tc.before, tc.after}
		if got := strings.Join(s.problems(), "\n"); got != "" && tc.want == "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
