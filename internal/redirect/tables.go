package redirect

import (
	"bufio"
	"encoding/json"
	"strconv"
	"strings"

	"assetferry/internal/tabular"
)

// tsv writes old URL, tab, new URL, without a header, like the vendor's migration tool.
type tsv struct{ w *bufio.Writer }

func newTSV(b *bufio.Writer, _ *PathSummary) (Writer, error) { return tsv{b}, nil }

func (t tsv) Write(r Row) error {
	_, err := t.w.WriteString(tabular.EscapeFormula(r.Old) + "\t" + tabular.EscapeFormula(r.New) + "\n")
	return err
}

func (t tsv) Close() error { return t.w.Flush() }

// A csvWriter writes a header and one line per row.
type csvWriter struct {
	buffer *bufio.Writer
	w      *tabular.Writer
}

func newCSV(b *bufio.Writer, _ *PathSummary) (Writer, error) {
	c := &csvWriter{b, tabular.NewWriter(b)}
	return c, c.w.Write([]string{"old", "new", "key", "asset_id", "size", "verified", "widths", "default_image", "kind"})
}

func (c *csvWriter) Write(r Row) error {
	return c.w.Write([]string{
		r.Old, r.New, r.Key, r.AssetID, strconv.FormatInt(r.Size, 10), strconv.FormatBool(r.Verified),
		strings.Join(r.widths(), " "), r.Images[defaultImage], string(r.Kind),
	})
}

func (c *csvWriter) Close() error { return c.buffer.Flush() }

// A jsonWriter writes one object per line.
type jsonWriter struct {
	w *bufio.Writer
	e *json.Encoder
}

func newJSON(b *bufio.Writer, _ *PathSummary) (Writer, error) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // URLs stay readable
	return &jsonWriter{b, e}, nil
}

func (j *jsonWriter) Write(r Row) error { return j.e.Encode(r) }

func (j *jsonWriter) Close() error { return j.w.Flush() }
