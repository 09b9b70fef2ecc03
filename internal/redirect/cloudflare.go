package redirect

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"strings"
)

// A cloudflare writes the CSV file of a Bulk Redirect List: source URL, target URL, status, and four
// parameters that are all off. The file has no header. A source URL without a scheme applies to
// http and https.
type cloudflare struct {
	buffer  *bufio.Writer
	w       *csv.Writer
	written repeatCheck
}

// cloudflareURL is the maximum length in bytes of a URL in a list.
const cloudflareURL = 32_000

// The maximum numbers of redirects of a Cloudflare account, by plan.
const (
	cloudflareFree       = 10_000
	cloudflarePro        = 25_000
	cloudflareBusiness   = 50_000
	cloudflareEnterprise = 1_000_000
)

func cloudflareLimits() limits {
	return limits{
		rows: cloudflareEnterprise, who: "Cloudflare accepts at most", remedy: "write one map for each source with --source, or for each run with --run",
		advice: func(t Tally) string {
			if t.Written <= cloudflareFree {
				return ""
			}
			return fmt.Sprintf("An account of Cloudflare can have %s redirects on the plan Free, %s on Pro, %s on Business and %s on Enterprise.",
				grouped(cloudflareFree), grouped(cloudflarePro), grouped(cloudflareBusiness), grouped(cloudflareEnterprise))
		},
	}
}

func newCloudflare(b *bufio.Writer, _ *PathSummary) (Writer, error) {
	return &cloudflare{b, csv.NewWriter(b), repeatCheck{}}, nil
}

func (c *cloudflare) Write(r Row) error {
	source, err := cloudflareSource(r.Old)
	switch {
	case err != nil:
		return err
	case len(source) > cloudflareURL || len(r.New) > cloudflareURL:
		return ErrTooLong
	case !c.written.first(source):
		return errRepeated
	}
	return c.w.Write([]string{source, r.New, statusOf(r), "FALSE", "FALSE", "FALSE", "FALSE"})
}

// cloudflareSource returns an old URL without its scheme. Source URLs have no port, no user, no
// query and no wildcard.
func cloudflareSource(old string) (string, error) {
	before, source, found := strings.Cut(old, "//")
	host, _, hasPath := strings.Cut(source, "/")
	switch {
	case !found || strings.Contains(before, "/") || host == "" || !hasPath || strings.ContainsAny(host, ":@"):
		return "", ErrHost
	case strings.Contains(source, "?"):
		return "", ErrQuery
	case strings.ContainsAny(source, "*#"):
		return "", ErrCharacters
	}
	return source, nil
}

func (c *cloudflare) Close() error {
	c.w.Flush()
	if err := c.w.Error(); err != nil {
		return err
	}
	return c.buffer.Flush()
}
