package redirect

import (
	"bufio"
	"fmt"
	"strings"

	"assetferry/internal/pattern"
)

// A redirectsFile writes a file _redirects: old path, new URL and status between blanks. Services
// compare encoded paths, and read * and :name in an old path as placeholders, however a path is
// encoded in the file.
type redirectsFile struct {
	w       *bufio.Writer
	longest int    // maximum length of a line in bytes; 0: none
	https   bool   // the service redirects only to https
	force   string // follows the status
	written repeatCheck
}

const redirectsFileHead = `# Old URLs and their new URLs for %s, made by assetferry urls.
#
# Name this file _redirects, and put it into the folder that is published. If the folder
# already has such a file, add these lines to its beginning.
#
# Verified assets have 301, which browsers keep permanently. The others have 302. Run
# assetferry verify, and make this file again.
`

// cloudflarePagesLine is the maximum length in characters of a line.
const cloudflarePagesLine = 1000

func cloudflarePagesLimits() limits {
	return limits{
		rows: 2000, who: "Cloudflare Pages reads only the first",
		remedy: "use --format cloudflare, or write a smaller map with --source or --run",
	}
}

// netlifyMany is the number of redirects from which Netlify advises against a file.
const netlifyMany = 10_000

func netlifyLimits() limits {
	return limits{
		advice: func(t Tally) string {
			if t.Written < netlifyMany {
				return ""
			}
			return fmt.Sprintf("Netlify has no fixed limit, but advises against %s redirects or more: the deploy can fail.", grouped(netlifyMany))
		},
	}
}

func newCloudflarePages(b *bufio.Writer, _ *PathSummary) (Writer, error) {
	_, err := fmt.Fprintf(b, redirectsFileHead, "Cloudflare Pages")
	return &redirectsFile{b, cloudflarePagesLine, true, "", repeatCheck{}}, err
}

// newNetlify returns a writer of redirects that also apply where a file is published at the old
// path.
func newNetlify(b *bufio.Writer, _ *PathSummary) (Writer, error) {
	_, err := fmt.Fprintf(b, redirectsFileHead, "Netlify")
	return &redirectsFile{b, 0, false, "!", repeatCheck{}}, err
}

// placeholder is what one of the services reads as a placeholder.
var placeholder = pattern.Lazy(`\*|/:|:[A-Za-z_]`)

func (f *redirectsFile) Write(r Row) error {
	path, err := escapedPathOf(r.Old)
	if err != nil {
		return err
	}
	line := path + " " + r.New + " " + statusOf(r) + f.force
	switch {
	case placeholder().MatchString(path):
		return ErrCharacters
	case f.https && !strings.HasPrefix(r.New, "https://"):
		return ErrNotHTTPS
	case f.longest > 0 && len(line) > f.longest:
		return ErrTooLong
	case !f.written.first(path):
		return errRepeated
	}
	_, err = f.w.WriteString(line + "\n")
	return err
}

func (f *redirectsFile) Close() error { return f.w.Flush() }
