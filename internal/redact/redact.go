// Package redact removes secrets from text that others wrote: a hostile or broken service may
// repeat the token that it was sent, whole or in parts.
//
// It searches for each run of eight characters of a secret. It finds a run with white space or
// punctuation in between, percent-encoded, escaped as in JSON or HTML, in hexadecimal, and in
// base64 at any offset. Text without such a run is unchanged.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Mark replaces a secret.
	Mark = "[redacted]"

	run      = 8  // consecutive characters of a secret that are never shown
	shortest = 6  // shorter secrets are words such as "admin", which many texts contain
	words    = 24 // consecutive characters of a secret that are always removed, even if they look like words

	maxKeys   = 256
	maxTokens = 32 // tokens to remember; a token is valid for at most an hour, and several are valid at a time
)

// A Redactor removes secrets from text. Several goroutines may call its methods. A nil Redactor
// knows no secrets.
type Redactor struct {
	mu     sync.Mutex
	keys   []string
	tokens []string

	current atomic.Pointer[index]
}

// New returns a Redactor for keys, see Key.
func New(keys ...string) *Redactor {
	r := &Redactor{}
	for _, key := range keys {
		r.Key(key)
	}
	return r
}

// Key adds a secret that a person may have chosen, such as an access key or a password. Parts of it
// that look like words occur in many texts, so they are removed only together with more of the
// secret.
func (r *Redactor) Key(secret string) {
	if r != nil {
		r.learn(&r.keys, secret, maxKeys)
	}
}

// Token adds a secret that is replaced regularly. It is random, so all its runs are removed. Only
// the last tokens are remembered.
func (r *Redactor) Token(secret string) {
	if r != nil {
		r.learn(&r.tokens, secret, maxTokens)
	}
}

func (r *Redactor) learn(list *[]string, secret string, most int) {
	if len(secret) < shortest {
		return
	}
	if now := r.current.Load(); now != nil && now.known[secret] {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(*list, secret) {
		return
	}
	if *list = append(*list, secret); len(*list) > most {
		*list = (*list)[1:]
	}
	r.current.Store(newIndex(r.keys, r.tokens))
}

// Text returns a text without the secrets.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	x := r.current.Load()
	if x == nil {
		return text
	}
	// An apparent escape may be plain text, so the text is read in both ways.
	found, escaped := x.holds(text)
	if found {
		text = x.strike(text, false)
	}
	if escaped {
		text = x.strike(text, true)
	}
	for _, short := range x.short {
		text = strings.ReplaceAll(text, short, Mark)
	}
	return text
}

// Holds reports whether a text contains a secret.
func (r *Redactor) Holds(text string) bool { return r.Text(text) != text }

// An index finds runs of secrets. It is immutable.
type index struct {
	known map[string]bool
	short []string // secrets that are too short for a run
	kinds [256]kind

	runs   map[uint64]int // by eight characters, the minimum length of a stretch of runs that is removed
	filter []uint64       // a Bloom filter, so that nearly all other text needs no lookup in the map
	shift  uint
}

// A kind is the role of a character in the search.
type kind uint8

const (
	skipped     kind = iota // occurs between the characters of a secret, but in no secret
	significant             // occurs in secrets
	escaping                // may begin an escape
)

func newIndex(keys, tokens []string) *index {
	x := &index{known: map[string]bool{}, runs: map[uint64]int{}}
	for c := range x.kinds {
		if isAlphanumeric(byte(c)) {
			x.kinds[c] = significant
		}
	}
	all := slices.Concat(keys, tokens)
	for _, secret := range all {
		x.known[secret] = true
		for _, spelled := range spellings(secret) {
			for _, c := range []byte(spelled) {
				if c > ' ' && c < 0x7f {
					x.kinds[c] = significant
				}
			}
		}
	}
	for _, c := range []byte(escapes) {
		x.kinds[c] = escaping
	}
	for n, secret := range all {
		x.add(secret, n < len(keys))
	}
	slices.SortFunc(x.short, func(a, b string) int { return len(b) - len(a) })
	bits := uint(10)
	for 1<<bits < 32*len(x.runs) {
		bits++
	}
	x.filter, x.shift = make([]uint64, 1<<bits/64), 64-bits
	for h := range x.runs {
		at := spread(h) >> x.shift
		x.filter[at/64] |= 1 << (at % 64)
	}
	return x
}

// add adds all runs of a secret, in each of its spellings.
func (x *index) add(secret string, spareWords bool) {
	for n, spelled := range spellings(secret) {
		least := run
		if n == 1 || n == 2 { // in hexadecimal, two digits encode a character
			least = 2 * run
		}
		if length := x.addReading(walker{index: x, text: spelled}, least, spareWords); n == 0 && length < run {
			x.short = append(x.short, secret)
		}
		if strings.ContainsAny(spelled, escapes) {
			x.addReading(walker{index: x, text: spelled, raw: true}, least, spareWords)
		}
	}
}

// addReading adds all runs of the text that a walker reads, and returns the length of that text.
// least is the minimum number of consecutive characters that is removed.
func (x *index) addReading(from walker, least int, spareWords bool) (length int) {
	for w := from; w.next(); {
		length = w.count
	}
	for w := from; w.next(); {
		if w.count < run {
			continue
		}
		need := least
		if spareWords && isWord(w.window) {
			need = words
		}
		need = min(length, need)
		if now, known := x.runs[w.window]; !known || need < now {
			x.runs[w.window] = need
		}
	}
	return length
}

// spellings returns a secret as it is, in hexadecimal, and in base64 after zero, one or two other
// bytes. The base64 omits the characters that also encode neighbouring bytes.
func spellings(secret string) []string {
	hexadecimal := hex.EncodeToString([]byte(secret))
	all := []string{secret, hexadecimal, strings.ToUpper(hexadecimal)}
	for before := range 3 {
		padded := append(make([]byte, before), secret...)
		first, last := (8*before+5)/6, 8*len(padded)/6
		all = append(all, base64.RawStdEncoding.EncodeToString(padded)[first:last], base64.RawURLEncoding.EncodeToString(padded)[first:last])
	}
	return all
}

// isWord reports whether eight characters look like a part of a name: letters of one case and
// characters that join words.
func isWord(window uint64) bool {
	lower, upper := false, false
	for ; window != 0; window >>= 8 {
		switch c := byte(window); {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9', c == '+', c == '/', c == '=':
			return false
		}
	}
	return !lower || !upper
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func spread(h uint64) uint64 { return h * 0x9E3779B97F4A7C15 }

// holds reports whether a text contains a run, and whether it may contain an escape. It repeats the
// code of a walker because it must be fast: it reads all text that is shown, and nearly all of it
// has no run.
func (x *index) holds(text string) (found, escaped bool) {
	var window uint64
	for at := 0; at < len(text); {
		c, size := text[at], 1
		if kind := x.kinds[c]; kind != significant {
			if kind == escaping {
				c, size = unescape(text[at:])
				escaped = true
			}
			if kind == skipped || x.kinds[c] != significant {
				at += size
				continue
			}
		}
		at += size
		window = window<<8 | uint64(c)
		if bit := spread(window) >> x.shift; x.filter[bit/64]&(1<<(bit%64)) != 0 {
			if _, found := x.runs[window]; found {
				return true, true
			}
		}
	}
	return false, escaped
}

// strike replaces each stretch of a text that consists of runs. If raw is true, it ignores escapes.
func (x *index) strike(text string, raw bool) string {
	w := walker{index: x, text: text, raw: raw}
	var b strings.Builder
	from, begin, end, last := 0, 0, 0, 0 // the end of the copied text, and the open stretch
	length, least := 0, 0
	strike := func() {
		if length > 0 && length >= least {
			b.WriteString(text[from:begin])
			b.WriteString(Mark)
			from = end
		}
	}
	for w.next() {
		need, found := x.runs[w.window]
		if !found {
			continue
		}
		if first := w.begins[(w.count-run)%run]; length == 0 || first >= end {
			strike()
			begin, length, least = first, run, need
		} else {
			length += w.count - last
			least = min(least, need)
		}
		end, last = w.at, w.count
	}
	strike()
	b.WriteString(text[from:])
	return b.String()
}
