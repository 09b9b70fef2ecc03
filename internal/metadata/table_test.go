package metadata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/tabular"
)

// write creates a file with a content.
func write(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// open opens a table that has no mistakes.
func open(tb testing.TB, path string) *Table {
	tb.Helper()
	return openWith(tb, path, OpenTable)
}

// openWith opens a table, and closes it when the test ends.
func openWith(tb testing.TB, path string, open func(string, Terms) (*Table, error)) *Table {
	tb.Helper()
	t, err := open(path, plain())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := t.Close(); err != nil {
			tb.Error(err)
		}
	})
	return t
}

// plain are terms of a table in our own words, whose URLs are a slash and the key.
func plain() Terms {
	return Terms{
		Word: func(column string) string { return column },
		Keys: func(url string) []string { return []string{strings.TrimPrefix(url, "/")} },
		Same: func(url string) string {
			if strings.HasPrefix(url, "/") {
				return url
			}
			return ""
		},
	}
}

// said returns the description among fields.
func said(f Fields) string { return strings.Join(f["description"], "|") }

// withTagsInOrder has tags in order.
func withTagsInOrder(f Fields) Fields {
	slices.Sort(f["tags"])
	return f
}

func identityOf(r row) Identity {
	switch r.by {
	case byOldURL:
		return Identity{Key: "another", OldURLs: []string{r.known}}
	case byChecksum:
		checksum, err := hex.DecodeString(r.known)
		if err != nil {
			panic(err)
		}
		return Identity{Key: "another", Checksum: checksum}
	}
	return Identity{Key: r.known}
}

func quay() Fields {
	return Fields{"description": {"A quay"}, "tags": {"Oslo", "sea"}, "Rights holder": {"Ida"}, "year": {"1999"}}
}

func TestTable(t *testing.T) {
	for name, content := range map[string]string{
		"plain.csv":      "key,description,tags,year,Rights holder\nharbour/a.jpg,A quay,sea;Oslo,1999,Ida\nb.jpg,,,,\n",
		"order.csv":      "Rights holder,tags,KEY,Description,year\nIda,\"Oslo, sea\",harbour/a.jpg,A quay,1999\n,,b.jpg,,\n",
		"windows.csv":    "\ufeffkey;description;tags;year;Rights holder\r\nharbour/a.jpg;A quay;\"Oslo;sea;\";1999;Ida\r\n;;;;\r\n\r\nb.jpg;;;;\r\n",
		"tabs.CSV":       "key\tdescription\ttags\tyear\tRights holder\n./harbour/a.jpg\t A quay \tsea,sea, Oslo\t1999\tIda\nb.jpg\t\t\t\t",
		"unix.jsonl":     `{"key":"harbour/a.jpg","description":"A quay","tags":["Oslo","sea"],"attributes":{"year":"1999","Rights holder":"Ida"}}` + "\n" + `{"key":"b.jpg"}`,
		"windows.ndjson": "\ufeff\r\n" + ` { "key": "harbour/a.jpg", "description": "A quay", "tags": ["sea", "Oslo", "sea"], "attributes": {"year": "1999", "Rights holder": "Ida", "b": ""}}` + "\r\n\r\n" + `{"key":"b.jpg","description":null}` + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			table := open(t, write(t, name, content))
			if table.Rows() != 2 {
				t.Errorf("%d rows, want 2", table.Rows())
			}
			for key, want := range map[string]Fields{"harbour/a.jpg": quay(), "b.jpg": nil} {
				if got, ok, err := table.Describe(Identity{Key: key}); err != nil || !ok || !reflect.DeepEqual(withTagsInOrder(got), want) {
					t.Errorf("%s: got %+v, %v, %v, want %+v", key, got, ok, err, want)
				}
			}
			if got, ok, err := table.Describe(Identity{Key: "a.jpg"}); err != nil || ok || got != nil {
				t.Errorf("a key without a row: got %+v, %v, %v", got, ok, err)
			}
		})
	}
}

func TestTableWithoutRows(t *testing.T) {
	for name, content := range map[string]string{"a.csv": "description,key", "b.jsonl": "", "c.jsonl": "\n\n", "d.csv": "key\n\n\n"} {
		table := open(t, write(t, name, content))
		if _, ok, err := table.Describe(Identity{Key: "a.jpg"}); ok || err != nil || table.Rows() != 0 {
			t.Errorf("%s: %v, %v, %d rows", name, ok, err, table.Rows())
		}
	}
}

func TestTextOverSeveralLines(t *testing.T) {
	table := open(t, write(t, "t.csv", "key,description\r\na.jpg,\"first \"\"line\"\"\r\nsecond, line\"\r\nb.jpg,b\r\n"))
	for key, want := range map[string]string{"a.jpg": "first \"line\"\nsecond, line", "b.jpg": "b"} {
		if m, _, err := table.Describe(Identity{Key: key}); err != nil || said(m) != want {
			t.Errorf("%s: got %q, %v, want %q", key, said(m), err, want)
		}
	}
}

func TestKeysInAnotherUnicodeForm(t *testing.T) {
	const composed, apart = "caf\u00e9.jpg", "cafe\u0301.jpg"
	one := open(t, write(t, "one.csv", "key,description\n"+composed+",only\n"))
	both := open(t, write(t, "both.csv", "key,description\n"+composed+",composed\n"+apart+",apart\n"))
	for _, test := range []struct {
		table     *Table
		key, want string
	}{
		{one, composed, "only"}, {one, apart, "only"}, {both, composed, "composed"}, {both, apart, "apart"},
	} {
		if m, ok, err := test.table.Describe(Identity{Key: test.key}); !ok || err != nil || said(m) != test.want {
			t.Errorf("%s, %+q: got %q, %v, %v, want %q", test.want, test.key, said(m), ok, err, test.want)
		}
	}
}

const long1MiB = "the row that begins here is longer than 1 MiB; check for a missing quote"

// mistakesIn opens a table and returns its mistakes.
func mistakesIn(t *testing.T, path string) *tabular.Mistakes {
	t.Helper()
	table, err := OpenTable(path, plain())
	if err != nil {
		wrong, ok := errors.AsType[*tabular.Mistakes](err)
		if !ok {
			t.Fatalf("got %v, want mistakes", err)
		}
		return wrong
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	wrong := table.Mistakes()
	if wrong == nil {
		t.Fatal("no mistakes")
	}
	return wrong
}

func TestMistakes(t *testing.T) {
	long := strings.Repeat("ä", MaxDescription+1)
	for _, test := range []struct {
		name, content string
		want          []string // as line:column: message
	}{
		{"empty.csv", "", []string{"1:1: the table is empty; it begins with a header"}},
		{"no-key.csv", "name,description\na,b\n", []string{"1:1: the header needs a column key, old_url or sha256"}},
		{"twice.csv", "key,year,year\n", []string{`1:10: duplicate column "year"`}},
		{"twice.csv", "Key,year,key\n", []string{`1:10: duplicate column "key"`}},
		{"nameless.csv", "key,,\n", []string{"1:5: an attribute or a column needs a name"}},
		{"ours.csv", "key,assetferry\n", []string{"1:5: the attribute assetferry is reserved for assetferry"}},
		{"latin.csv", "key,pla\xe7e\n", []string{"1:5: the name is not in UTF-8; save the table as UTF-8"}},
		{"open.csv", "key,\"year\n\n", []string{"2:2: the row that begins in line 1 has unmatched quotes"}},
		{"utf16.csv", "\xff\xfek\x00", []string{"1:1: the table is in UTF-16; save it as UTF-8"}},
		{"utf16.jsonl", "\xfe\xff\x00k", []string{"1:1: the table is in UTF-16; save it as UTF-8"}},
		{"rows.csv", "key,description\na.jpg\n,x\na\"b,c\nb.jpg,caf\xe9\nc.jpg,\"x\ny\" z\nd.jpg,fine\ne.jpg,\"" + long + "\"\n", []string{
			"2:1: the row has 1 field, but the header has 2; write each field, even if it is empty",
			"3:1: the key is missing",
			`4:2: a " in a field: put the field into quotes, and double each " in it`,
			"5:7: the text is not in UTF-8; save the table as UTF-8",
			"7:2: the row that begins in line 6 has unmatched quotes",
		}},
		{"unclosed.csv", "key,description\na.jpg,\"x\nb.jpg,y\n", []string{"3:9: the row that begins in line 2 has unmatched quotes"}},
		{"keys.csv", "key\na.jpg\n\nb.jpg\n\na.jpg\nb.jpg\n./a.jpg\n", []string{
			`6:1: the key "a.jpg" already has a row in line 2`,
			`7:1: the key "b.jpg" already has a row in line 4`,
			`8:1: the key "a.jpg" already has a row in line 2`,
		}},
		{"rows.jsonl", strings.Join([]string{
			`{"key":"a.jpg","description":"fine"}`, `{"key":"a.jpg"}`, `{"description":"x"}`, `{"key":"b.jpg","colour":{"is":"red"}}`, `["c.jpg"]`, `{"key":"d.jpg"`,
			`{"key":"e.jpg",}`, `{"key":"f.jpg"} {}`, `{"key":"g.jpg","alt":"a","Alt Text":"b"}`, `{"key":"h.jpg","attributes":{"year":[[1999]]}}`, `{"sha256":"abc"}`,
		}, "\n") + "\n", []string{
			`2:1: the key "a.jpg" already has a row in line 1`,
			"3:1: the key is missing",
			"4:16: a text is required, not an object; only attributes is an object",
			`5:1: not a JSON object such as {"key": "a.jpg", "description": "A quay"}`,
			"6:15: not JSON: the object is not closed",
			"7:16: not JSON: invalid character '}' looking for beginning of object key string",
			"8:16: data follows the object; each object needs its own line",
			`9:16: duplicate field "alt"`,
			"10:30: a list may contain only strings, numbers, true and false",
			`11:2: "abc" is not a SHA-256 checksum of 64 hexadecimal digits`,
		}},
		{"more.jsonl", strings.Join([]string{
			`{"key":"a.jpg","attributes":{"assetferry":"x"}}`, `{"key":"b.jpg","attributes":{" ":"x"}}`, "{\"key\":\"c\xe9.jpg\"}",
			`{"key":"d.jpg","description":"` + long + `"}`, `{"old_url":"a.jpg"}`,
		}, "\n"), []string{
			"1:30: the attribute assetferry is reserved for assetferry",
			"2:30: an attribute or a column needs a name",
			"3:1: the line is not in UTF-8; save the table as UTF-8",
			`5:2: "a.jpg" is not a URL such as https://old.example.com/files/a.jpg`,
		}},
		{"endless.csv", "key,description\na.jpg,x\n\nb.jpg,\"" + strings.Repeat("x\n", tabular.MaxRow) + "\na.jpg,y\n", []string{
			"3:1: " + long1MiB,
		}},
		{"endless.jsonl", `{"key":"` + strings.Repeat("x", tabular.MaxRow) + `"}`, []string{"1:1: " + long1MiB}},
		{"header.csv", `"key` + strings.Repeat("x", tabular.MaxRow) + `"`, []string{"1:1: " + long1MiB}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, test.name, test.content)
			wrong := mistakesIn(t, path)
			got := make([]string, len(wrong.First))
			for n, m := range wrong.First {
				got[n] = fmt.Sprintf("%d:%d: %s", m.Line, m.Column, m.What)
				if !strings.Contains(wrong.Error(), path+":"+got[n]) {
					t.Errorf("%q is not in the error: %v", got[n], wrong)
				}
			}
			if !reflect.DeepEqual(got, test.want) || wrong.Total != len(test.want) {
				t.Errorf("got %d mistakes\n%s\nwant\n%s", wrong.Total, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestManyMistakesAreCounted(t *testing.T) {
	var b strings.Builder
	b.WriteString("key,description\n")
	for range 3000 {
		b.WriteString("a.jpg,x\n,\n,y\n") // the second row is empty
	}
	wrong := mistakesIn(t, write(t, "t.csv", b.String()))
	if wrong.Total != 3000+2999 || len(wrong.First) != tabular.MaxReported || wrong.First[0].Line != 4 || wrong.First[1].Line != 5 {
		t.Fatalf("got %v", wrong)
	}
	if !strings.HasPrefix(wrong.Error(), "the metadata table has 5999 mistakes\n") || !strings.HasSuffix(wrong.Error(), "\nand 5989 more") {
		t.Errorf("got %v", wrong)
	}
}

func TestOpenTableRefuses(t *testing.T) {
	_, err := OpenTable(write(t, "table.xlsx", ""), plain())
	if _, ok := errors.AsType[*tabular.FormatError](err); !ok {
		t.Errorf("another form: %v", err)
	}
	if _, err := OpenTable(filepath.Join(t.TempDir(), "t.csv"), plain()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "t.csv")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTable(dir, plain()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestATableMayBeReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced there")
	}
	path := write(t, "t.csv", "key,description\na.jpg,before\n")
	table := open(t, path)
	if err := os.Rename(write(t, "t.csv", "key\n"), path); err != nil {
		t.Fatal(err)
	}
	if m, _, err := table.Describe(Identity{Key: "a.jpg"}); err != nil || said(m) != "before" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestATableThatIsWrittenTo(t *testing.T) {
	for _, now := range []string{"", "key,description\nb.jpg,before\n", "key,description\na\"jpg,before\n"} {
		path := write(t, "t.csv", "key,description\na.jpg,before\n")
		table := open(t, path)
		if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		_, ok, err := table.Describe(Identity{Key: "a.jpg"})
		if _, changed := errors.AsType[*tabular.ChangedError](err); ok || !changed {
			t.Errorf("%.20q: got %v, %v", now, ok, err)
		}
	}
}

// A broken file fails after a number of reads.
type broken struct {
	io.ReaderAt
	left int
}

func (b *broken) ReadAt(p []byte, at int64) (int, error) {
	if b.left--; b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return b.ReaderAt.ReadAt(p, at)
}

func TestAFileThatCannotBeRead(t *testing.T) {
	content := "key\na.jpg\nb.jpg\na.jpg\n"
	for n := 0; ; n++ {
		table, err := tableOf("t.csv", &broken{strings.NewReader(content), n}, int64(len(content)))
		if err == nil {
			break
		}
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("after %d reads: %v, %v", n, table, err)
		}
	}
	file := &broken{strings.NewReader("key\na.jpg\n"), 100}
	table, err := tableOf("t.csv", file, 10)
	if err != nil {
		t.Fatal(err)
	}
	file.left = 0
	if _, _, err := table.Describe(Identity{Key: "a.jpg"}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func TestATableIsAskedAtOnce(t *testing.T) {
	table := open(t, write(t, "t.csv", csvOf(1000)))
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for n := range 1000 {
				if m, ok, err := table.Describe(Identity{Key: keyOf(n)}); !ok || err != nil || said(m) != fmt.Sprint("Number ", n) {
					t.Errorf("%d: %+v, %v, %v", n, m, ok, err)
				}
			}
		})
	}
	workers.Wait()
}

func keyOf(n int) string { return fmt.Sprintf("library/folder %03d/image-%07d.jpg", n%500, n) }

// csvOf returns a table of n rows.
func csvOf(n int) string {
	var b strings.Builder
	b.WriteString("key,description,tags,place\n")
	for n := range n {
		fmt.Fprintf(&b, "%s,Number %d,\"sea;quay\",\"Oslo, at the quay\"\n", keyOf(n), n)
	}
	return b.String()
}

// FuzzTable verifies that any table can be read without a panic, and that a row without mistakes is
// the same when it is read again.
func FuzzTable(f *testing.F) {
	for _, seed := range []string{
		"key,description,tags,year\na.jpg,\"x\r\ny\",a;b,1999\n\n,,,\nb.jpg,,,\n", "\ufeffkey;tags\r\nd\r\n", "key\n\"", "key,a\na,\"b\"c\nd,e\n",
		`{"key":"a","tags":["b"],"attributes":{"c":"d"}}` + "\r\n\n" + `{"key":"a"}`, `{"key":1}`, "\xff\xfe", "key\na\na\n",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, isCSV bool) {
		name := "t.jsonl"
		if isCSV {
			name = "t.csv"
		}
		table, err := tableOf(name, bytes.NewReader(content), int64(len(content)))
		if err != nil {
			checkMistakes(t, content, err)
			return
		}
		if wrong := table.Mistakes(); wrong != nil {
			checkMistakes(t, content, wrong)
			return
		}
		again, err := tabular.New(name, use(), bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := again.Each(again.Mistakes(), func(_ int64, from tabular.Row) error {
			n++
			r, err := table.read(from)
			if m, ok, ofErr := table.Describe(identityOf(r)); err != nil || !ok || ofErr != nil || !reflect.DeepEqual(m, r.fields) {
				t.Fatalf("%q is %+v (%v), read back %+v, %v, %v", r.known, r.fields, err, m, ok, ofErr)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if n != table.Rows() {
			t.Fatalf("%d rows, and %d in the index", n, table.Rows())
		}
	})
}

// tableOf opens a table that another reader provides.
func tableOf(name string, from io.ReaderAt, size int64) (*Table, error) {
	file, err := tabular.New(name, use(), from, size)
	if err != nil {
		return nil, err
	}
	return newTable(file, plain(), false)
}

func checkMistakes(t *testing.T, content []byte, err error) {
	t.Helper()
	wrong, ok := errors.AsType[*tabular.Mistakes](err)
	if !ok || wrong.Total < len(wrong.First) || len(wrong.First) == 0 {
		t.Fatalf("got %v, want mistakes", err)
	}
	for _, m := range wrong.First {
		if m.Line < 1 || m.Column < 1 || m.Line > bytes.Count(content, []byte("\n"))+1 || m.What == "" {
			t.Fatalf("a mistake outside of the table: %+v", m)
		}
	}
}

// BenchmarkTable measures opening a table of a million rows and looking up one of them.
func BenchmarkTable(b *testing.B) {
	const rows = 1_000_000
	path := write(b, "t.csv", csvOf(rows))
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			table := open(b, path)
			b.ReportMetric(float64(heap()-before)/rows, "B/row")
			runtime.KeepAlive(table)
		}
	})
	b.Run("ask", func(b *testing.B) {
		table := open(b, path)
		for n := 0; b.Loop(); n++ {
			if _, ok, err := table.Describe(Identity{Key: keyOf(n * 7919 % rows)}); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
}

// heap returns the memory in use in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestAMillionRowsTakeLittleMemory verifies that the index of a million rows needs little memory.
func TestAMillionRowsTakeLittleMemory(t *testing.T) {
	const rows, most = 1_000_000, 20 << 20
	var x index
	before := heap()
	for n := range rows {
		x.add(newEntry(uint64(n)*0x9e3779b97f4a7c15, int64(n), false))
	}
	if took := heap() - before; took > most {
		t.Errorf("an index of %d rows takes %d bytes, at most %d are allowed", rows, took, most)
	}
	runtime.KeepAlive(&x)
}

// TestTableOfAnotherProgram verifies that the column of the key may have another name and contain
// paths.
func TestTableOfAnotherProgram(t *testing.T) {
	long := strings.Repeat("ä", MaxDescription+1)
	path := write(t, "export.csv", "assetPath,description\n/content/a.jpg,"+long+"\n")
	terms := plain()
	terms.Word = func(column string) string { return strings.Replace(column, "assetPath", "key", 1) }
	table, err := OpenTable(path, terms)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}()
	if m, ok, err := table.Describe(Identity{Key: "content/a.jpg"}); err != nil || !ok || said(m) != long || len(m) > 1 {
		t.Errorf("%+v, %v, %v", m, ok, err)
	}
}

const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // its SHA-256

func checksumOf(tb testing.TB, text string) []byte {
	tb.Helper()
	checksum, err := hex.DecodeString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return checksum
}

// TestWhatObjectsAreKnownBy verifies that rows are found by key, by old URL, and by checksum.
func TestWhatObjectsAreKnownBy(t *testing.T) {
	for name, content := range map[string]string{
		"old_url.csv": "Old URL,Alt Text\n/a/b.jpg,A quay\n/given,Given\n",
		"a.jsonl":     `{"old_url": "/a/b.jpg", "alt": "A quay"}` + "\n" + `{"oldURL": "/given", "Alt-Text": "Given"}`,
		"digest.tsv":  "SHA-256\talt\n" + strings.ToUpper(abc) + "\tA quay\n",
		"d.jsonl":     `{"checksum": "` + abc + `", "alt": "A quay"}`,
		"all.jsonl":   `{"key": "a/b.jpg", "alt": "A quay", "old_url": "/x", "sha256": "x"}`,
	} {
		table := open(t, write(t, name, content))
		f, ok, err := table.Describe(Identity{Key: "a/b.jpg", Checksum: checksumOf(t, abc)})
		if err != nil || !ok || !slices.Equal(f["alt"], []string{"A quay"}) {
			t.Errorf("%s: %v, %v, %v", name, f, ok, err)
		}
		if asks := strings.HasPrefix(name, "d"); table.AsksForChecksums() != asks {
			t.Errorf("%s asks for digests: %v", name, !asks)
		}
		if _, ok, err := table.Describe(Identity{Key: "b.jpg", Checksum: make([]byte, 32)}); ok || err != nil {
			t.Errorf("%s: another object: %v, %v", name, ok, err)
		}
		f, ok, err = table.Describe(Identity{Key: "c.jpg", OldURLs: []string{"no URL", "/given"}})
		if given := name == "old_url.csv" || name == "a.jsonl"; err != nil || ok != given || given && f["alt"][0] != "Given" {
			t.Errorf("%s: what was given: %v, %v, %v", name, f, ok, err)
		}
	}
}

// TestAKeyComesBeforeAnOldURL verifies that a row with the key of an object has precedence over a
// row with its old URL.
func TestAKeyComesBeforeAnOldURL(t *testing.T) {
	table := open(t, write(t, "t.jsonl", `{"old_url": "/a.jpg", "alt": "by old URL"}`+"\n"+`{"key": "a.jpg", "alt": "by key"}`))
	if f, _, err := table.Describe(Identity{Key: "a.jpg"}); err != nil || f["alt"][0] != "by key" {
		t.Errorf("%v, %v", f, err)
	}
}

func TestNamesOfColumns(t *testing.T) {
	table := open(t, write(t, "t.jsonl", `{"key": "a.jpg", "Alt Text": "A quay", "Keywords": "sea; Oslo", "year": 1999, "sold": true, "people": ["Ida", "Per", null], "none": null, "attributes": {"x": 1.50, "tags": "red"}}`))
	want := Fields{"alt": {"A quay"}, "tags": {"sea", "Oslo"}, "year": {"1999"}, "sold": {"true"}, "people": {"Ida", "Per"}, "x": {"1.50"}, "attributes.tags": {"red"}}
	if f, _, err := table.Describe(Identity{Key: "a.jpg"}); err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("got %v, %v\nwant %v", f, err, want)
	}
}

// TestLostRows verifies that rows without an object are reported with their lines.
func TestLostRows(t *testing.T) {
	table := open(t, write(t, "t.jsonl", `{"old_url": "/a.jpg"}`+"\n\n"+`{"key": "b.jpg"}`+"\n"+`{"key": "c.jpg"}`+"\n"+`{"key": "d.jpg"}`))
	for _, key := range []string{"a.jpg", "c.jpg", "e.jpg", "a.jpg"} {
		if _, _, err := table.Describe(Identity{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range [][]Lost{nil, {{3, "b.jpg"}}, {{3, "b.jpg"}, {5, "d.jpg"}}, {{3, "b.jpg"}, {5, "d.jpg"}}} {
		if total, first, err := table.Lost(most, nil); total != 2 || !reflect.DeepEqual(first, want) || err != nil {
			t.Errorf("at most %d: %d, %v, %v", most, total, first, err)
		}
	}
	only := func(name string) bool { return name == "d.jpg" }
	if total, first, err := table.Lost(5, only); total != 1 || !reflect.DeepEqual(first, []Lost{{5, "d.jpg"}}) || err != nil {
		t.Errorf("of some objects: %d, %v, %v", total, first, err)
	}
}

// TestMistakesStopNoOtherRow verifies that mistakes in some rows do not affect the others, and that
// the first row of an object counts.
func TestMistakesStopNoOtherRow(t *testing.T) {
	table := open(t, write(t, "t.csv", "key,alt\na.jpg\nb.jpg,first\nb.jpg,again\nc\"x,y\nd.jpg,right\n"))
	for key, want := range map[string]string{"a.jpg": "", "b.jpg": "first", "d.jpg": "right"} {
		if f, _, err := table.Describe(Identity{Key: key}); err != nil || strings.Join(f["alt"], "|") != want {
			t.Errorf("%s: %v, %v", key, f, err)
		}
	}
	if lost, _, err := table.Lost(1, nil); lost != 0 || err != nil || table.Rows() != 2 || table.Mistakes().Total != 3 {
		t.Errorf("%d rows, %d lost (%v), %v", table.Rows(), lost, err, table.Mistakes())
	}
}
