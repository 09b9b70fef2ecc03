package sandboxtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/sandbox/profile"
)

// ReadingVariable is the environment variable for the flag -reading, for tests of several packages
// of which some lack the flag.
const ReadingVariable = "SANDBOX_READING"

var readingFlag = flag.String("reading", os.Getenv(ReadingVariable),
	"how every sandbox of a test reads what is not documented: lines of a profile, with semicolons between them; empty: some one way, some the other")

// Other is the other reading of the documentation: one list contains all folders, and a list of a
// category includes its folders.
const Other = "folders: flat; category_listing: deep"

// Readings returns all readings that a test must use: the default of the sandbox and [Other], or
// the one of the flag -reading.
func Readings() []string {
	if *readingFlag != "" {
		return []string{*readingFlag}
	}
	return []string{"folders: top; category_listing: direct", Other}
}

// Reading returns the reading for the nth sandbox of a test that cannot use all of them for each
// sandbox.
func Reading(n int) string {
	all := Readings()
	return all[n%len(all)]
}

// Read returns the profile of a reading.
func Read(tb testing.TB, reading string) profile.Profile {
	tb.Helper()
	p, err := read(reading)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Flagged returns the profile of the flag -reading, for sandboxes of other tests; without the flag
// it is zero.
func Flagged() (profile.Profile, error) {
	if *readingFlag == "" {
		return profile.Profile{}, nil
	}
	return read(*readingFlag)
}

func read(reading string) (profile.Profile, error) {
	p, err := profile.Read("-reading", strings.NewReader(profileOf(reading)))
	p.Version = 0 // it is not from a file, and all responses match the description
	return p, err
}

// ReadingFile writes a reading to a file in a directory, for sandboxes in other processes, possibly
// of other users.
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
