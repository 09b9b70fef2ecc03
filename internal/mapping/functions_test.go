package mapping

import (
	"strings"
	"testing"
)

// evaluate returns the value of an expression for harbour.
func evaluate(t *testing.T, source string) (string, error) {
	t.Helper()
	m := mustMap(t, "rules:\n  - folder: x\n    tags: '"+strings.ReplaceAll("${ "+source+" }", "'", "''")+"'", Options{})
	said, err := m.rules[0].tags.templates[0].list(m.see(harbour()))
	return strings.Join(said, "|"), err
}

func TestFunctions(t *testing.T) {
	covered := map[string]bool{}
	for source, want := range map[string]string{
		`key`: "archive/2019/Old Harbour.JPG", `folder`: "archive/2019", `name`: "Old Harbour", `ext`: "jpg",
		`size`: "2500000", `time`: "2024-05-06T07:08:09Z", `type`: "image/jpeg",
		`alt`: "Ships at a quay", `len(collections)`: "0", `tags`: "harbour|Ships", `title`: "Harbour", `description`: "", `latitude`: "59.9",
		`caption`: "The old harbour before it burnt down", `headline + creator + credit + copyright + instructions`: "",
		`city + state + country + location + rating`: "", `created`: "2019-08-07T10:11:12+02:00", `longitude`: "10.7",

		`field("department")`: "press", `field("tags")`: "harbour; Ships", `field("none")`: "",
		`fields("tags")`: "harbour|Ships", `fields("none")`: "",
		`has("exif.Make")`: "true", `has("none")`: "false", `from("caption")`: "xmp", `from("none")`: "",

		`date(created, "YYYY/MM")`: "2019/08", `date(created, "YY-MM-DD hh:mm:ss")`: "19-08-07 10:11:12",
		`date("2020-02-03", "YYYY")`: "2020", `date("1999", "MM.YYYY")`: "01.1999", `date("spring", "YYYY")`: "", `date("", "YYYY")`: "",
		`date("2019:08:07 10:11:12", "DD")`: "07", `date("2019-08-07T10:11:12.5", "hh")`: "10",

		`day(created) + 1`: "2019-08-08", `day("03.02.2020", "DD.MM.YYYY")`: "2020-02-03", `string(day(expires) < today)`: "false",

		`either(headline, title, alt)`: "Harbour", `either(headline, " ")`: "", `either("a")`: "a",
		`slug("Über Größe, 50 % — ok!")`: "uber-große-50-ok", `slug("  ")`: "", `slug("日本 1")`: "日本-1",
		`flatten(folder)`: "archive-2019", `flatten("/a//b/", " ")`: "a b", `flatten("")`: "",
		`segment(folder, 1)`: "archive", `segment(folder, -1)`: "2019", `segment(folder, 3)`: "", `segment(folder, -3)`: "", `segment("", 1)`: "",
		`segments(key)`: "archive|2019|Old Harbour.JPG", `segments("")`: "",
		`replace(name, " ", "_")`: "Old_Harbour", `replace("aaa", "a", "")`: "", `replace("a", "", "b")`: "a",

		`trim(" a ")`: "a", `trimPrefix(folder, "archive/")`: "2019", `trimSuffix("ab", "b")`: "a", `upper("a")`: "A", `lower(name)`: "old harbour",
		`split("a;b", ";")`: "a|b", `split("a;b;c", ";", 2)`: "a|b;c", `split("a;b", ";", 0)`: "", `split("a;b", ";", -1)`: "a|b", `join(["a", key[:1]])`: "aa", `join(map(tags, len(#)), "+")`: "7+5", `join(tags, ", ")`: "harbour, Ships", `hasPrefix(key, "arch")`: "true", `hasSuffix(key, "x")`: "false",
		`indexOf("abc", "c")`: "2", `len(tags)`: "2", `first(tags)`: "harbour", `last(tags)`: "Ships", `first(fields("none"))`: "",
		`take(tags, 1)`: "harbour", `uniq(["a", "a"])`: "a", `sort(["b", "a"])`: "a|b", `reverse(tags)`: "Ships|harbour", `concat(tags, ["x"])`: "harbour|Ships|x",
		`all(tags, # != "")`: "true", `any(tags, # startsWith "S")`: "true", `none(tags, # == "x")`: "true", `filter(tags, # contains "our")`: "harbour",
		`map(tags, upper(#))`: "HARBOUR|SHIPS", `find(tags, # != "harbour")`: "Ships", `count(tags, # != "")`: "2",
		`int("7") + 1`: "8", `float("1.5")`: "1.5", `string(size)`: "2500000", `min(1, 2)`: "1", `max(1, 2)`: "2",

		`size > 1000 ? "large" : "small"`: "large", `name matches "^Old"`: "true", `"Ships" in tags`: "true", `not (ext in ["jpg", "png"])`: "false",
		`key | trimPrefix("archive/") | upper()`: "2019/OLD HARBOUR.JPG", `headline ?? "x"`: "", `'single'`: "single", "`raw`": "raw",
	} {
		got, err := evaluate(t, source)
		if err != nil || got != want {
			t.Errorf("%s is %q, want %q, %v", source, got, want, err)
		}
		for _, name := range Names() {
			covered[name] = covered[name] || strings.Contains(source, name)
		}
	}
	for _, name := range Names() {
		if !covered[name] {
			t.Errorf("%s is in no case", name)
		}
	}
}

func TestFunctionErrors(t *testing.T) {
	for source, want := range map[string]string{
		`segment(folder, 0)`:          "segment 0 does not exist",
		`segments(folder)[7]`:         "index out of range",
		`int(name)`:                   "invalid operation: int(Old Harbour)",
		`date(created, trim("YEAR"))`: `"YEAR" is not a date format`,
		`replace(map(tags, key)[0], "a", "` + strings.Repeat("b", 1<<16) + `")`: "the text is longer than 64 KiB",
		`join(["a", "` + strings.Repeat("b", 1<<16) + `"], "")`:                 "the text is longer than 64 KiB",
		`split("` + strings.Repeat(",", maxParts) + `", ",")`:                   "the text has more than 2000 parts",
		`join([[key]])`: "join needs a list of texts",
	} {
		if got, err := evaluate(t, source); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "assetferry.yaml:4:") {
			t.Errorf("%s is %.80q, %v", source, got, err)
		}
	}
}
