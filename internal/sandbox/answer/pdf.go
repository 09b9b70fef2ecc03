package answer

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxStreams is how many streams of a PDF are looked at.
const maxStreams = 2000

var pageObject = pattern(`/Type\s*/Page[^A-Za-z]`)

// PDFPages counts the pages of a PDF, also of one whose objects are compressed. It is 0
// for what is no PDF, and for one that is encrypted or damaged it may be too few.
func PDFPages(data []byte) int {
	if !bytes.HasPrefix(data, []byte("%PDF-")) {
		return 0
	}
	pages := 0
	rest := eachStream(data, func(dictionary, content []byte) {
		if bytes.Contains(dictionary, []byte("/ObjStm")) {
			pages += len(pageObject().FindAll(content, -1))
		}
	})
	return pages + len(pageObject().FindAll(rest, -1))
}

// pdfText gives what the streams of a PDF draw as text. Fonts with numbers of their own
// for letters cannot be read.
func pdfText(data []byte) string {
	var b strings.Builder
	eachStream(data, func(dictionary, content []byte) {
		if !bytes.Contains(dictionary, []byte("/Subtype")) && b.Len() < mostText { // neither a picture nor a font
			drawn(content, &b)
		}
	})
	return strings.Join(nonEmpty(linesOf(b.String())), "\n")
}

func linesOf(text string) []string {
	lines := strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	for i, l := range lines {
		lines[i] = line(l)
	}
	return lines
}

// eachStream hands out each stream, decompressed, with the dictionary before it. All
// of them together are no more than [mostText]. It gives what is outside of streams.
func eachStream(data []byte, see func(dictionary, content []byte)) []byte {
	var outside []byte
	left := int64(mostText)
	for range maxStreams {
		at := bytes.Index(data, []byte("stream"))
		if at < 0 {
			break
		}
		dictionary := data[bytes.LastIndex(data[:at], []byte("obj"))+1 : at]
		outside = append(outside, data[:at]...)
		content := bytes.TrimPrefix(bytes.TrimPrefix(data[at+len("stream"):], []byte("\r")), []byte("\n"))
		end := bytes.Index(content, []byte("endstream"))
		if end < 0 {
			return outside
		}
		data = content[end+len("endstream"):]
		content = inflated(dictionary, content[:end], left)
		left -= int64(len(content))
		see(dictionary, content)
	}
	return append(outside, data...)
}

// inflated reads no more than a number of bytes, and gives what was read before damage.
func inflated(dictionary, content []byte, most int64) []byte {
	var r io.Reader = bytes.NewReader(content)
	if bytes.Contains(dictionary, []byte("/FlateDecode")) {
		z, err := zlib.NewReader(r)
		if err != nil {
			return nil
		}
		r = z
	}
	text, _ := io.ReadAll(io.LimitReader(r, most)) // what was read before the damage
	return text
}

// drawn writes the strings of the operators that show text. Strings that are drawn in
// pieces belong together; another place is another line.
func drawn(content []byte, b *strings.Builder) {
	var strung []string
	for i := 0; i < len(content); {
		switch c := content[i]; {
		case c == '(':
			s, size := literal(content[i:])
			strung, i = append(strung, s), i+size
		case c == '<' && i+1 < len(content) && content[i+1] != '<':
			s, size := hexadecimal(content[i:])
			strung, i = append(strung, s), i+size
		case isOperator(c):
			end := i
			for end < len(content) && isOperator(content[end]) {
				end++
			}
			switch string(content[i:end]) {
			case "Tj", "TJ", "'", `"`:
				b.WriteString(strings.Join(strung, ""))
			case "Td", "TD", "T*", "Tm", "ET":
				b.WriteByte('\n')
			}
			strung, i = nil, end
		default:
			i++
		}
	}
}

func isOperator(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '*' || c == '\'' || c == '"' || c == '/'
}

// literal reads a string in parentheses, and says how many bytes it takes.
func literal(content []byte) (string, int) {
	var s []byte
	depth := 0
	for i := 0; i < len(content); i++ {
		c := content[i]
		switch c {
		case '\\':
			c, size := escaped(content[i+1:])
			s, i = append(s, c...), i+size
			continue
		case '(':
			if depth++; depth == 1 {
				continue
			}
		case ')':
			if depth--; depth == 0 {
				return decoded(s), i + 1
			}
		}
		s = append(s, c)
	}
	return decoded(s), len(content)
}

// escaped is what follows a backslash, and how many bytes it takes.
func escaped(content []byte) (string, int) {
	if len(content) == 0 {
		return "", 0
	}
	digits := 0
	for digits < min(3, len(content)) && content[digits] >= '0' && content[digits] <= '7' {
		digits++
	}
	if n, err := strconv.ParseUint(string(content[:digits]), 8, 16); err == nil {
		return string([]byte{byte(n)}), digits
	}
	switch c := content[0]; c {
	case 'n', 'r', 't':
		return " ", 1
	case '\n', '\r': // a line that goes on
		return "", 1
	}
	return string(content[:1]), 1
}

func hexadecimal(content []byte) (string, int) {
	end := bytes.IndexByte(content, '>')
	if end < 0 {
		return "", len(content)
	}
	digits := bytes.Join(bytes.Fields(content[1:end]), nil)
	s := make([]byte, hex.DecodedLen(len(digits)))
	n, _ := hex.Decode(s, digits) // what was read before the damage
	return decoded(s[:n]), end + 1
}

// decoded makes UTF-8 of a string that is Latin-1 or, by its first bytes, UTF-16. What
// is no text is left out.
func decoded(s []byte) string {
	var runes []rune
	if bytes.HasPrefix(s, []byte{0xFE, 0xFF}) {
		var units []uint16
		for i := 2; i+1 < len(s); i += 2 {
			units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
		}
		runes = utf16.Decode(units)
	} else {
		for _, c := range s {
			runes = append(runes, rune(c))
		}
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7F && r < 0xA0 {
			return -1
		}
		return r
	}, string(runes))
}
