package oldurl

// Clean encodes the characters that a URI must not contain, so that a URL is safe in every format.
// It does not change a valid URI.
func Clean(url string) string {
	return encode(url, func(i int) bool {
		switch c := url[i]; c {
		case ':', '/', '?', '#', '[', ']', '@':
			return true
		case '%':
			return isEncoded(url[i:])
		default:
			return isUnreserved(c) || isSubDelim(c)
		}
	})
}

// isEncoded reports whether a text begins with a percent sign and two hexadecimal digits.
func isEncoded(s string) bool {
	return len(s) > 2 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isSubDelim(c byte) bool {
	switch c {
	case '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=':
		return true
	}
	return false
}

func isUnreserved(c byte) bool {
	return isAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

func isAlphanumeric(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

const upperDigits = "0123456789ABCDEF"

// encode percent-encodes the bytes of a text for which stays is false.
func encode(s string, stays func(i int) bool) string {
	return encodeWith(s, upperDigits, stays)
}

// encodeWith is encode with other digits. Letters and digits always stay. Most texts do not change,
// and are returned without a copy.
func encodeWith(s, digits string, stays func(i int) bool) string {
	first := 0
	for first < len(s) && (isAlphanumeric(s[first]) || stays(first)) {
		first++
	}
	if first == len(s) {
		return s
	}
	b := make([]byte, first, len(s)+16)
	copy(b, s)
	for i := first; i < len(s); i++ {
		if c := s[i]; stays(i) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}
