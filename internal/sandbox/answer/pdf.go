package answer

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"assetferry/internal/pattern"
)

// maxStreams limits the streams of a PDF that are read.
const maxStreams = 2000

var pageObject = pattern.Lazy(`/Type\s*/Page[^A-Za-z]`)

// PDFPages counts the pages of a PDF, also with compressed objects. It returns 0 for other
// files, and may return too few for encrypted or damaged ones.
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

// pdfText returns the text that the streams of a PDF draw. Fonts with custom encodings cannot
// be read.
func pdfText(data []byte) string {
	var b strings.Builder
	eachStream(data, func(dictionary, content []byte) {
		if !bytes.Contains(dictionary, []byte("/Subtype")) && b.Len() < mostText { // not an image or a font
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

// eachStream passes each decompressed stream and its dictionary to see, up to [mostText] bytes
// in total. It returns the bytes outside streams.
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

// inflated decompresses up to most bytes. It returns the data before any damage.
func inflated(dictionary, content []byte, most int64) []byte {
	var r io.Reader = bytes.NewReader(content)
	if bytes.Contains(dictionary, []byte("/FlateDecode")) {
		z, err := zlib.NewReader(r)
		if err != nil {
			return nil
		}
		r = z
	}
	text, _ := io.ReadAll(io.LimitReader(r, most)) // the data before any damage
	return text
}

// drawn writes the strings of text operators. Parts of a line are joined; another position
// begins a new line.
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

// literal parses a string in parentheses and returns its length in bytes.
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

// escaped parses an escape sequence and returns its length in bytes.
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
	case '\n', '\r': // line continuation
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
	n, _ := hex.Decode(s, digits) // the data before any damage
	return decoded(s[:n]), end + 1
}

// decoded converts Latin-1, or UTF-16 with a byte order mark, to UTF-8, and removes invalid
// characters.
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
