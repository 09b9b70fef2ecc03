package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"assetferry/internal/tabular"
)

// A meaning is what a column says of an object, other than what describes it.
type meaning string

const (
	isKey         meaning = "key"
	isAddress     meaning = "url"
	isPath        meaning = "path"
	isFolder      meaning = "folder"
	isName        meaning = "name"
	isSize        meaning = "size"
	isModified    meaning = "modified"
	isChecksum    meaning = "digest"
	isContentType meaning = "content_type"
)

// synonyms are the names by which columns are known, in the form that squeeze gives. Of
// several columns with one meaning the one whose name comes first has it.
func synonyms() map[meaning][]string {
	return map[meaning][]string{
		isKey:         {"key"},
		isAddress:     {"url", "address", "downloadurl", "fileurl", "asseturl", "originalurl", "secureurl", "sourceurl"},
		isPath:        {"path", "filepath"},
		isFolder:      {"folder", "folderpath", "foldername", "assetfolder", "directory"},
		isName:        {"filename", "originalfilename", "name"},
		isSize:        {"size", "filesize", "bytes", "sizeinbytes", "filesizebytes"},
		isModified:    {"modified", "lastmodified", "modifiedat", "datemodified", "updated", "updatedat", "version"},
		isChecksum:    {"digest", "sha256", "sha1", "md5"},
		isContentType: {"contenttype", "mimetype"},
	}
}

// fields are what describes an object and has a name of ours, whatever its case.
func fields() []string {
	return []string{"description", "alt", "title", "headline", "caption", "tags", "creator", "credit", "copyright", "instructions", "created",
		"city", "state", "country", "location", "latitude", "longitude", "rating", "category", "private"}
}

// squeeze makes names alike that differ in case and in what is between words.
func squeeze(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Columns are what the user says of columns: the name of a column by what it means, which
// is a word of ours such as key or address, or the name of a field such as description. An
// empty name says that no column means that.
type Columns map[string]string

// ParseColumns reads texts such as "url=Download URL".
func ParseColumns(texts []string) (Columns, error) {
	c := Columns{}
	for _, text := range texts {
		means, name, ok := strings.Cut(text, "=")
		means = strings.ToLower(strings.TrimSpace(means))
		known := slices.Concat(words(), fields())
		if !ok || !slices.Contains(known, means) {
			return nil, fmt.Errorf("%q is not of the form MEANING=COLUMN, where MEANING is one of %s", text, strings.Join(known, ", "))
		}
		if _, again := c[means]; again {
			return nil, fmt.Errorf("%s is named twice", means)
		}
		c[means] = strings.TrimSpace(name)
	}
	return c, nil
}

// words are those of columns, in the order of the help.
func words() []string {
	var all []string
	for _, m := range meanings() {
		all = append(all, string(m))
	}
	return all
}

func meanings() []meaning {
	return []meaning{isKey, isAddress, isPath, isFolder, isName, isSize, isModified, isChecksum, isContentType}
}

// columns are what those of a table mean.
type columns struct {
	of     map[meaning]int // which there are
	fields []string        // the field that a column is, by column; empty if it is none
}

// columnsOf gives columns their meaning. All that are told must be there if the names are
// those of a header; a row of JSON may lack any.
func columnsOf(names []string, told Columns, header bool) (columns, error) {
	c := columns{of: map[meaning]int{}, fields: make([]string, len(names))}
	taken := make([]bool, len(names))
	for means, name := range told {
		n := slices.Index(names, name)
		switch {
		case name == "":
			continue
		case n < 0 && header:
			return c, &tabular.Mistake{Line: 1, Column: 1, What: fmt.Sprintf("there is no column %q for %s; there are %s", name, means, quoted(names))}
		case n < 0:
			continue
		}
		if taken[n] = true; slices.Contains(words(), means) {
			c.of[meaning(means)] = n
		} else {
			c.fields[n] = means
		}
	}
	c.recognise(names, told, taken)
	_, hasAddress := c.of[isAddress]
	_, hasPath := c.of[isPath]
	if header && !hasAddress && !hasPath {
		return c, &tabular.Mistake{Line: 1, Column: 1, What: fmt.Sprintf("no column is a URL or a path; the columns are %s; name one with --table-columns 'url=COLUMN'", quoted(names))}
	}
	return c, nil
}

// recognise gives the columns their meaning that are not told.
func (c *columns) recognise(names []string, told Columns, taken []bool) {
	squeezed := make([]string, len(names))
	for n, name := range names {
		squeezed[n] = squeeze(name)
	}
	for means, known := range synonyms() {
		if _, is := told[string(means)]; is {
			continue
		}
		for _, name := range known {
			if n := slices.Index(squeezed, name); n >= 0 && !taken[n] {
				c.of[means], taken[n] = n, true
				break
			}
		}
	}
	for n, name := range names {
		if taken[n] {
			continue
		}
		c.fields[n] = name
		if field := squeezed[n]; slices.Contains(fields(), field) && !isTold(told, field) {
			c.fields[n] = field
		}
	}
	for _, means := range []meaning{isAddress, isFolder, isName} { // rules may want them
		if n, ok := c.of[means]; ok && !slices.Contains(c.fields, string(means)) {
			c.fields[n] = string(means)
		}
	}
}

func isTold(told Columns, means string) bool { _, is := told[means]; return is }

func quoted(names []string) string {
	const most = 20
	var all []string
	for _, name := range names[:min(len(names), most)] {
		all = append(all, strconv.Quote(name))
	}
	text := strings.Join(all, ", ")
	if len(names) > most {
		text += " and more"
	}
	return text
}
