package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"assetferry/internal/tabular"
)

// A meaning is the meaning of a column that is not metadata.
type meaning string

const (
	isKey         meaning = "key"
	isURL         meaning = "url"
	isPath        meaning = "path"
	isFolder      meaning = "folder"
	isName        meaning = "name"
	isSize        meaning = "size"
	isModified    meaning = "modified"
	isRevision    meaning = "revision" // only if the user names the column
	isChecksum    meaning = "checksum"
	isContentType meaning = "content_type"
)

// oldURLField is the metadata field of old URLs.
const oldURLField = "old_url"

// synonyms returns the names of columns by meaning, in the form of squeeze. If several columns have
// one meaning, the first name in the list wins.
func synonyms() map[meaning][]string {
	return map[meaning][]string{
		isKey:         {"key"},
		isURL:         {"oldurl", "url", "downloadurl", "fileurl", "asseturl", "originalurl", "secureurl", "sourceurl"},
		isPath:        {"path", "filepath"},
		isFolder:      {"folder", "folderpath", "foldername", "assetfolder", "directory"},
		isName:        {"filename", "originalfilename", "name"},
		isSize:        {"size", "filesize", "bytes", "sizeinbytes", "filesizebytes"},
		isModified:    {"modified", "lastmodified", "modifiedat", "datemodified", "updated", "updatedat", "version"},
		isChecksum:    {"checksum", "sha256", "sha1", "md5"},
		isContentType: {"contenttype", "mimetype"},
	}
}

// fields returns the names of metadata fields that are recognized in any case.
func fields() []string {
	return []string{"description", "alt", "title", "headline", "caption", "tags", "collections", "creator", "credit", "copyright", "instructions", "created",
		"city", "state", "country", "location", "latitude", "longitude", "rating", "category", "private"}
}

// squeeze returns a name in lower case without separators.
func squeeze(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Columns are column names by meaning, as set by the user. A meaning is a word such as key, or the
// name of a field such as description. "" means that there is no such column.
type Columns map[string]string

// ParseColumns reads texts such as "url=Download URL".
func ParseColumns(texts []string) (Columns, error) {
	c := Columns{}
	for _, text := range texts {
		means, name, ok := strings.Cut(text, "=")
		means = strings.ToLower(strings.TrimSpace(means))
		known := slices.Concat(words(), fields())
		if !ok || !slices.Contains(known, means) {
			return nil, fmt.Errorf("%q must have the form MEANING=COLUMN, where MEANING is one of %s", text, strings.Join(known, ", "))
		}
		if _, again := c[means]; again {
			return nil, fmt.Errorf("duplicate meaning %s", means)
		}
		c[means] = strings.TrimSpace(name)
	}
	return c, nil
}

// words returns the meanings as texts, in the order of the help.
func words() []string {
	var all []string
	for _, m := range meanings() {
		all = append(all, string(m))
	}
	return all
}

func meanings() []meaning {
	return []meaning{isKey, isURL, isPath, isFolder, isName, isSize, isModified, isRevision, isChecksum, isContentType}
}

// columns are the meanings of the columns of a table.
type columns struct {
	of     map[meaning]int // the index of a column by meaning
	fields []string        // the metadata field of each column, or ""
}

// columnsOf returns the meanings of columns. If header is true, all columns in chosen must exist; a
// row of JSON may lack any.
func columnsOf(names []string, chosen Columns, header bool) (columns, error) {
	c := columns{of: map[meaning]int{}, fields: make([]string, len(names))}
	taken := make([]bool, len(names))
	for means, name := range chosen {
		n := slices.Index(names, name)
		switch {
		case name == "":
			continue
		case n < 0 && header:
			return c, &tabular.Mistake{Line: 1, Column: 1, What: fmt.Sprintf("column %q for %s not found; the columns are %s", name, means, quoted(names))}
		case n < 0:
			continue
		}
		if taken[n] = true; slices.Contains(words(), means) {
			c.of[meaning(means)] = n
		} else {
			c.fields[n] = means
		}
	}
	c.recognise(names, chosen, taken)
	_, hasURL := c.of[isURL]
	_, hasPath := c.of[isPath]
	if header && !hasURL && !hasPath {
		return c, &tabular.Mistake{Line: 1, Column: 1, What: fmt.Sprintf("no column contains URLs or paths; the columns are %s; add --table-columns 'url=COLUMN'", quoted(names))}
	}
	return c, nil
}

// recognise sets the meanings of the columns that are not in chosen.
func (c *columns) recognise(names []string, chosen Columns, taken []bool) {
	squeezed := make([]string, len(names))
	for n, name := range names {
		squeezed[n] = squeeze(name)
	}
	for means, known := range synonyms() {
		if _, is := chosen[string(means)]; is {
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
		if field := squeezed[n]; slices.Contains(fields(), field) && !isChosen(chosen, field) {
			c.fields[n] = field
		}
	}
	for means, field := range map[meaning]string{isURL: oldURLField, isFolder: "folder", isName: "name"} { // rules may use them
		if n, ok := c.of[means]; ok && !slices.Contains(c.fields, field) {
			c.fields[n] = field
		}
	}
}

func isChosen(chosen Columns, means string) bool { _, is := chosen[means]; return is }

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
