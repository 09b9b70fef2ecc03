package assets

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"assetferry/internal/redact"
	"assetferry/internal/retry"
	"assetferry/internal/token"
)

// echoed is an invented token.
const echoed = "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiI5ZDFlN2M0MGFiMjVmNjM4In0.k5Yx-3Qp_Lr8Zt0vWnUe7JdHbMfGsRa1CiXoKq2TyPw"

type echoTokens struct{}

func (echoTokens) Token(context.Context) (token.Secret, error) { return token.NewSecret(echoed), nil }
func (echoTokens) Invalidate()                                 {}

// The test verifies that no error contains a token that the service repeats in any form.
func TestTokenThatIsEchoed(t *testing.T) {
	apart := func(between string) string {
		var b strings.Builder
		for n, c := range []byte(echoed) {
			if n > 0 && n%6 == 0 {
				b.WriteString(between)
			}
			b.WriteByte(c)
		}
		return b.String()
	}
	encoded := base64.StdEncoding.EncodeToString([]byte("token=" + echoed))
	for name, said := range map[string]string{
		"whole": echoed, "head": strings.TrimSuffix(echoed, echoed[strings.LastIndexByte(echoed, '.'):]), "blanks": apart(" "), "lines": apart("\n"), "list": apart(`", "`), "base64": encoded, "base64url": base64.RawURLEncoding.EncodeToString([]byte(echoed)),
	} {
		quoted, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		for form, body := range map[string]string{
			"message": fmt.Sprintf(`{"statusCode":400,"message":%s}`, quoted),
			"trace":   fmt.Sprintf(`{"statusCode":400,"message":"no","traceId":%s}`, quoted),
			"data":    fmt.Sprintf(`{"statusCode":400,"message":"no","data":{"limit":%s}}`, quoted),
			"both":    fmt.Sprintf(`{"statusCode":400,"message":"%s","traceId":"%s"}`, echoed[30:37], echoed[37:44]),
			"plain":   said,
			"object":  fmt.Sprintf(`{"id":"x","uploadedAt":%s}`, quoted),
		} {
			status := http.StatusBadRequest
			if form == "object" {
				status = http.StatusOK
			}
			c := newClient(t, Options{BaseURL: "http://localhost", Tokens: echoTokens{}, Transport: &parrot{status, nil, body}, Retry: retry.Policy{Attempts: 1}})
			_, err := c.Asset(t.Context(), "x")
			if err == nil {
				t.Fatalf("%s %s: no error", name, form)
			}
			text := fmt.Sprintf("%v %+v", err, err.(*Error).Data)
			shown := strings.NewReplacer(" ", "", `"`, "", ",", "", ":", "", "(trace", "").Replace(text)
			for n := range len(echoed) - 7 {
				if strings.Contains(shown, echoed[n:n+8]) {
					t.Errorf("%s %s: %s", name, form, text)
					break
				}
			}
			if strings.Contains(shown, encoded[12:20]) {
				t.Errorf("%s %s: %s", name, form, text)
			}
		}
	}
}

// The test verifies that a token is found if an answer arrives in pieces.
func TestTokenInPiecesOfAnAnswer(t *testing.T) {
	_, signature, _ := strings.Cut(strings.TrimPrefix(echoed, "eyJhbGciOiJIUzI1NiJ9."), ".")
	for n := range len(signature) {
		in := &echoReader{in: io.MultiReader(strings.NewReader("a "+signature[:n]), strings.NewReader(signature[n:]+" b")), signatures: redact.New(signature)}
		if _, err := io.ReadAll(in); !errors.Is(err, errEcho) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	in := &echoReader{in: iotest.OneByteReader(strings.NewReader(signature)), signatures: redact.New(signature)}
	if _, err := io.ReadAll(in); !errors.Is(err, errEcho) {
		t.Errorf("byte by byte: %v", err)
	}
}

// The test verifies that the cookie for private files is treated like a token.
func TestCookieThatIsEchoed(t *testing.T) {
	const cookie = "s%3AqX7-ZpLw93kVtR2mNc8HsYb4JdFg6TqAe.kQ1"
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == accessRoute {
			w.Header().Set("Set-Cookie", "CKBox-Auth="+cookie+"; Path=/")
			return
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"statusCode":403,"message":"not with %s %s"}`, r.Header.Get("Cookie"), base64.StdEncoding.EncodeToString([]byte(r.Header.Get("Cookie"))))
	})
	_, _, err := read(t, c, c.base.String()+"/f", 0)
	if err == nil || strings.Contains(err.Error(), cookie[5:13]) || !strings.Contains(err.Error(), "not with CKBox-Auth="+redact.Mark+" ") {
		t.Errorf("got %v", err)
	}
}

// The test verifies that an answer with a token in any field is refused, because answers are
// stored.
func TestAnswersThatRepeatTheToken(t *testing.T) {
	_, signature, _ := strings.Cut(strings.TrimPrefix(echoed, "eyJhbGciOiJIUzI1NiJ9."), ".")
	foreign := "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiI5ZDFlN2M0MGFiMjVmNjM4In0.Qx7-ZpLw93kVtR2mNc8HsYb4JdFg6TqAeUo1WvXi0Kl"
	padding := strings.Repeat(`{"id":"p","name":"padding"},`, 5_000)
	for name, tt := range map[string]struct {
		said   string
		refuse bool
	}{
		"token": {echoed, true}, "signature": {signature, true}, "escaped": {strings.ReplaceAll(echoed, "Q", `\u0051`), true},
		"base64": {base64.StdEncoding.EncodeToString([]byte(echoed)), true}, "blanks": {strings.Join(strings.SplitAfter(echoed, "J"), " "), true},
		"token of others": {foreign, false}, "head": {strings.TrimSuffix(echoed, "."+signature), false},
	} {
		for form, ask := range map[string]func(*Client) error{
			`{"id":"x","url":"https://example.com/%s"}`: func(c *Client) error { _, err := c.Asset(t.Context(), "x"); return err },
			`{"items":[` + strings.ReplaceAll(padding, "%", "%%") + `{"id":"%s"}]}`: func(c *Client) error {
				for _, err := range c.List(t.Context(), ListOptions{CategoryID: "c", PageSize: 100_000}) {
					if err != nil {
						return err
					}
				}
				return nil
			},
		} {
			tries := 0
			c := newClient(t, Options{BaseURL: "http://localhost", Tokens: echoTokens{}, Transport: &parrot{200, nil, fmt.Sprintf(form, tt.said)}, OnWait: func(retry.Wait) { tries++ }})
			err := ask(c)
			if refused := errors.Is(err, errEcho); refused != tt.refuse || tries > 0 || !refused && err != nil {
				t.Errorf("%s in %.20s: %v, tried again %d times", name, form, err, tries)
			}
		}
	}
}
