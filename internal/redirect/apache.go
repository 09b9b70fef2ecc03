package redirect

import (
	"bufio"

	"assetferry/internal/oldurl"
)

// An apache writes a text map for mod_rewrite. It has words between blanks and knows no
// quotes, so the path of a request is encoded before it is looked up, by a function of
// Apache's own, whose way of encoding the keys have.
type apache struct{ w *bufio.Writer }

const apacheHead = `# Old addresses and where they lead now, for Apache httpd 2.4. Made by assetferry urls.
#
# Put these lines into the virtual host of the old addresses, with the path of this
# file. They cannot stand in a .htaccess file.
#
#     RewriteEngine On
#     RewriteMap escape int:escape
#     RewriteMap assetferry "txt:/etc/apache2/assetferry.txt"
#     RewriteCond ${assetferry:${escape:%{REQUEST_URI}}} ^301:(.+)
#     RewriteRule ^ %1 [R=301,L,NE,QSD]
#     RewriteCond ${assetferry:${escape:%{REQUEST_URI}}} ^302:(.+)
#     RewriteRule ^ %1 [R=302,L,NE,QSD]
#
# 301 is for assets that were verified since they arrived; browsers remember it for
# good. All others get 302 until assetferry verify was run and this file is made again.
#
# Apache reads a text map from its beginning for each address that it has not looked up
# yet. For many addresses make a database of it, which is then "dbm:" and its path:
#
#     httxt2dbm -i assetferry.txt -o assetferry.dbm
`

// apacheLine is the longest line that Apache reads whole, with its end.
const apacheLine = 1000

func newApache(b *bufio.Writer) (*apache, error) {
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

// apacheKey encodes a path as the function escape of mod_rewrite does.
func apacheKey(path string) string { return oldurl.EscapePath(path, "0123456789abcdef") }

func (a *apache) Close() error { return a.w.Flush() }
