// Package redact strikes secrets out of text that others wrote: a hostile or broken service may
// repeat the token that it was sent, whole or in pieces.
//
// A secret is looked for by its runs of eight characters. They are found wherever they stand in a
// text: with white space or punctuation in between, percent-encoded, escaped as in JSON or HTML,
// in hexadecimal, and in base64, wherever in the encoded text they begin. What holds no such run
// stays as it is.
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
	// Mark stands in the place of a secret.
	Mark = "[redacted]"

	run      = 8  // characters of a secret that are never shown in a row
	shortest = 6  // shorter secrets are words such as "admin", which cannot be struck out of all text
	words    = 24 // characters of a secret in a row that are no words of a text, even if they look like some

	maxKeys   = 256
	maxTokens = 32 // that are remembered; each lives for an hour at the most, and there are several at a time
)

// A Redactor strikes secrets out of text. Its methods may be called from several goroutines at
// once. The nil Redactor knows no secrets.
type Redactor struct {
	mu     sync.Mutex
	keys   []string
	tokens []string

	current atomic.Pointer[index]
}

// New returns a redactor of keys.
func New(keys ...string) *Redactor {
	r := &Redactor{}
	for _, key := range keys {
		r.Key(key)
	}
	return r
}

// Key has a secret struck out that people may have chosen, such as an access key or a password.
// What looks like words in it may be in any text, and is struck out with more of the secret only.
func (r *Redactor) Key(secret string) {
	if r != nil {
		r.learn(&r.keys, secret, maxKeys)
	}
}

// Token has a secret struck out that is replaced from time to time. It is random, so all runs of
// it count. The last few are remembered.
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
	// What looks like an escape need not be one, so a text is read in both ways.
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

// Holds reports whether there is a secret in a text.
func (r *Redactor) Holds(text string) bool { return r.Text(text) != text }

// An index finds runs of secrets. It does not change.
type index struct {
	known map[string]bool
	short []string // that are too short for a run
	kinds [256]kind

	runs   map[uint64]int // each is eight characters; how long a stretch of runs has to be that is struck out
	filter []uint64       // a bit for what each run is spread to, so that hardly any other text asks the map
	shift  uint
}

// A kind of character says what it means for the search.
type kind uint8

const (
	skipped     kind = iota // stands between the characters of secrets, and in none
	significant             // is in secrets
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

// add takes in all runs of a secret, in each of its spellings.
func (x *index) add(secret string, spareWords bool) {
	for n, spelled := range spellings(secret) {
		least := run
		if n == 1 || n == 2 { // in hexadecimal, two digits are a character
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

// addReading takes in all runs of what a walker reads, and gives its length. At least so many
// characters in a row are struck out.
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

// spellings are a secret as it is, in hexadecimal, and in base64 with nothing, one or two bytes
// before it, each without the characters that its neighbours have a part in.
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

// isWord reports whether eight characters look like a part of a name: letters of one case, and
// what joins words.
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

// holds reports whether there is a run in a text, and whether there may be an escape. It does by itself what a walker does, because
// nearly all text holds none, and all that is shown comes through here.
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

// strike puts a mark in the place of each stretch of a text that is made of runs. A raw text is
// read as if it had no escapes.
func (x *index) strike(text string, raw bool) string {
	w := walker{index: x, text: text, raw: raw}
	var b strings.Builder
	from, begin, end, last := 0, 0, 0, 0 // what is copied so far, and the stretch that is open
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
