package proposals

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"strings"

	tables "assetferry/internal/tabular"
)

// Columns that Read reads. The others are for information only.
const (
	columnID             = "id"
	columnDecision       = "decision"
	columnNewDescription = "new_description"
	columnNewTags        = "new_tags"
)

// A line is a row of a table, in the order of its columns.
type line struct {
	ID             string   `json:"id"`
	Decision       Choice   `json:"decision"`
	Name           string   `json:"name"`
	Category       string   `json:"category,omitempty"`
	Folder         string   `json:"folder,omitempty"`
	Kind           string   `json:"kind"`
	Language       string   `json:"language,omitempty"`
	Attribute      string   `json:"attribute,omitempty"`
	State          string   `json:"state"`
	Decorative     bool     `json:"decorative,omitempty"`
	OldDescription string   `json:"old_description"`
	NewDescription string   `json:"new_description"`
	OldTags        []string `json:"old_tags,omitempty"`
	NewTags        []string `json:"new_tags"`
	Warnings       []string `json:"warnings,omitempty"`
	Remark         string   `json:"note,omitempty"`
	Calls          int      `json:"requests"`
	Credits        *float64 `json:"credits,omitempty"`
	Model          string   `json:"model,omitempty"`
	Asset          string   `json:"asset"`
	Link           string   `json:"link,omitempty"`
}

func (r Row) line() line {
	return line{
		ID: r.ID, Decision: r.choice(), Name: r.Name, Category: r.Category, Folder: r.Folder, Kind: r.Kind, Language: r.Language, Attribute: r.Attribute,
		State: r.State, Decorative: r.Decorative, OldDescription: r.Old.Description, NewDescription: r.New.Description, OldTags: r.Old.Tags,
		NewTags: append([]string{}, r.New.Tags...), Warnings: r.Warnings(), Remark: r.Remark, Calls: r.Calls, Credits: r.Credits, Model: r.Model, Asset: r.Asset, Link: r.Link,
	}
}

// WriteJSON writes proposals as JSON Lines without thumbnails.
func WriteJSON(w io.Writer, rows iter.Seq2[Row, error]) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for r, err := range rows {
		if err != nil {
			return err
		}
		if err := e.Encode(r.line()); err != nil {
			return err
		}
	}
	return nil
}

func columns() []string {
	return []string{columnID, columnDecision, "name", "category", "folder", "kind", "language", "attribute", "state", "decorative", "old_description",
		columnNewDescription, "old_tags", columnNewTags, "warnings", "note", "requests", "credits", "model", "asset", "link"}
}

func (l line) cells() []string {
	decorative, credits := "", ""
	if l.Decorative {
		decorative = "yes"
	}
	if l.Credits != nil {
		credits = strconv.FormatFloat(*l.Credits, 'f', -1, 64)
	}
	return []string{l.ID, string(l.Decision), l.Name, l.Category, l.Folder, l.Kind, l.Language, l.Attribute, l.State, decorative, l.OldDescription,
		l.NewDescription, joinTags(l.OldTags), joinTags(l.NewTags), strings.Join(l.Warnings, " "), l.Remark, strconv.Itoa(l.Calls), credits, l.Model, l.Asset, l.Link}
}

// WriteCSV writes proposals as a spreadsheet table without thumbnails: RFC 4180 in UTF-8, with
// the byte order mark that Excel needs to recognize the encoding.
func WriteCSV(w io.Writer, rows iter.Seq2[Row, error]) error {
	if _, err := io.WriteString(w, "\ufeff"); err != nil {
		return err
	}
	table := tables.NewCRLFWriter(w)
	if err := table.Write(columns()); err != nil {
		return err
	}
	for r, err := range rows {
		if err != nil {
			return err
		}
		cells := r.line().cells()
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(unixLines(cell), "\n", "\r\n")
		}
		if err := table.Write(cells); err != nil {
			return err
		}
	}
	return nil
}

// joinTags joins tags with semicolons and quotes those that contain one.
func joinTags(tags []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = ';'
	if err := w.Write(tidyTags(tags)); err != nil || len(tags) == 0 {
		return ""
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// splitTags reverses joinTags. It also accepts blanks, empty tags and stray quotes.
func splitTags(cell string) []string {
	r := csv.NewReader(strings.NewReader(cell))
	r.Comma, r.LazyQuotes, r.TrimLeadingSpace, r.FieldsPerRecord = ';', true, true, -1
	lines, err := r.ReadAll()
	tags := []string{}
	if err != nil { // an unclosed quote
		lines = [][]string{strings.Split(cell, ";")}
	}
	for _, fields := range lines {
		tags = append(tags, fields...)
	}
	return tidyTags(tags)
}
