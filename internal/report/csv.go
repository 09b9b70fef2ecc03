package report

import (
	"io"
	"strconv"

	"assetferry/internal/tabular"
)

// csvForm writes a row for each object, with the columns of csvColumns. It reuses the memory of
// the row.
type csvForm struct {
	clean func(string) string
	row   []byte
}

func newCSVForm(clean func(string) string) *csvForm { return &csvForm{clean: clean} }

func csvColumns() []string {
	return []string{"key", "action", "state", "reason", "message", "size", "category", "folder", "name", "asset_id", "url", "error", "attempts", "previous_key", "asset_name"}
}

func (*csvForm) extension() string { return ".csv" }

func (f *csvForm) begin(w io.Writer, _ Report) error { return f.write(w, csvColumns()) }

func (f *csvForm) line(w io.Writer, l Line) error {
	return f.write(w, []string{l.Key, l.Action, l.State, l.Reason, l.Message, strconv.FormatInt(l.Size, 10), l.Category, l.Folder, l.Name,
		l.AssetID, l.URL, l.Error, strconv.Itoa(l.Attempts), l.PreviousKey, l.AssetName})
}

func (*csvForm) end(io.Writer, Folder) error { return nil }

// The index has a row for each state of objects in a folder, and one for all that was listed there.
func (f *csvForm) beginIndex(w io.Writer, _ Report) error {
	return f.write(w, []string{"folder", "state", "objects", "bytes", "file"})
}

func (f *csvForm) entry(w io.Writer, folder Folder, file string) error {
	for _, p := range folder.sum() {
		if err := f.write(w, []string{folder.Name, p.State, strconv.FormatInt(p.Objects, 10), strconv.FormatInt(p.Bytes, 10), file}); err != nil {
			return err
		}
	}
	return nil
}

func (*csvForm) endIndex(io.Writer, Report) error { return nil }

func (f *csvForm) write(w io.Writer, cells []string) error {
	for i, cell := range cells {
		cells[i] = f.clean(cell)
	}
	f.row = append(tabular.AppendCSV(f.row[:0], cells), '\n')
	_, err := w.Write(f.row)
	return err
}
