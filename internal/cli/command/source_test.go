package command

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The test verifies that each kind of source has a name for its URL, an error that does not contain
// the password, and a mention in the hint for a missing source.
func TestKindsOfSources(t *testing.T) {
	table, err := filepath.Abs("export.csv")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{
		"s3://bucket/prefix":        "s3://bucket/prefix/",
		"ckbox://production":        "",
		"ckfinder+https://HOST/c":   "ckfinder+https://host/c",
		"ckfinder+http://HOST/c":    "ckfinder+http://host/c",
		"wordpress+https://HOST/b/": "wordpress+https://host/b",
		"wordpress+http://HOST":     "wordpress+http://host",
		"rclone:drive:a/":           "rclone:drive:a",
		"rclone::sftp,host=h:/a/":   "rclone::sftp,host=h:/a",
		"table:export.csv":          "table:" + table,
		filepath.Join("a", "b", ""): filepath.Join(filepath.Dir(table), "a", "b"),
	}
	for source, want := range names {
		if name, err := NameOf(source); name != want || err != nil {
			t.Errorf("%s is called %q, %v; want %q", source, name, err, want)
		}
	}
	for _, k := range kinds() {
		if k.hint == "" || !slices.ContainsFunc(k.prefixes, func(p string) bool { return strings.Contains(KindsOfSources, p) }) {
			t.Errorf("%s: a person is not told of it", k.prefixes)
		}
		for _, prefix := range k.prefixes {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(source string) bool { return strings.HasPrefix(source, prefix) }) {
				t.Errorf("%s: this test does not name it", prefix)
			}
		}
	}
	for _, url := range []string{"s3://", "s3://user:hush@bucket", "ckbox://", "ckfinder+https://user:hush@host/c", "wordpress+https://user:hush@host", "dav://user:hush@host/", "rclone::sftp,host=h,pass=hush:/a", "rclone:/a"} {
		if _, err := NameOf(url); err == nil || CheckURL(url) == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
