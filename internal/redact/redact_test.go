package redact

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// jwt is an invented token in the usual form.
const jwt = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhdWQiOiI5ZDFlN2M0MGFiMjVmNjM4YzBkNyIsInN1YiI6ImFzc2V0ZmVycnkifQ.k5Yx-3Qp_Lr8Zt0vWnUe7JdHbMfGsRa1CiXoKq2TyPw"

const accessKey = "Xk3vQ9pLw7ZtR2mNc8HsYb4JdFg6TqAe"

// shows reports whether a text shows eight consecutive characters of a secret, ignoring white
// space.
func shows(text, secret string) string { return showsRow(text, secret, run) }

// showsRow is shows for a number of consecutive characters.
func showsRow(text, secret string, length int) string {
	joined := strings.Join(strings.Fields(text), "")
	for n := range len(secret) - length + 1 {
		if part := secret[n : n+length]; strings.Contains(joined, part) {
			return part
		}
	}
	return ""
}

func newRedactor() *Redactor {
	r := New(accessKey)
	r.Token(jwt)
	return r
}

func every(text string, n int, between string) string {
	var b strings.Builder
	for i, c := range []byte(text) {
		if i > 0 && i%n == 0 {
			b.WriteString(between)
		}
		b.WriteByte(c)
	}
	return b.String()
}

func each(text, format string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func TestText(t *testing.T) {
	r := newRedactor()
	for _, secret := range []string{jwt, accessKey} {
		quoted, err := json.Marshal(map[string]any{"message": "no", "data": []string{every(secret, 3, "\n")}})
		if err != nil {
			t.Fatal(err)
		}
		basic := base64.StdEncoding.EncodeToString([]byte("Bearer " + secret + "\n"))
		for name, text := range map[string]string{
			"whole": secret, "with text": "invalid token '" + secret + "' for user", "its middle": secret[10:24],
			"blanks": every(secret, 1, " "), "lines": every(secret, 5, "\r\n\t"), "fields": every(secret, 8, `","part":"`),
			"array": every(secret, 3, `", "`), "comma": every(secret, 4, ","), "no-break space": every(secret, 2, "\u00a0"),
			"zero width": every(secret, 1, "\u200b"), "colours": every(secret, 4, "\x1b[31m"), "JSON": string(quoted),
			"JSON twice": every(secret, 3, `\\n`), "percent": each(secret, "%%%02x"), "percent twice": each(secret, "%%25%02X"),
			"query": url.QueryEscape(secret + "="), "unicode": each(secret, `\u%04x`), "entities": each(secret, "&#%d;"),
			"hexadecimal entities": each(secret, "&#x%x;"), "HTML": html.EscapeString(every(secret, 3, `"<>&`)),
			"hexadecimal": hex.EncodeToString([]byte(secret)), "HEXADECIMAL": strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"base64": basic, "base64 of a part": base64.StdEncoding.EncodeToString([]byte("xy" + secret[5:30])),
			"base64url": base64.RawURLEncoding.EncodeToString([]byte("x" + secret)), "base64 in lines": every(basic, 7, "\n"),
		} {
			got := r.Text("before " + text + " behind")
			if !strings.HasPrefix(got, "befor") || !strings.HasSuffix(got, " behind") || !strings.Contains(got, Mark) {
				t.Errorf("%s: got %s", name, got)
			}
			plain := strings.NewReplacer(`\\n`, "", `\n`, "", `\r`, "", `\t`, "", `"`, "", ",", "", "\u200b", "", "\x1b[31m", "").Replace(got)
			if part := shows(plain, secret); part != "" {
				t.Errorf("%s shows %s: %s", name, part, got)
			}
			if part := shows(plain, basic[12:len(basic)-8]); part != "" && strings.HasPrefix(name, "base64") {
				t.Errorf("%s shows %s: %s", name, part, got)
			}
		}
	}
}

// TestStream verifies that a text in parts is redacted like the whole text, and that only a few
// bytes are held back.
func TestStream(t *testing.T) {
	r := newRedactor()
	for _, text := range []string{
		"The picture shows a cat, with " + jwt + " in it, and a dog that is as long as this.", jwt + " " + accessKey, accessKey,
		"The token: " + every(jwt, 3, " ") + " end of it", base64.StdEncoding.EncodeToString([]byte("Bearer " + jwt)), each(accessKey, "%%%02x"),
		hex.EncodeToString([]byte(accessKey)) + " behind", "", "short", "100 % of &amp; \\u00 " + strings.Repeat("words ", 500), strings.Repeat("貓在這裡。", 400),
	} {
		for _, size := range []int{1, 2, 3, 7, 8, 31, 1000} {
			var got strings.Builder
			s := r.Stream()
			for n := 0; n < len(text); n += size {
				got.WriteString(s.Add(text[n:min(n+size, len(text))]))
				if held := len(text[:min(n+size, len(text))]) - got.Len(); held > 2*maxHeld {
					t.Fatalf("%.40q by %d: %d bytes are held back", text, size, held)
				}
			}
			got.WriteString(s.End())
			if want := r.Text(text); got.String() != want {
				t.Errorf("%.40q by %d:\ngot  %s\nwant %s", text, size, got.String(), want)
			}
		}
	}
	s := r.Stream()
	if got := s.Add("The picture shows a cat that sleeps on a chair."); !strings.HasPrefix(got, "The pic") {
		t.Errorf("got %q at first", got)
	}
	var none *Redactor
	if got := none.Stream().Add(jwt); got != jwt {
		t.Errorf("got %q without secrets", got)
	}
}

func TestTextWithoutSecrets(t *testing.T) {
	r := newRedactor()
	for _, text := range []string{
		"", " ", "404 Not Found", `{"statusCode":404,"message":"Asset \"x\" not found","traceId":"9d1e7c40ab25f638"}`,
		"100% of 5%20files & more; C:\\new\\table &amp; \x1b[1mbold\x1b[0m", "%", "%2", "%25", "\\", "\\u00", "&", "&#", "&#x;", "\x1b[",
		"eyJhbGc", accessKey[:7], accessKey[3:10] + "." + accessKey[20:27], strings.Repeat("é\u00a0", 100),
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	var none *Redactor
	if none.Token(jwt); none.Text(jwt) != jwt || (&Redactor{}).Text(jwt) != jwt {
		t.Error("a redactor without secrets changes text")
	}
}

// TestWordsInKeys verifies that the words of a key that consists of words stay in other texts.
func TestWordsInKeys(t *testing.T) {
	r := New("assetferry-photos-7Qx9Lm2w", "secret")
	for text, want := range map[string]string{
		"assetferry plan ./photos":               "assetferry plan ./photos",
		"assetferry-photos":                      "assetferry-photos",
		"no key assetferry-photos-7Qx9Lm2w here": "no key " + Mark + " here",
		"the photos-7Qx9 of 2024":                "the " + Mark + " of 2024",
		"key: assetferry-photos":                 "key: assetferry-photos",
		"a secret!":                              "a " + Mark + "!",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestChecksums verifies that checksums stay unchanged, however many tokens are known. Eight
// hexadecimal digits of a token occur in one of a few thousand checksums.
func TestChecksums(t *testing.T) {
	r := New(accessKey)
	for n := range maxTokens {
		r.Token(jwt[:60] + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%x", sha256.Sum256([]byte{byte(n)}))))
	}
	for n := range 40_000 {
		if sum := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "file %d", n))); r.Holds(sum) {
			t.Fatalf("%s became %s", sum, r.Text(sum))
		}
	}
	for _, text := range []string{"9d1e65794a687c40", "e3b0c44298fc1c149afb" + hex.EncodeToString([]byte(jwt[30:36]))} {
		if got := r.Text(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, text := range []string{hex.EncodeToString([]byte(jwt[30:38])), "00" + strings.ToUpper(hex.EncodeToString([]byte(accessKey[3:11])))} {
		if got := r.Text(text); !strings.HasSuffix(got, Mark) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestTokensAreForgotten(t *testing.T) {
	r := New(accessKey)
	for n := range 10 * maxTokens {
		r.Token(fmt.Sprintf("%x", sha256.Sum256([]byte{byte(n), byte(n >> 8)})))
	}
	if n := len(r.current.Load().known); n != maxTokens+1 || r.Holds("no") || !r.Holds(accessKey) {
		t.Errorf("%d secrets are known", n)
	}
}

// FuzzText cuts secrets at random, with white space in between and other text around, in several
// spellings. Eight characters in a row are never shown; text without a secret is as it was.
func FuzzText(f *testing.F) {
	f.Add(uint64(1), "message: ")
	f.Add(uint64(7), "%41&#;\\u00")
	r := newRedactor()
	f.Fuzz(func(t *testing.T, seed uint64, around string) {
		rnd := rand.New(rand.NewPCG(seed, seed))
		secret := jwt
		if rnd.IntN(3) == 0 {
			secret = accessKey
		}
		spelled, row := secret, run
		if rnd.IntN(2) == 0 {
			all := spellings(secret)
			n := rnd.IntN(len(all))
			if spelled = all[n]; n == 1 || n == 2 {
				row = 2 * run // in hexadecimal two digits are a character
			}
		}
		begin := rnd.IntN(len(spelled) - 1)
		part := spelled[begin : begin+1+rnd.IntN(len(spelled)-begin-1)]
		var b strings.Builder
		for _, c := range []byte(part) {
			b.WriteByte(c)
			for rnd.IntN(4) == 0 {
				b.WriteByte(" \n\t\r"[rnd.IntN(4)])
			}
		}
		text := around + b.String() + around
		got := r.Text(text)
		if shown := showsRow(got, spelled, row); shown != "" && !strings.Contains(around, shown) && shows(around+around, spelled) == "" {
			t.Errorf("%q shows %s of %s", got, shown, spelled)
		}
		if r.Holds(got) {
			t.Errorf("%q is not through", got)
		}
		if alone := r.Text(around); alone != around && shows(unescaped(around), jwt) == "" && shows(unescaped(around), accessKey) == "" {
			for _, s := range append(spellings(jwt), spellings(accessKey)...) {
				if shows(unescaped(around), s) != "" {
					return
				}
			}
			t.Errorf("%q became %q", around, alone)
		}
	})
}

// unescaped returns a text as the redactor reads it.
func unescaped(text string) string {
	w := walker{index: newRedactor().current.Load(), text: text}
	var b strings.Builder
	for w.next() {
		b.WriteByte(byte(w.window))
	}
	return b.String()
}

func BenchmarkText(b *testing.B) {
	r := newRedactor()
	text := strings.Repeat(`{"type":"item","key":"photos/2024/05/IMG_0001.jpg","state":"done","asset_id":"9d1e7c40ab25f638c0d7","url":"https://cdn.example.com/w/assets/9d1e/file"}`, 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}
