package approvers

import (
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"
)

const (
	// maxBytes is the maximum size of a file: thousands of approvers.
	maxBytes = 1 << 20
	// minRSA is the minimum length of an RSA key in bits.
	minRSA = 2048
)

// Parse reads a file in the format of allowed_signers. The name is for errors only.
func Parse(name string, data []byte) (*List, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s: the file is larger than %d bytes", name, maxBytes)
	}
	l := &List{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		l.entries = append(l.entries, e)
	}
	if len(l.entries) == 0 {
		return nil, fmt.Errorf("%s: the file lists no approver", name)
	}
	return l, nil
}

// parseLine reads NAMES [OPTIONS] KEYTYPE KEY [COMMENT].
func parseLine(line string) (e entry, err error) {
	if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
		return e, errors.New("it contains invisible characters")
	}
	names, rest := field(line)
	if e.names, err = parseNames(names); err != nil {
		return e, err
	}
	kind, rest := field(rest)
	if !isKeyType(kind) {
		if err := e.parseOptions(kind); err != nil {
			return e, err
		}
		kind, rest = field(rest)
	}
	text, _ := field(rest)
	e.key, err = parseKey(kind, text)
	return e, err
}

// field splits a line after its first field. White space in quotes belongs to the field.
func field(line string) (first, rest string) {
	quoted := false
	for n, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && (r == ' ' || r == '\t'):
			return line[:n], strings.TrimLeft(line[n:], " \t")
		}
	}
	return line, ""
}

func parseNames(text string) ([]string, error) {
	names := strings.Split(text, ",")
	for _, name := range names {
		switch {
		case name == "":
			return nil, errors.New("a name is empty")
		case strings.ContainsAny(name, `*?!"`):
			return nil, fmt.Errorf("%q is not the name of one approver: patterns and quotes are not accepted", name)
		}
	}
	return names, nil
}

func isKeyType(text string) bool {
	return strings.HasPrefix(text, "ssh-") || strings.HasPrefix(text, "ecdsa-") || strings.HasPrefix(text, "sk-") || strings.HasPrefix(text, "rsa-")
}

// parseOptions reads options separated by commas. Each may occur once.
func (e *entry) parseOptions(text string) error {
	var seen []string
	for option := range splitOptions(text) {
		name, value, hasValue := strings.Cut(option, "=")
		name = strings.ToLower(name)
		if slices.Contains(seen, name) {
			return fmt.Errorf("option %s occurs twice", name)
		}
		seen = append(seen, name)
		if name == "cert-authority" {
			return errors.New("option cert-authority is not accepted: list the key of each approver")
		}
		if !slices.Contains([]string{"namespaces", "valid-after", "valid-before"}, name) {
			return fmt.Errorf("%q is neither a known option nor a key type", option)
		}
		value, isQuoted := unquoted(value)
		if !hasValue || !isQuoted || value == "" {
			return fmt.Errorf(`option %s needs a value in quotes: %s="..."`, name, name)
		}
		if err := e.setOption(name, value); err != nil {
			return err
		}
	}
	if !e.after.IsZero() && !e.before.IsZero() && !e.after.Before(e.before) {
		return errors.New("valid-after must be earlier than valid-before")
	}
	return nil
}

func (e *entry) setOption(name, value string) (err error) {
	switch name {
	case "valid-after":
		e.after, err = parseTime(value)
	case "valid-before":
		e.before, err = parseTime(value)
	default:
		if strings.ContainsAny(value, `*?!" `) {
			return errors.New("option namespaces needs plain names: patterns are not accepted")
		}
		e.namespaces = strings.Split(value, ",")
	}
	if err != nil {
		return fmt.Errorf("option %s: %w", name, err)
	}
	return nil
}

// splitOptions splits at commas outside quotes.
func splitOptions(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		quoted, begin := false, 0
		for n, r := range text {
			switch {
			case r == '"':
				quoted = !quoted
			case r == ',' && !quoted:
				if !yield(text[begin:n]) {
					return
				}
				begin = n + 1
			}
		}
		yield(text[begin:])
	}
}

func unquoted(text string) (value string, ok bool) {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return "", false
	}
	value = text[1 : len(text)-1]
	return value, !strings.Contains(value, `"`)
}

// parseTime reads YYYYMMDD[Z] or YYYYMMDDHHMM[SS][Z]. Without Z, it is local time.
func parseTime(text string) (time.Time, error) {
	digits, isUTC := strings.CutSuffix(text, "Z")
	at := time.Local
	if isUTC {
		at = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) == len(layout) {
			if t, err := time.ParseInLocation(layout, digits, at); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 20260131 or 202601311200Z", text)
}

func parseKey(kind, text string) (ssh.PublicKey, error) {
	if !isKeyType(kind) || text == "" {
		return nil, errors.New("the key is missing: write NAME KEYTYPE KEY, as in the .pub file")
	}
	blob, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the key is not base64")
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	if _, isCertificate := key.(*ssh.Certificate); isCertificate {
		return nil, errors.New("the key is a certificate: list the key itself")
	}
	if key.Type() != kind {
		return nil, fmt.Errorf("the key has the type %s, not %s", key.Type(), kind)
	}
	return key, checkStrength(key)
}

// checkStrength refuses weak keys.
func checkStrength(key ssh.PublicKey) error {
	if key.Type() == "ssh-dss" {
		return errors.New("DSA keys are not accepted")
	}
	if k, ok := key.(ssh.CryptoPublicKey); ok {
		if r, ok := k.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < minRSA {
			return fmt.Errorf("the RSA key has %d bits, at least %d are required", r.N.BitLen(), minRSA)
		}
	}
	return nil
}
