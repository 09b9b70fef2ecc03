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

// maxSegment is how many bytes a name may have: what file systems allow, less what a sidecar
// has behind it.
const maxSegment = 255 - len(sidecarEnding)

// names give the objects of a listing paths that any file system holds, and that stay apart
// where case or Unicode form make no difference. They depend on nothing but the keys, so the
// same listing has the same paths again. Keys and containers come in the order of keys.
type names struct {
	levels []level // the top, and those around the last key
}

// A level is a container of the listing.
type level struct {
	prefix string          // of the keys in it
	path   string          // with a slash at its end, but at the top
	taken  map[uint64]bool // names in it, as they are compared
}

func newNames() *names { return &names{levels: []level{{taken: map[uint64]bool{}}}} }

// enter returns the path of a container that the listing comes to.
func (n *names) enter(prefix sources.Key) string {
	l := n.level(string(prefix))
	segment := strings.TrimSuffix(strings.TrimPrefix(string(prefix), l.prefix), "/")
	path := l.path + l.take(segment, string(prefix))
	n.levels = append(n.levels, level{string(prefix), path + "/", map[uint64]bool{}})
	return path
}

// place returns the path of an object.
func (n *names) place(key sources.Key) string {
	l := n.level(string(key))
	return l.path + l.take(strings.TrimPrefix(string(key), l.prefix), string(key))
}

// level leaves the containers that a key is not in, and gives the one that it is in.
func (n *names) level(key string) *level {
	for !strings.HasPrefix(key, n.levels[len(n.levels)-1].prefix) || key == n.levels[len(n.levels)-1].prefix {
		n.levels = n.levels[:len(n.levels)-1]
	}
	return &n.levels[len(n.levels)-1]
}

// take returns a name that nothing else in a container has. What has to be kept apart gets a
// part of the hash of its key in front of its extension.
func (l *level) take(segment, key string) string {
	name := fit(escape(segment), "")
	if looksLikeSidecar(name) || isDraft(name) || name != escape(segment) {
		name = fit(escape(segment), mark(key))
	}
	for again := key; l.taken[folded(name)]; again += "~" {
		name = fit(escape(segment), mark(again))
	}
	l.taken[folded(name)] = true
	return name
}

// FileName makes a name that a service gives to something one of a file in a folder of ours.
// It is what an export would call it, but for a dot or a dash at its beginning: those are
// escaped, too, because the folder is not one of an export. There a hidden file may be one
// that a shell or a web server reads, and a dash the beginning of an option.
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

// looksLikeSidecar reports whether a file would be taken for one that describes another, or a
// folder would be in the way of one. The manifest is kept out of the way like that, too.
func looksLikeSidecar(name string) bool {
	switch i := strings.LastIndexByte(name, '.'); strings.ToLower(name[i+1:]) {
	case "json", "yaml", "yml", "xmp":
		return i > 0
	}
	return false
}

// mark is a part of the hash of a key.
func mark(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "~" + hex.EncodeToString(sum[:4])
}

// fit puts a mark in front of the extension of a name, and cuts what is too long before that.
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

// folded is a hash of a name as file systems compare it that know no case. That two names
// fall together that are different does no harm: one of them is marked.
func folded(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))))
	return h.Sum64()
}

// escape makes a segment a name that every file system holds: %XX stands for what one of
// them does not, and for a % that would be read as such.
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

// isControl reports whether a text begins with a control character: those of ASCII, and those
// of Unicode, which begin escape sequences of terminals, too.
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

// isDevice reports whether Windows takes a name for a device. It knows superscript digits, too.
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
