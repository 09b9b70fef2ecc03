package cli

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
)

// A fileHistory records the files of a source: all their contents, and the runs that listed them.
// No two files ever have the same content.
type fileHistory struct {
	keys     map[string]map[string]*leaving // keys that a content was under, by content; nil while it still is
	begun    int                            // started runs, numbered from 1
	ended    []int                          // numbers of the runs that ended
	finished []int                          // numbers of the runs that finished everything
}

// A leaving is the time when a content was removed from a key.
type leaving struct{ begun, ended int } // numbers of runs that had started and ended by then

func (h *fileHistory) appears(key, content string) {
	if h.keys[content] == nil {
		h.keys[content] = map[string]*leaving{}
	}
	h.keys[content][key] = nil
}

func (h *fileHistory) leaves(key, content string) {
	h.keys[content][key] = &leaving{h.begun, len(h.ended)}
}

// ends records the exit code of the last run.
func (h *fileHistory) ends(code int) {
	if code == exit.CodeDone || code == exit.CodeItems {
		h.ended = append(h.ended, h.begun)
	}
	if code == exit.CodeDone {
		h.finished = append(h.finished, h.begun)
	}
}

// missed returns the number of runs that certainly detected a deletion: those that started after it
// and finished.
func (h *fileHistory) missed(l *leaving) (n int) {
	for _, run := range h.finished {
		if run > l.begun {
			n++
		}
	}
	return n
}

// mayHaveMissed returns the number of runs that may have detected a deletion: those that ended
// after it.
func (h *fileHistory) mayHaveMissed(l *leaving) int { return len(h.ended) - l.ended }

// A step is the state of the service before and after a run. The source did not change since the
// run started.
type step struct {
	*fileHistory
	files         tree
	before, after []stored
}

// problems returns the violations of these rules after a run:
//
//   - Every file has one asset, with its content, in its folder. The asset has the name of the
//     file, unless another asset had that name when the run started.
//   - All other assets wait to be trashed: each has the path and the content of a deleted file, and
//     at most one run has detected the deletion. Its content may equal that of a current file if a
//     run listed a file under both its old and its new key. No file gets a second asset while the
//     source does not change.
//   - Only assets whose deletion an earlier run detected are trashed.
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

// fileOf returns the file of an asset: its content and folder match, and its name does, unless
// another asset holds that name.
func (s step) fileOf(a stored) (key string, is bool) {
	for key, content := range s.files {
		if content == string(a.content) && isAt(a, key) {
			return key, a.name == path.Base(key) || s.isHeld(a, path.Base(key))
		}
	}
	return "", false
}

// isAt reports whether an asset has the folder and the name of a key. The name may have the suffix
// for duplicate names.
func isAt(a stored, key string) bool {
	dir, name := path.Split(key)
	return a.folder == strings.TrimSuffix(dir, "/") && (a.name == name || hasSuffix(a.name, name))
}

// isHeld reports whether an asset of another file had a name when the run started.
func (s step) isHeld(of stored, name string) bool {
	for _, a := range s.before {
		if a.id != of.id && a.folder == of.folder && strings.EqualFold(a.name, name) && s.files[keyOf(a)] != string(a.content) {
			return true
		}
	}
	return false
}

// mustNotWait returns why an asset without a file cannot be waiting to be trashed; "" if it can.
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

// mustStay returns why an asset must not have been trashed; "" if it may have been.
func (s step) mustStay(a stored, had map[string]int) string {
	for _, content := range s.files {
		if content == string(a.content) && had[content] == 1 {
			return "its file is"
		}
	}
	for key, left := range s.keys[string(a.content)] {
		if left != nil && isAt(a, key) && s.mayHaveMissed(left) > 1 { // one of them is this run
			return ""
		}
	}
	return "no run has missed it before"
}

func keyOf(a stored) string { return strings.TrimPrefix(a.folder+"/"+a.name, "/") }

var suffix = regexp.MustCompile(`~[0-9a-f]{6}$`)

// hasSuffix reports whether an asset has a name with the suffix for duplicate names.
func hasSuffix(has, name string) bool {
	stem, ext := strings.TrimSuffix(has, path.Ext(has)), path.Ext(has)
	return suffix.MatchString(stem) && suffix.ReplaceAllString(stem, "")+ext == name
}

// The test verifies that the model detects violations of each rule.
func TestScheduledRunsModel(t *testing.T) {
	asset := func(id, folder, name, content string) stored {
		return stored{id: id, folder: folder, name: name, content: []byte(content)}
	}
	a := asset("1", "dir", "a.jpg", "A")
	deleted := asset("2", "dir", "b.jpg", "B")
	for name, tc := range map[string]struct {
		before, after []stored
		want          string // "" without violations
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
