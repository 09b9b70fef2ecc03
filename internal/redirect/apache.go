package redirect

import (
	"bufio"

	"assetferry/internal/oldurl"
)

// An apache writes a text map for mod_rewrite. The format has words between blanks and no quotes.
// Apache therefore encodes the path of a request before the lookup, and the keys here are encoded
// in the same way.
type apache struct{ w *bufio.Writer }

const apacheHead = `# Old URLs and their new URLs for Apache httpd 2.4, made by assetferry urls.
#
# Copy these lines into the virtual host of the old URLs, with the path of this file.
# They do not work in a .htaccess file.
#
#     RewriteEngine On
#     RewriteMap escape int:escape
#     RewriteMap assetferry "txt:/etc/apache2/assetferry.txt"
#     RewriteCond ${assetferry:${escape:%{REQUEST_URI}}} ^301:(.+)
#     RewriteRule ^ %1 [R=301,L,NE,QSD]
#     RewriteCond ${assetferry:${escape:%{REQUEST_URI}}} ^302:(.+)
#     RewriteRule ^ %1 [R=302,L,NE,QSD]
#
# Verified assets have 301, which browsers keep permanently. The others have 302. Run
# assetferry verify, and make this file again.
#
# Apache reads a text map from its beginning for each URL that is not cached. For many
# URLs, make a database, and write "dbm:" and its path above:
#
#     httxt2dbm -i assetferry.txt -o assetferry.dbm
`

// apacheLine is the maximum length in bytes of a line that Apache reads, with its end.
const apacheLine = 1000

func newApache(b *bufio.Writer, _ *PathSummary) (Writer, error) {
	_, err := b.WriteString(apacheHead)
	return &apache{b}, err
}

func (a *apache) Write(r Row) error {
	path, err := pathOf(r.Old)
	if err != nil {
		return err
	}
	line := apacheKey(path) + " " + statusOf(r) + ":" + r.New + "\n"
	if len(line) > apacheLine {
		return ErrTooLong
	}
	_, err = a.w.WriteString(line)
	return err
}

// apacheKey encodes a path like the function escape of mod_rewrite.
func apacheKey(path string) string { return oldurl.EscapePath(path, "0123456789abcdef") }

func (a *apache) Close() error { return a.w.Flush() }
