package sandboxtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/sandbox/profile"
)

// ReadingVariable is the environment variable that sets the flag -reading for the tests of
// several packages at once, of which not all have the flag.
const ReadingVariable = "SANDBOX_READING"

var readingFlag = flag.String("reading", os.Getenv(ReadingVariable),
	"how every sandbox of a test reads what is not documented: lines of a profile, with semicolons between them; empty: some one way, some the other")

// Other is the other reading of the documentation: all folders come in one list, and a
// category's list holds also what is in its folders.
const Other = "folders: flat; category_listing: deep"

// Readings are all readings that a test is to run under: the sandbox's own and [Other], or the
// one that the flag -reading gives.
func Readings() []string {
	if *readingFlag != "" {
		return []string{*readingFlag}
	}
	return []string{"folders: top; category_listing: direct", Other}
}

// Reading is the reading of the nth sandbox of a test, where not each can be had under all.
func Reading(n int) string {
	all := Readings()
	return all[n%len(all)]
}

// Read gives the profile that a reading stands for.
func Read(tb testing.TB, reading string) profile.Profile {
	tb.Helper()
	p, err := read(reading)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Flagged gives the profile of the flag -reading, for sandboxes of tests that are about
// something else; without the flag it is none.
func Flagged() (profile.Profile, error) {
	if *readingFlag == "" {
		return profile.Profile{}, nil
	}
	return read(*readingFlag)
}

func read(reading string) (profile.Profile, error) {
	p, err := profile.Read("-reading", strings.NewReader(profileOf(reading)))
	p.Version = 0 // it comes from no file, and answers are as described under each reading
	return p, err
}

// ReadingFile writes a reading into a file of a directory, for sandboxes that are processes of
// their own, and maybe of other users.
func ReadingFile(tb testing.TB, dir, reading string) string {
	tb.Helper()
	name := filepath.Join(dir, "profile.yaml")
	if err := os.WriteFile(name, []byte(profileOf(reading)), 0o644); err != nil {
		tb.Fatal(err)
	}
	return name
}

func profileOf(reading string) string {
	text := "version: 1\n"
	for line := range strings.SplitSeq(reading, ";") {
		text += strings.TrimSpace(line) + "\n"
	}
	return text
}
