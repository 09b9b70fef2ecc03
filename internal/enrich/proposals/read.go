package proposals

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"assetferry/internal/metadata"
	"assetferry/internal/tabular"
)

// A Choice is a decision on a proposal; "" if there is none.
type Choice string

// The choices, as written in tables.
const (
	Accept     Choice = "accept"
	Reject     Choice = "reject"
	Decorative Choice = "decorative" // the image needs no description, now and later
)

// A Decision is a decision on one proposal.
type Decision struct {
	ID          string
	Choice      Choice
	Description *string   // replaces the proposed one; nil: as proposed
	Tags        *[]string // as Description
}

// Decisions are the decisions of a table.
type Decisions struct {
	All     []Decision // in the order of the table
	Open    int        // proposals without a decision
	Late    int        // proposals that were applied or deleted since, and do not change
	Remarks []string   // about ignored columns and rows, at most maxRemarks
}

// maxRemarks limits the remarks about a table.
const maxRemarks = 20

// use describes the kind of table in messages.
func use() tabular.Use {
	return tabular.Use{Kind: "table of decisions", Topic: "enrich", Example: `{"id": "…", "decision": "accept"}`, Lines: true}
}

// Read reads decisions from a file. The extension selects CSV, with commas, semicolons or tabs,
// or JSON Lines. Columns may have any order, and only id and decision are required. The
// function find returns the proposal with an ID, or false.
//
// If the table has mistakes, the error is a *rows.Mistakes and no decision is valid.
func Read(name string, find func(id string) (Row, bool, error)) (Decisions, error) {
	file, err := tabular.Open(name, use())
	if err != nil {
		return Decisions{}, err
	}
	decisions, err := read(file, find)
	return decisions, errors.Join(err, file.Close())
}

func read(file *tabular.File, find func(id string) (Row, bool, error)) (Decisions, error) {
	r := &reader{file: file, find: find, wrong: file.Mistakes(), lines: map[string]int{}}
	decode := decodeJSON
	if file.Columns() != nil {
		c, err := r.columns()
		if err := r.wrong.Note(err); err != nil {
			return Decisions{}, err
		}
		decode = c.decode
		if err := r.wrong.Verdict(); err != nil { // without a valid header the rows have no meaning
			return Decisions{}, err
		}
	}
	err := file.Each(r.wrong, func(_ int64, from tabular.Row) error {
		s, err := decode(r, from)
		if err != nil {
			return err
		}
		return r.take(from, s)
	})
	if err == nil {
		err = r.wrong.Verdict()
	}
	if err != nil {
		return Decisions{}, err
	}
	return r.decisions, nil
}

// A reader reads one table.
type reader struct {
	file      *tabular.File
	find      func(id string) (Row, bool, error)
	wrong     *tabular.Mistakes
	lines     map[string]int // by ID
	decisions Decisions
}

// said contains the values of a row.
type said struct {
	id, decision string
	description  *string
	tags         *[]string
	at           map[string]int // cells by column, for CSV
}

func (r *reader) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(r.decisions.Remarks) < maxRemarks && !slices.Contains(r.decisions.Remarks, text) {
		r.decisions.Remarks = append(r.decisions.Remarks, text)
	}
}

// A header maps column names to cells.
type header map[string]int

// columns reads the header of a CSV table.
func (r *reader) columns() (header, error) {
	h := header{}
	for n, name := range r.file.Columns() {
		is := strings.ReplaceAll(strings.ToLower(name), " ", "_")
		if _, again := h[is]; again && name != "" {
			return nil, r.file.HeaderMistake(n, fmt.Sprintf("the column %q occurs twice", name))
		}
		if !slices.Contains(columns(), is) {
			r.unknown(name)
		}
		h[is] = n
	}
	for _, must := range []string{columnID, columnDecision} {
		if _, ok := h[must]; !ok {
			return nil, r.file.HeaderMistake(0, fmt.Sprintf("there is no column %q", must))
		}
	}
	return h, nil
}

func (r *reader) unknown(column string) {
	r.remark("the column %q is unknown and was ignored", column)
}

func (h header) decode(_ *reader, from tabular.Row) (said, error) {
	cell := func(column string) (string, bool) {
		n, ok := h[column]
		if !ok {
			return "", false
		}
		return tabular.UnescapeFormula(from.Cells[n]), true
	}
	s := said{at: h}
	s.id, _ = cell(columnID)
	s.decision, _ = cell(columnDecision)
	if text, ok := cell(columnNewDescription); ok {
		s.description = &text
	}
	if text, ok := cell(columnNewTags); ok {
		tags := splitTags(text)
		s.tags = &tags
	}
	return s, nil
}

func decodeJSON(r *reader, from tabular.Row) (said, error) {
	var fields map[string]json.RawMessage
	if err := from.Decode(&fields); err != nil {
		return said{}, err
	}
	var s said
	for name, value := range fields {
		var err error
		switch name {
		case columnID:
			err = json.Unmarshal(value, &s.id)
		case columnDecision:
			err = json.Unmarshal(value, &s.decision)
		case columnNewDescription:
			err = json.Unmarshal(value, &s.description)
		case columnNewTags:
			err = json.Unmarshal(value, &s.tags)
		default:
			if !slices.Contains(columns(), name) {
				r.unknown(name)
			}
		}
		if err != nil {
			return said{}, from.Mistake(0, fmt.Sprintf("%s has the wrong type: use a string, or for new_tags a list of strings", name))
		}
	}
	return s, nil
}

// take adds the decision of a row.
func (r *reader) take(from tabular.Row, s said) error {
	mistake := func(column, format string, args ...any) error {
		return from.Mistake(s.at[column], fmt.Sprintf(format, args...))
	}
	line, _ := from.Where(s.at[columnID])
	id, choice := strings.TrimSpace(s.id), Choice(strings.ToLower(strings.TrimSpace(s.decision)))
	switch before, again := r.lines[id]; {
	case id == "":
		return mistake(columnID, "the id of the proposal is missing")
	case again:
		return mistake(columnID, "the proposal %q is already on line %d", id, before)
	case !slices.Contains([]Choice{"", Accept, Reject, Decorative}, choice):
		return mistake(columnDecision, "the decision %q is not valid: use %s, %s or %s, or leave it empty", s.decision, Accept, Reject, Decorative)
	}
	r.lines[id] = line
	row, found, err := r.find(id)
	if err != nil {
		return err
	}
	if !found {
		return mistake(columnID, "there is no proposal with the id %q; a spreadsheet may have changed the id", id)
	}
	d := Decision{ID: id, Choice: choice}
	d.edit(s, row)
	if choice == Accept && row.Decorative && d.Description == nil { // the accepted proposal is that the image is decorative
		d.Choice, d.Tags = Decorative, nil
	}
	return r.decide(d, row, line, mistake)
}

// edit stores edited values.
func (d *Decision) edit(s said, row Row) {
	if s.description != nil {
		if text := tidy(*s.description); text != tidy(row.New.Description) {
			d.Description = &text
		}
	}
	if s.tags != nil {
		if tags := tidyTags(*s.tags); !slices.Equal(tags, tidyTags(row.New.Tags)) {
			d.Tags = &tags
		}
	}
}

func (r *reader) decide(d Decision, row Row, line int, mistake func(column, format string, args ...any) error) error {
	isEdited := d.Description != nil || d.Tags != nil
	switch {
	case !row.isOpen():
		if d.Choice != "" {
			r.decisions.Late++
		}
		return nil
	case d.Choice == "":
		r.decisions.Open++
		if isEdited {
			r.remark("line %d: the edited text was ignored, because there is no decision; to use it, write %s", line, Accept)
		}
		return nil
	case d.Choice != Accept && isEdited:
		r.remark("line %d: the edited text was ignored, because the decision is %s", line, d.Choice)
		d.Description, d.Tags = nil, nil
	case d.Description != nil && *d.Description == "":
		return mistake(columnNewDescription, "the description is empty; write one, reject the proposal, or use the decision %s", Decorative)
	case d.Description != nil && utf8.RuneCountInString(*d.Description) > metadata.MaxDescription:
		return mistake(columnNewDescription, "the description has %d characters; the limit is %d", utf8.RuneCountInString(*d.Description), metadata.MaxDescription)
	}
	r.decisions.All = append(r.decisions.All, d)
	return nil
}

// tidy returns text without the changes that spreadsheets and browsers make.
func tidy(text string) string { return strings.TrimSpace(unixLines(text)) }

func unixLines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// tidyTags returns trimmed tags without duplicates and empty ones.
func tidyTags(tags []string) []string {
	tidied := []string{}
	for _, t := range tags {
		if t = tidy(t); t != "" && !slices.Contains(tidied, t) {
			tidied = append(tidied, t)
		}
	}
	return tidied
}
