package cli

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/metadata/imagetest"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/test/holdings"
)

// markerWords returns words that runs process, and the kinds of data that the help lists for them.
func markerWords() map[string]string {
	return map[string]string{
		"CaptionWord": "metadata", "CreatorWord": "metadata", "CreditWord": "metadata", "TagWord": "metadata", "-47.12": "metadata", // which no timestamp contains
		"FolderWord": "names", "NameWord": "names", "127.0.0.1": "URLs",
	}
}

// The test verifies that the help names all kinds of data that a run leaves for images with
// metadata: no column of another kind and no log file contains metadata.
func TestRunsLeaveWhatTheHelpNames(t *testing.T) {
	dir := t.TempDir()
	xmp := `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
		xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" xmlns:exif="http://ns.adobe.com/exif/1.0/"
		photoshop:Credit="CreditWord" exif:GPSLatitude="47,7.2S" exif:GPSLongitude="8,7.2E">
		<dc:creator><rdf:Seq><rdf:li>CreatorWord</rdf:li></rdf:Seq></dc:creator>
		<dc:description><rdf:Alt><rdf:li xml:lang="x-default">CaptionWord</rdf:li></rdf:Alt></dc:description>
		<dc:subject><rdf:Bag><rdf:li>TagWord</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>`
	picture := filepath.Join(dir, "src", "FolderWord", "NameWord.png")
	if err := os.MkdirAll(filepath.Dir(picture), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(picture, imagetest.Embedded{XMP: xmp}.PNG(), 0o644); err != nil {
		t.Fatal(err)
	}
	s := startService(t, sandbox.Options{})
	words := startWords(t, s, aiservice.Options{})
	env := append(s.variables(), words.variables()...)
	call := func(args ...string) {
		t.Helper()
		assetferry(t, dir, env, append(args, "--state", "st/x.db", "--log-file", "run.log", "--verbose")...).must(t, exit.CodeDone)
	}
	call("migrate", "src")
	if err := os.Rename(picture, filepath.Join(filepath.Dir(picture), "NameWord2.png")); err != nil {
		t.Fatal(err)
	}
	call("sync", "src")
	call("verify", "--content")
	call("enrich", "audit")
	log, err := os.ReadFile(filepath.Join(dir, "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := holdings.Kinds()
	columns := columnsWith(t, filepath.Join(dir, "st", "x.db"))
	for word, kind := range markerWords() {
		in := columns[word]
		if len(in) == 0 {
			t.Errorf("%s is nowhere in the state database", word)
		}
		for _, column := range in {
			table, name, _ := strings.Cut(column, ".")
			if table == "former" { // snapshots of receipts and assets, with all fields
				continue
			}
			i := slices.IndexFunc(kinds, func(k holdings.Kind) bool { return k.Has(table, name) })
			if i < 0 || !strings.HasPrefix(kinds[i].Text, kind) {
				t.Errorf("%s is in %s, which is not of the kind %q", word, column, kind)
			}
		}
		if kind == "metadata" && strings.Contains(string(log), word) {
			t.Errorf("%s is in the log file", word)
		}
	}
	if !strings.Contains(string(log), "NameWord") {
		t.Error("the log file names no file")
	}
}

// columnsWith returns the columns that contain one of the words, by word.
func columnsWith(t *testing.T, path string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`)
	if err != nil {
		t.Fatal(err)
	}
	var columns [][2]string
	for rows.Next() {
		var c [2]string
		if err := rows.Scan(&c[0], &c[1]); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for word := range markerWords() {
		for _, c := range columns {
			var n int
			err := db.QueryRow(`SELECT count(*) FROM "`+c[0]+`" WHERE instr(CAST("`+c[1]+`" AS TEXT), ?) > 0`, word).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				found[word] = append(found[word], c[0]+"."+c[1])
			}
		}
	}
	return found
}
