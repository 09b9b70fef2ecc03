package assets

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"assetferry/internal/retry"
	"assetferry/internal/token"
)

// echoed is a token, made up.
const echoed = "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiI5ZDFlN2M0MGFiMjVmNjM4In0.k5Yx-3Qp_Lr8Zt0vWnUe7JdHbMfGsRa1CiXoKq2TyPw"

type echoTokens struct{}

func (echoTokens) Token(context.Context) (token.Secret, error) { return token.NewSecret(echoed), nil }
func (echoTokens) Invalidate()                                 {}

// A service may repeat the token that it was sent, in whatever form: no error shows it.
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
		"whole": echoed, "blanks": apart(" "), "lines": apart("\n"), "list": apart(`", "`), "base64": encoded, "base64url": base64.RawURLEncoding.EncodeToString([]byte(echoed)),
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
