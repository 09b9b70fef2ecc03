package addresses

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// tsv is old address, tab, new address, without a head: the form of the map that the
// vendor's migration tool writes.
type tsv struct{ w *bufio.Writer }

func (t tsv) Write(r Row) error {
	_, err := t.w.WriteString(r.Old + "\t" + r.New + "\n")
	return err
}

func (t tsv) Close() error { return t.w.Flush() }

// A csvWriter writes one line for an asset, under a head.
type csvWriter struct {
	buffer *bufio.Writer
	w      *csv.Writer
}

func newCSV(b *bufio.Writer) (*csvWriter, error) {
	c := &csvWriter{b, csv.NewWriter(b)}
	return c, c.w.Write([]string{"old", "new", "key", "asset_id", "size", "verified", "widths", "default_image"})
}

func (c *csvWriter) Write(r Row) error {
	return c.w.Write([]string{
		r.Old, r.New, r.Key, r.AssetID, strconv.FormatInt(r.Size, 10), strconv.FormatBool(r.Verified),
		strings.Join(r.widths(), " "), r.Images[defaultImage],
	})
}

func (c *csvWriter) Close() error {
	c.w.Flush()
	if err := c.w.Error(); err != nil {
		return err
	}
	return c.buffer.Flush()
}

// A jsonWriter writes one object for an asset and line: a Row as encoding/json writes it,
// which would take half of the time of the command for addresses that need no escapes.
type jsonWriter struct {
	w    *bufio.Writer
	line []byte
}

func (j *jsonWriter) Write(r Row) error {
	b := append(j.line[:0], `{"old":"`...)
	b = append(b, r.Old...)
	b = append(b, `","new":"`...)
	b = append(b, r.New...)
	b = append(b, `","key":`...)
	b = appendText(b, r.Key)
	b = append(b, `,"asset_id":`...)
	b = appendText(b, r.AssetID)
	b = append(b, `,"size":`...)
	b = strconv.AppendInt(b, r.Size, 10)
	b = append(b, `,"verified":`...)
	b = strconv.AppendBool(b, r.Verified)
	b = appendImages(b, r.Images)
	j.line = append(b, "}\n"...)
	_, err := j.w.Write(j.line)
	return err
}

func appendImages(b []byte, images map[string]string) []byte {
	before := `,"images":{`
	for _, name := range slices.Sorted(maps.Keys(images)) {
		b = append(b, before...)
		b = appendText(b, name)
		b = append(b, `:"`...)
		b = append(b, images[name]...)
		b = append(b, '"')
		before = ","
	}
	if len(images) > 0 {
		b = append(b, '}')
	}
	return b
}

// appendText appends a text as JSON, one that is no address and may need escapes.
func appendText(b []byte, text string) []byte {
	if strings.IndexFunc(text, needsEscape) < 0 {
		b = append(b, '"')
		b = append(b, text...)
		return append(b, '"')
	}
	var escaped bytes.Buffer
	e := json.NewEncoder(&escaped)
	e.SetEscapeHTML(false) // addresses stay readable
	_ = e.Encode(text)     // a text can be encoded, and a buffer be written
	return append(b, bytes.TrimSuffix(escaped.Bytes(), []byte("\n"))...)
}

func needsEscape(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > '~' }

func (j *jsonWriter) Close() error { return j.w.Flush() }
