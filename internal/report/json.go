package report

import (
	"bytes"
	"encoding/json"
	"io"
)

// WriteJSON writes the report as one JSON document.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // URLs stay readable
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// jsonForm writes a document with a list of items, followed by their counts.
type jsonForm struct {
	items, entries int64
	element        bytes.Buffer
	encoder        *json.Encoder // into element
}

func newJSONForm() *jsonForm {
	f := &jsonForm{}
	f.encoder = json.NewEncoder(&f.element)
	f.encoder.SetEscapeHTML(false)
	return f
}

// A jsonLine is a Line in JSON.
type jsonLine struct {
	Key      string `json:"key"`
	Action   string `json:"action"`
	State    string `json:"state"`
	Undone   bool   `json:"undone,omitempty"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Size     int64  `json:"size"`
	Category string `json:"category"`
	Folder   string `json:"folder"`
	Name     string `json:"name"`
	AssetID  string `json:"asset_id,omitempty"`
	URL      string `json:"url,omitempty"`
	Class    string `json:"class,omitempty"`
	Error    string `json:"error,omitempty"`
	Attempts int    `json:"attempts"`

	PreviousKey string `json:"previous_key,omitempty"`
	AssetName   string `json:"asset_name,omitempty"`
}

func (*jsonForm) extension() string { return ".json" }

func (f *jsonForm) begin(w io.Writer, r Report) error {
	f.items = 0
	return open(w, r, "items")
}

func (f *jsonForm) line(w io.Writer, l Line) error {
	f.items++
	return f.writeElement(w, f.items, jsonLine(l))
}

func (f *jsonForm) end(w io.Writer, listed Folder) error { return closeWith(w, "results", listed) }

func (f *jsonForm) beginIndex(w io.Writer, r Report) error {
	f.entries = 0
	return open(w, r, "folders")
}

func (f *jsonForm) entry(w io.Writer, folder Folder, file string) error {
	f.entries++
	return f.writeElement(w, f.entries, struct {
		Folder
		File string `json:"file,omitempty"`
	}{folder, file})
}

func (f *jsonForm) endIndex(w io.Writer, r Report) error { return closeWith(w, "results", r.Results) }

// open begins a document with a list.
func open(w io.Writer, r Report, list string) error {
	head, err := compact(struct {
		Version int    `json:"version"`
		Run     string `json:"run"`
	}{schema, r.Run.ID})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, string(head[:len(head)-1])+`,"`+list+`":[`)
	return err
}

// writeElement writes the n-th element of the list, counted from 1, on a line of its own.
func (f *jsonForm) writeElement(w io.Writer, n int64, v any) error {
	f.element.Reset()
	if n > 1 {
		f.element.WriteByte(',')
	}
	f.element.WriteByte('\n')
	if err := f.encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(bytes.TrimSuffix(f.element.Bytes(), []byte("\n")))
	return err
}

// closeWith ends the list and the document with a last field.
func closeWith(w io.Writer, field string, v any) error {
	text, err := compact(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n],\""+field+"\":"+string(text)+"}\n")
	return err
}

func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
