package preflight

import (
	"cmp"
	"slices"
	"strings"

	"assetferry/internal/sorting"
	"assetferry/internal/ui"
	"assetferry/sources"
	"assetferry/state"
)

var splitFolders = definition{id: "split_folders", severity: Note, unit: "folder",
	title:  "split between several categories",
	remedy: "use --category or --category-by folder"}

// splits finds folders of the source whose objects go to several categories. Keys are in order,
// so that only the folders of the current key are kept.
type splits struct {
	name    func(category string) string
	open    []folder
	folders int64
	bytes   int64 // in them
	top     top
}

// A folder counts the objects directly in a folder of the source, by category.
type folder struct {
	path  string // "" or ending with a slash
	parts []Part // by category
}

func (s *splits) add(i *state.Item) {
	dir := string(i.Key[:strings.LastIndexByte(string(i.Key), '/')+1])
	for n := len(s.open); n > 0 && !strings.HasPrefix(dir, s.open[n-1].path); n-- {
		s.close()
	}
	if n := len(s.open); n == 0 || s.open[n-1].path != dir {
		s.push(dir)
	}
	s.open[len(s.open)-1].count(i)
}

// push opens a folder, and reuses the memory of a closed one.
func (s *splits) push(dir string) {
	n := len(s.open)
	if n < cap(s.open) {
		s.open = s.open[:n+1]
		s.open[n] = folder{dir, s.open[n].parts[:0]}
		return
	}
	s.open = append(s.open, folder{path: dir})
}

func (f *folder) count(i *state.Item) {
	n := slices.IndexFunc(f.parts, func(p Part) bool { return p.Name == i.Category })
	if n < 0 {
		n = len(f.parts)
		f.parts = append(f.parts, Part{Name: i.Category})
	}
	f.parts[n].Objects++
	f.parts[n].Bytes += i.Size
}

// close ends the innermost folder.
func (s *splits) close() {
	n := len(s.open) - 1
	f := s.open[n]
	s.open = s.open[:n]
	if len(f.parts) < 2 {
		return
	}
	all := Part{}
	for _, p := range f.parts {
		all.Objects, all.Bytes = all.Objects+p.Objects, all.Bytes+p.Bytes
	}
	s.folders++
	s.bytes += all.Bytes
	if s.top.takes(all.Objects) {
		all.Name = s.describe(f)
		s.top.offer(all)
	}
}

// describe lists the categories of a folder: "2024/spring: 120 Images, 3 Files".
func (s *splits) describe(f folder) string {
	for n := range f.parts {
		f.parts[n].Name = s.name(f.parts[n].Name)
	}
	sorting.By(f.parts, func(a, b Part) int { return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Name, b.Name)) })
	var counts []string
	for _, p := range f.parts {
		counts = append(counts, ui.Count(p.Objects)+" "+p.Name)
	}
	dir, _ := sources.Key(f.path).Split()
	return cmp.Or(dir, "(top level)") + ": " + few(counts)
}

// finding closes all folders. Its examples are the folders with the most objects.
func (s *splits) finding() Finding {
	for len(s.open) > 0 {
		s.close()
	}
	f := (&sum{definition: splitFolders, objects: s.folders, bytes: s.bytes}).finding()
	for _, p := range s.top.best {
		f.Examples = append(f.Examples, p.Name)
	}
	return f
}
