package proposals

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/tabular"
)

var update = flag.Bool("update", false, "write the golden files")

// samples are proposals as they are, one of each kind.
func samples() []Row {
	credits := 1.25
	return []Row{
		{ID: "p-1", Asset: "a1", Name: "IMG_1234.jpg", Category: "Photos", Folder: "2024/harbour", Kind: "describe", Language: "en", State: "proposed",
			Thumbnail: "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=", Link: "https://assets.example.com/a1",
			Old: Text{"A boat in a harbour", []string{"boat", "IMG"}}, New: Text{"A red boat in the harbour of Oslo", []string{"boat", "harbour; quay", "red"}}, Calls: 1, Credits: &credits, Model: "agent-1"},
		{ID: "p-2", Asset: "a2", Name: "<script>alert(1)</script>.png", Category: "Drawings", Kind: "describe", Language: "en", State: "proposed",
			Thumbnail: "https://assets.example.com/a2/images/200.webp", New: Text{"Image of " + strings.Repeat("a long story ", 11), nil}, Calls: 2, Remark: "The AI service needed two attempts."},
		{ID: "p-3", Asset: "a3", Name: "line.svg", Category: "Drawings", Kind: "describe", State: "accepted", Decorative: true, Thumbnail: "javascript:alert(1)", Link: "javascript:alert(1)"},
		{ID: "p-4", Asset: "a4", Name: "quay.jpg", Category: "Photos", Kind: "translate", Language: "de", Attribute: "description_de", State: "rejected",
			Old: Text{Description: "Kai"}, New: Text{Description: "Der alte Kai\nbei Nacht"}, Calls: 1},
		{ID: "p-5", Asset: "a5", Name: "same.jpg", Category: "Photos", Kind: "review", State: "applied", Old: Text{Description: "A <b>quay"}, New: Text{Description: "A <b>quay"}},
	}
}

func each(all []Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func head() Head {
	return Head{Run: "20260102-030405", Destination: "sandbox: env-1", MadeAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func csvOf(t testing.TB, all []Row) string {
	return written(t, func(w io.Writer) error { return WriteCSV(w, each(all)) })
}

func jsonOf(t testing.TB, all []Row) string {
	return written(t, func(w io.Writer) error { return WriteJSON(w, each(all)) })
}

func htmlOf(t testing.TB, all []Row) string {
	return written(t, func(w io.Writer) error { return WriteHTML(w, head(), each(all)) })
}

func TestGolden(t *testing.T) {
	for name, got := range map[string]string{"proposals.csv": csvOf(t, samples()), "proposals.jsonl": jsonOf(t, samples()), "proposals.html": htmlOf(t, samples())} {
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; after a review run: go test ./internal/enrich/proposals -run Golden -update\n%s", golden, cmp.Diff(string(want), got))
		}
	}
}

func TestErrorOfRowsIsReturned(t *testing.T) {
	broken := errors.New("broken")
	rows := func(yield func(Row, error) bool) {
		if yield(samples()[0], nil) {
			yield(Row{}, broken)
		}
	}
	if err := WriteCSV(io.Discard, rows); !errors.Is(err, broken) {
		t.Errorf("CSV: %v", err)
	}
	if err := WriteJSON(io.Discard, rows); !errors.Is(err, broken) {
		t.Errorf("JSON: %v", err)
	}
	if err := WriteHTML(io.Discard, head(), rows); !errors.Is(err, broken) {
		t.Errorf("HTML: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		r    Row
		want string
	}{
		{Row{New: Text{Description: strings.Repeat("ü", 125)}}, ""},
		{Row{New: Text{Description: strings.Repeat("ü", 126)}}, "126 characters"},
		{Row{New: Text{Description: "An image of a quay"}}, `"An image of"`},
		{Row{New: Text{Description: "Images often lie"}}, ""},
		{Row{}, "The proposal is empty."},
		{Row{New: Text{Tags: []string{"a"}}}, ""},
		{Row{Old: Text{"a", []string{"B", "c"}}, New: Text{"a", []string{"b"}}}, "same as the current text"},
		{Row{Old: Text{"a", []string{"b"}}, New: Text{"", []string{"b"}}}, "same as the current text"},
		{Row{Old: Text{"a", []string{"b"}}, New: Text{"a", []string{"c"}}}, ""},
		{Row{Decorative: true}, ""},
		{Row{Decorative: true, New: Text{Description: "A line"}}, "marks the image as decorative, but has a description"},
		{Row{New: Text{Description: "A <b>quay</b>"}}, "markup"},
	} {
		if got := strings.Join(test.r.Warnings(), " "); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: got %q, want %q", test.r, got, test.want)
		}
	}
}

// hostile are texts that tables change if one is not careful.
func hostile() []string {
	return []string{
		"=1+1", "+49 30", "-1", "@home", "'=1+1", "''=1", "'quoted'", "'", "''", "\ttab", "a\tb", "semi;colon", "com,ma", `say "hi"`, `"`, `"a;b"`, "line\nbreak", "line\r\nbreak", "line\rbreak",
		"  blanks  ", "\u202eright to left", "emoji 🏝", "e\u0301", `\.`, "\ufeffmark", "NULL", "1.5", "TRUE", "\n=after a break", "a;", ";a", "';", "#",
	}
}

func TestRoundTrip(t *testing.T) {
	var all []Row
	for i, text := range hostile() {
		all = append(all, Row{ID: fmt.Sprint("id ", i), State: accepted, New: Text{text, []string{text, "and " + text, "third"}}})
	}
	for name, table := range map[string]string{"a.csv": csvOf(t, all), "a.jsonl": jsonOf(t, all), "a.json": jsonOf(t, all)} {
		got, err := readText(t, name, table, all)
		if err != nil || len(got.All) != len(all) || got.Remarks != nil {
			t.Fatalf("%s: %d of %d, %q, %v", name, len(got.All), len(all), got.Remarks, err)
		}
		for i, d := range got.All {
			if d.ID != all[i].ID || d.Choice != Accept || d.Description != nil || d.Tags != nil {
				t.Errorf("%s: %q comes back as another text: %s", name, all[i].New.Description, cmp.Diff(Decision{}, d))
			}
		}
	}
}

// readText reads a table of decisions on proposals.
func readText(t testing.TB, name, table string, all []Row) (Decisions, error) {
	t.Helper()
	file, err := tabular.New(name, use(), strings.NewReader(table), int64(len(table)))
	if err != nil {
		return Decisions{}, err
	}
	return read(file, finder(all))
}

func finder(all []Row) func(id string) (Row, bool, error) {
	return func(id string) (Row, bool, error) {
		i := slices.IndexFunc(all, func(r Row) bool { return r.ID == id })
		if i < 0 {
			return Row{}, false, nil
		}
		return all[i], true, nil
	}
}

func pointer[T any](v T) *T { return &v }

func TestReadWhatPeopleEdit(t *testing.T) {
	all := samples()
	want := Decisions{
		All: []Decision{
			{ID: "p-2", Choice: Accept, Description: pointer("A lighthouse"), Tags: &[]string{"sea", "a;b"}},
			{ID: "p-1", Choice: Reject},
			{ID: "p-3", Choice: Decorative},
		},
		Open: 1, Late: 1, Remarks: []string{`the column "Notes" is unknown and was ignored`},
	}
	for name, table := range map[string]string{
		"excel.csv": "\ufeffDecision;Notes;New Tags;ID;New Description\r\nACCEPT;x;\"sea; \"\"a;b\"\";;sea\";p-2;A lighthouse \r\n reject ;;;p-1;\r\ndecorative;;;p-3;\r\n;;;;\r\n;;;p-4;Der alte Kai\r\naccept;;;p-5;A <b>quay\r\n",
		"tabs.tsv":  "id\tdecision\tnew_description\tnew_tags\tNotes\np-2\taccept\tA lighthouse\t\"sea;\"\"a;b\"\"\"\t\np-1\treject\t\t\t\np-3\tdecorative\t\t\t\np-4\t\tDer alte Kai\t\t\np-5\taccept\tA <b>quay\t\t\n",
	} {
		got, err := readText(t, name, table, all)
		got.Remarks = slices.DeleteFunc(got.Remarks, func(r string) bool { return strings.Contains(r, "the edited text") })
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(want, got))
		}
	}
	got, err := readText(t, "programs.jsonl", `{"id": "p-2", "decision": "accept", "new_tags": ["sea", "a;b", "sea"], "Notes": 1, "new_description": "A lighthouse"}
{"id": "p-1", "decision": "reject"}
{"decision": "decorative", "id": "p-3", "new_description": null}
{"id": "p-4", "decision": null}
{"id": "p-5", "decision": "accept"}`, all)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("JSON: %v\n%s", err, cmp.Diff(want, got))
	}
}

func TestReadReportsIgnoredEdits(t *testing.T) {
	got, err := readText(t, "a.csv", "id,decision,new_description\np-1,,Better\np-2,reject,Better\n", samples())
	want := []string{"line 2: the edited text was ignored, because there is no decision; to use it, write accept", "line 3: the edited text was ignored, because the decision is reject"}
	if err != nil || !slices.Equal(got.Remarks, want) || got.Open != 1 || len(got.All) != 1 || got.All[0].Description != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReadAcceptsThatAPictureIsDecorative(t *testing.T) {
	got, err := readText(t, "a.csv", "id,decision,new_description\na,accept,\nb,accept,A line\n", []Row{{ID: "a", State: proposed, Decorative: true}, {ID: "b", State: proposed, Decorative: true}})
	if want := []Decision{{ID: "a", Choice: Decorative}, {ID: "b", Choice: Accept, Description: pointer("A line")}}; err != nil || !cmp.Equal(got.All, want) {
		t.Errorf("got %+v, %v", got.All, err)
	}
}

func TestReadReportsMistakes(t *testing.T) {
	for _, test := range []struct{ name, table, want string }{
		{"a.csv", "", "a.csv:1:1: the table is empty"},
		{"a.csv", "id,new_description\np-1,x\n", `a.csv:1:1: there is no column "decision"`},
		{"a.csv", "decision,tags\naccept,x\n", `a.csv:1:1: there is no column "id"`},
		{"a.csv", "id,decision,Decision\np-1,,\n", `a.csv:1:13: the column "Decision" occurs twice`},
		{"a.csv", "id,decision\np-1,maybe\n", `a.csv:2:5: the decision "maybe" is not valid: use accept, reject or decorative, or leave it empty`},
		{"a.csv", "decision,id\naccept,p-1\n\naccept,p-1\n", `a.csv:4:8: the proposal "p-1" is already on line 2`},
		{"a.csv", "decision,id\naccept,1.2E+05\n", `a.csv:2:8: there is no proposal with the id "1.2E+05"`},
		{"a.csv", "decision,id\naccept,\n", "a.csv:2:8: the id of the proposal is missing"},
		{"a.csv", "id,decision,new_description\np-1,accept,\n", "a.csv:2:12: the description is empty"},
		{"a.csv", "id,decision,new_description\np-1,accept," + strings.Repeat("ä", 1025) + "\n", "a.csv:2:12: the description has 1025 characters; the limit is 1024"},
		{"a.csv", "id,decision\np-1\n", "a.csv:2:1: the row has 1 field, but the header has 2"},
		{"a.jsonl", `{"id": "p-1", "decision": "accept", "new_tags": "a, b"}`, "a.jsonl:1:1: new_tags has the wrong type"},
		{"a.jsonl", `{"id": 1}`, "a.jsonl:1:1: id has the wrong type"},
		{"a.jsonl", `[{"id": "p-1"}]`, "a.jsonl:1:1: not a JSON object"},
		{"a.jsonl", "{\"id\": \"p-1\"}\n{\"id\": \"p-1\"}", `a.jsonl:2:1: the proposal "p-1" is already on line 1`},
	} {
		got, err := readText(t, test.name, test.table, samples())
		wrong, ok := errors.AsType[*tabular.Mistakes](err)
		if !ok || !strings.Contains(err.Error(), "\n"+test.want) || !strings.Contains(wrong.Hint(), "assetferry help enrich") || len(got.All) > 0 {
			t.Errorf("%q: got %v, want %s", test.table, err, test.want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "a.xlsx"), finder(nil)); err == nil || !strings.Contains(err.Error(), "is not a .csv") {
		t.Errorf("another form: %v", err)
	}
	broken := errors.New("broken")
	name := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(name, []byte("id,decision\na,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(name, func(string) (Row, bool, error) { return Row{}, false, broken }); !errors.Is(err, broken) {
		t.Errorf("an unreadable state database: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(csvOf(f, samples()), false)
	f.Add(jsonOf(f, samples()), true)
	f.Add("id;decision;new_tags\np-1;accept;\"a", false)
	all := samples()
	f.Fuzz(func(t *testing.T, table string, isJSON bool) {
		name := "a.csv"
		if isJSON {
			name = "a.jsonl"
		}
		got, err := readText(t, name, table, all)
		if _, ok := errors.AsType[*tabular.Mistakes](err); err != nil && !ok {
			t.Fatal(err)
		}
		for _, d := range got.All {
			if _, ok, _ := finder(all)(d.ID); !ok || d.Choice == "" || d.Choice != Accept && (d.Description != nil || d.Tags != nil) {
				t.Errorf("%+v", d)
			}
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, description, tag string) {
		description, tag = strings.ToValidUTF8(description, "?"), strings.ToValidUTF8(tag, "?")
		all := []Row{{ID: "a", State: accepted, New: Text{description, []string{tag, "b"}}}}
		for name, table := range map[string]string{"a.csv": csvOf(t, all), "a.jsonl": jsonOf(t, all)} {
			got, err := readText(t, name, table, all)
			if err != nil || !cmp.Equal(got, Decisions{All: []Decision{{ID: "a", Choice: Accept}}}) {
				t.Errorf("%s: %v\n%s", name, err, cmp.Diff(Decisions{}, got))
			}
		}
	})
}
