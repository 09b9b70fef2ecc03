package sourcetest

import (
	"fmt"
	"strings"

	"assetferry/sources"
)

// sample returns a small source with names that a naive order sorts wrongly.
func sample() []File {
	var files []File
	for _, key := range []sources.Key{
		"a!/q", "a-b", "a.txt", "a/x", "a/y/z", "a0", "b", "b.c", "c/d/e/f", "c/d.e", "é", "z/1", "z/2", "z/10",
	} {
		files = append(files, File{key, []byte("content of " + strings.Repeat(string(key), 50))})
	}
	return files
}

// series returns n files in two directories.
func series(n int) []File {
	files := make([]File, n)
	for i := range files {
		files[i] = File{sources.Key(fmt.Sprintf("%d/%06d", i%2, i)), []byte{'#'}}
	}
	return files
}

// hostile returns files whose keys are difficult for quoting, paths and normalization. All sizes
// differ, so that a confusion is detected.
func hostile() []File {
	long := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 127)+"/", 8), "/") + "y"
	var files []File
	for i, key := range []sources.Key{
		"caf\u00e9.jpg", "cafe\u0301.jpg", "\u65e5\u672c\u8a9e/\u30d5\u30a1\u30a4\u30eb.png", "\U0001f600",
		" leading", "trailing ", "two  spaces", "tab\there", "new\nline", "carriage\rreturn",
		"100%", "a%2Fb", "%00", "%zz", "a+b", "a&b;c=d", "#hash?query", "back\\slash", "*?<>|:",
		"\"double\"", "'single'", "`back`", "$(sh)", "-dash", "~", "...", ".hidden", "con", "name.",
		"slashes//two", "/leading", "trailing/", ".", "..", "./dot", "dot/./dot", "up/../up", "../out",
		sources.Key(long), "not\xffutf8", "del\x7f",
	} {
		files = append(files, File{key, make([]byte, i+1)})
	}
	return files
}
