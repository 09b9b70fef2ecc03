package export

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"assetferry/sources"
)

// maxSegment is the maximum length of a name in bytes: the limit of file systems without the ending
// of a sidecar.
const maxSegment = 255 - len(sidecarEnding)

// names converts keys to paths that are valid on all file systems, and unique without case and
// Unicode form. Paths depend only on the keys, so the same listing has the same paths. Keys and
// containers must come in the order of keys.
type names struct {
	levels []level // the top, and the containers of the last key
}

// A level is a container of the listing.
type level struct {
	prefix string          // of the keys in it
	path   string          // ends with a slash, except at the top
	taken  map[uint64]bool // hashes of folded names in it
}

func newNames() *names { return &names{levels: []level{{taken: map[uint64]bool{}}}} }

// enter returns the path of the next container.
func (n *names) enter(prefix sources.Key) string {
	l := n.level(string(prefix))
	segment := strings.TrimSuffix(strings.TrimPrefix(string(prefix), l.prefix), "/")
	path := l.path + l.take(segment, string(prefix))
	n.levels = append(n.levels, level{string(prefix), path + "/", map[uint64]bool{}})
	return path
}

// place returns the path of the next object.
func (n *names) place(key sources.Key) string {
	l := n.level(string(key))
	return l.path + l.take(strings.TrimPrefix(string(key), l.prefix), string(key))
}

// level leaves containers that do not contain a key, and returns the one that does.
func (n *names) level(key string) *level {
	for !strings.HasPrefix(key, n.levels[len(n.levels)-1].prefix) || key == n.levels[len(n.levels)-1].prefix {
		n.levels = n.levels[:len(n.levels)-1]
	}
	return &n.levels[len(n.levels)-1]
}

// take returns a unique name in a container. If needed, it inserts a part of the hash of the key
// before the extension.
func (l *level) take(segment, key string) string {
	name := fit(escape(segment), "")
	if looksLikeSidecar(name) || isDraft(name) || folded(name) == folded(revisionsFolder) || name != escape(segment) {
		name = fit(escape(segment), mark(key))
	}
	for again := key; l.taken[folded(name)]; again += "~" {
		name = fit(escape(segment), mark(again))
	}
	l.taken[folded(name)] = true
	return name
}

// FileName converts a name of the service to a file name like in an export, and also escapes a dot
// or a dash at the beginning. In other folders, a shell or a web server may read hidden files, and
// a dash may begin an option.
func FileName(name string) string {
	escaped := escape(name)
	switch {
	case name == "":
		return "asset"
	case name[0] == '.' || name[0] == '-':
		escaped = fmt.Sprintf("%%%02X", name[0]) + escape(name[1:])
	}
	if cut := fit(escaped, ""); cut == escaped {
		return escaped
	}
	return fit(escaped, mark(name))
}

// looksLikeSidecar reports whether a name could be that of a sidecar or of the manifest.
func looksLikeSidecar(name string) bool {
	switch i := strings.LastIndexByte(name, '.'); strings.ToLower(name[i+1:]) {
	case "json", "yaml", "yml", "xmp":
		return i > 0
	}
	return false
}

// mark returns a part of the hash of a key.
func mark(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "~" + hex.EncodeToString(sum[:4])
}

// fit inserts a mark before the extension of a name, and cuts a long name before the mark.
func fit(name, mark string) string {
	base, extension := name, ""
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i < maxSegment/2 {
		base, extension = name[:i], name[i:]
	}
	most := maxSegment - len(mark) - len(extension)
	for len(base) > most {
		_, size := utf8.DecodeLastRuneInString(base)
		base = base[:len(base)-size]
	}
	return base + mark + extension
}

// folded returns the hash of a name as compared by file systems without case. On a collision, one
// of the names gets a mark.
func folded(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))))
	return h.Sum64()
}

// escape converts a segment to a name that is valid on all file systems. Other characters become
// %XX, and so does a % before two hexadecimal digits.
func escape(segment string) string {
	var b strings.Builder
	for i := range len(segment) {
		c := segment[i]
		last := i == len(segment)-1
		switch {
		case isControl(segment[i:]), i > 0 && isControl(segment[i-1:]) && c >= 0x80, strings.IndexByte(`<>:"|?*\/`, c) >= 0, last && (c == '.' || c == ' '), c == '%' && isEscape(segment[i:]):
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	name := b.String()
	if base, _, _ := strings.Cut(name, "."); isDevice(base) {
		return fmt.Sprintf("%%%02X", name[0]) + name[1:]
	}
	return name
}

// isControl reports whether a text begins with a control character of ASCII or Unicode. The latter
// begin escape sequences of terminals, too.
func isControl(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsControl(r)
}

func isEscape(s string) bool {
	if len(s) < 3 {
		return false
	}
	_, err := hex.DecodeString(s[1:3])
	return err == nil
}

// isDevice reports whether a name is that of a Windows device, including superscript digits.
func isDevice(base string) bool {
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, isPort := strings.CutPrefix(base, "COM")
	if !isPort {
		port, isPort = strings.CutPrefix(base, "LPT")
	}
	return isPort && utf8.RuneCountInString(port) == 1 && strings.Contains("0123456789¹²³", port)
}
