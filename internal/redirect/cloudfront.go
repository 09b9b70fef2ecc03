package redirect

import (
	"bufio"
	_ "embed"
)

// CloudFrontFunction returns the function that looks up redirects in a store. It is code of
// JavaScript runtime 2.0 of CloudFront Functions.
func CloudFrontFunction() string { return cloudFrontFunction }

//go:embed cloudfront.js
var cloudFrontFunction string

// A cloudFront writes the file that a key value store of CloudFront imports. The keys are encoded
// paths, and the values are the status and the new URL. The file must not contain a key twice.
type cloudFront struct {
	w       *bufio.Writer
	before  string
	written repeatCheck
}

// The maximum lengths of a key and a value in characters, and of the file in bytes.
const (
	cloudFrontKey   = 512
	cloudFrontValue = 1024
	cloudFrontFile  = 5_000_000
)

func cloudFrontLimits() limits {
	return limits{
		bytes: cloudFrontFile, who: "a key value store of CloudFront imports at most",
		remedy: "redirect at the origin with --format nginx or apache, or write a smaller map with --source or --run",
	}
}

func newCloudFront(b *bufio.Writer, _ *PathSummary) (Writer, error) {
	_, err := b.WriteString(`{"data":[`)
	return &cloudFront{b, "\n", repeatCheck{}}, err
}

// Write writes a row. An encoded path and a clean URL need no escapes in JSON.
func (c *cloudFront) Write(r Row) error {
	key, err := escapedPathOf(r.Old)
	if err != nil {
		return err
	}
	value := statusOf(r) + " " + r.New
	switch {
	case len(key) > cloudFrontKey || len(value) > cloudFrontValue:
		return ErrTooLong
	case !c.written.first(key):
		return errRepeated
	}
	_, err = c.w.WriteString(c.before + `{"key":"` + key + `","value":"` + value + `"}`)
	c.before = ",\n"
	return err
}

func (c *cloudFront) Close() error {
	if _, err := c.w.WriteString("\n]}\n"); err != nil {
		return err
	}
	return c.w.Flush()
}
