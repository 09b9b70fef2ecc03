package report

import (
	"encoding/json"
	"io"
)

// WriteJSON writes the report as one JSON document.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // addresses stay readable
	e.SetIndent("", "  ")
	return e.Encode(r)
}
