package redirect

import (
	"database/sql"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"assetferry/internal/oldurl"
	"assetferry/internal/oldurl/oldurltest"
	"assetferry/internal/tabular"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// FuzzTSV verifies that each line has two URLs whatever the service answers, with and without
// escapes for formulas.
func FuzzTSV(f *testing.F) {
	for _, key := range oldurltest.Hostile() {
		f.Add(key, "https://a.example/"+key)
	}
	f.Fuzz(func(t *testing.T, key, rawURL string) {
		if !oldurltest.IsKey(key) {
			return
		}
		r := rowOf(t, "/", key)
		r.New = rawURL
		old, got, ok := strings.Cut(strings.TrimSuffix(write(t, "tsv", r), "\n"), "\t")
		if !ok || tabular.UnescapeFormula(old) != r.Old || tabular.UnescapeFormula(got) != oldurl.Clean(rawURL) || strings.ContainsAny(got, "\t\r\n") {
			t.Errorf("%q and %q became %q and %q", key, rawURL, old, got)
		}
	})
}

// words parses a configuration like nginx: words, with or without quotes, up to a semicolon or a
// brace.
func words(t *testing.T, conf string) (lines [][]string) {
	t.Helper()
	var line []string
	for conf != "" {
		switch c := conf[0]; c {
		case ' ', '\n':
			conf = conf[1:]
		case '#':
			_, conf, _ = strings.Cut(conf, "\n")
		case ';', '{', '}':
			lines, line, conf = append(lines, line), nil, conf[1:]
		case '"':
			word, rest := quoted(t, conf[1:])
			line, conf = append(line, word), rest
		default:
			n := strings.IndexAny(conf, " ;{}")
			line, conf = append(line, conf[:n]), conf[n:]
		}
	}
	return lines
}

// quoted reads a word up to its closing quote. A blank or a semicolon must follow.
func quoted(t *testing.T, s string) (word, rest string) {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte(`"'\`, s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("trn", s[i+1]) >= 0:
			t.Fatalf("a control character in %q", s)
		case s[i] == '"':
			if i+1 == len(s) || s[i+1] != ' ' && s[i+1] != ';' {
				t.Fatalf("something behind the quotes in %q", s)
			}
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	t.Fatalf("no end of quotes in %q", s)
	return "", ""
}

// FuzzNginx verifies that nginx reads the intended rows from the map, and that no two keys are
// equal for nginx.
func FuzzNginx(f *testing.F) {
	hostile := oldurltest.Hostile()
	for n, key := range hostile {
		f.Add(key, hostile[(n+1)%len(hostile)], "https://a.example/"+key)
		f.Add(key, strings.ToUpper(key), "https://a.example/"+key)
	}
	f.Fuzz(func(t *testing.T, one, two, rawURL string) {
		if !oldurltest.IsKey(one) || !oldurltest.IsKey(two) || one == two || len(one+two+rawURL) > 300 {
			return
		}
		rows := []Row{rowOf(t, "/", one), rowOf(t, "/", two)}
		rows[0].New, rows[1].New = rawURL, rawURL
		lines := words(t, write(t, "nginx", rows...))
		if len(lines) != 2+1+2+1+2*3 {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		for n, r := range rows {
			key, value := lines[3+n][0], lines[3+n][1]
			if want := "/" + r.Key; key != want && !matchesOnly(t, key, want, "/"+rows[1-n].Key) {
				t.Errorf("the key of %q is %q", want, key)
			}
			if want := statusOf(r) + " " + strings.ReplaceAll(oldurl.Clean(rawURL), "$", "%24"); value != want || len(lines[3+n]) != 2 {
				t.Errorf("the value is %q, want %q", value, want)
			}
		}
		if strings.EqualFold(lines[3][0], lines[4][0]) && lines[3][0][0] == '/' && isASCII(one+two) {
			t.Errorf("two keys are the same to nginx: %q", lines[3:5])
		}
	})
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) }

func matchesOnly(t *testing.T, key, want, other string) bool {
	t.Helper()
	pattern, ok := strings.CutPrefix(key, "~")
	if !ok {
		return false
	}
	re, err := regexp.Compile(pattern)
	must(t, err)
	return re.MatchString(want) && !re.MatchString(other) && !re.MatchString(want+"\n")
}

// FuzzApache verifies that Apache, which splits a line at the first blank, finds the key that it
// derives from the path.
func FuzzApache(f *testing.F) {
	for _, key := range oldurltest.Hostile() {
		f.Add(key, "https://a.example/"+key)
	}
	f.Fuzz(func(t *testing.T, key, rawURL string) {
		if !oldurltest.IsKey(key) || len(key+rawURL) > 200 {
			return
		}
		r := rowOf(t, "/", key)
		r.New = rawURL
		_, line, _ := strings.Cut(write(t, "apache", r), "assetferry.dbm\n")
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[1] != statusOf(r)+":"+oldurl.Clean(rawURL) || line[0] == '#' {
			t.Fatalf("%q became %q", key, line)
		}
		if path, err := url.PathUnescape(fields[0]); err != nil || path != "/"+key {
			t.Errorf("%q became %q", key, path)
		}
	})
}

// FuzzSQL verifies that a text is a literal in every dialect: quotes are doubled, and there are no
// backslashes.
func FuzzSQL(f *testing.F) {
	for _, key := range oldurltest.Hostile() {
		f.Add(key)
		f.Add(key + `\' OR 1=1 --`)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := sqlText(s)
		inner := got[1 : len(got)-1]
		if strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") || strings.ContainsAny(inner, "\\\"`\n\r\x00") || !isASCII(inner) {
			t.Errorf("%q became %s", s, got)
		}
		if strings.ReplaceAll(inner, "''", "'") != oldurl.Clean(s) {
			t.Errorf("%q became %s", s, got)
		}
	})
}

// TestSQL verifies that SQLite accepts the statements, in more than one batch.
func TestSQL(t *testing.T) {
	want := map[string]string{}
	var rows []Row
	for n := range sqlBatch {
		for _, key := range oldurltest.Hostile()[:3] {
			r := rowOf(t, "/", strings.Repeat("x", n)+key)
			r.New = "https://a.example/" + key + `'\`
			rows, want[r.Old] = append(rows, r), oldurl.Clean(r.New)
		}
	}
	for _, key := range oldurltest.Hostile()[3:] {
		r := rowOf(t, "/", key)
		rows, want[r.Old] = append(rows, r), r.New
	}
	db, err := sql.Open("sqlite", ":memory:")
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1) // each has a memory of its own
	_, err = db.ExecContext(t.Context(), write(t, "sql", rows...))
	must(t, err)
	_, err = db.ExecContext(t.Context(), write(t, "sql")) // of none
	must(t, err)
	got, err := db.QueryContext(t.Context(), `SELECT old_url, new_url, asset_id, verified FROM asset_urls`)
	must(t, err)
	defer got.Close()
	n := 0
	for got.Next() {
		var old, rawURL, asset string
		var verified int
		must(t, got.Scan(&old, &rawURL, &asset, &verified))
		if n++; want[old] != rawURL || asset != "kq3-Zr8Lw_aT" || verified > 1 {
			t.Errorf("%s: got %s of %s, want %s", old, rawURL, asset, want[old])
		}
	}
	must(t, got.Err())
	if n != len(rows) {
		t.Errorf("%d rows, want %d", n, len(rows))
	}
}
