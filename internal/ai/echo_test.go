package ai

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

// echoed is an invented token.
const echoed = "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiI5ZDFlN2M0MGFiMjVmNjM4In0.k5Yx-3Qp_Lr8Zt0vWnUe7JdHbMfGsRa1CiXoKq2TyPw"

type echoTokens struct{}

func (echoTokens) Token(context.Context) (token.Secret, error) { return token.NewSecret(echoed), nil }
func (echoTokens) Invalidate()                                 {}

// The test verifies that no error and no reply contains the token, in any form in which a service
// may repeat it.
func TestTokenThatIsEchoed(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(echoed))
	for name, said := range map[string]string{"whole": echoed, "lines": strings.Join(strings.SplitAfter(echoed, "J"), "\n"), "base64": encoded} {
		quoted, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		var status int
		var kind, body string
		c := serve(t, Options{Tokens: echoTokens{}, Retry: retry.Policy{Attempts: 1}}, func(w http.ResponseWriter, r *http.Request) {
			answer(status, kind, body)(w, r)
		})
		ask := func(s int, k, b string) string {
			status, kind, body = s, k, b
			stream, err := c.Send(t.Context(), "conversation", Message{Prompt: "x", Model: "m"})
			if err != nil {
				return err.Error()
			}
			text, err := Text(stream)
			return fmt.Sprint(text, " ", err)
		}
		list := func(b string) string {
			status, kind, body = 200, "application/json", b
			return fmt.Sprint("list: ", drain(c.Conversations(t.Context(), ConversationFilter{})))
		}
		for form, got := range map[string]string{
			"time":    list(fmt.Sprintf(`{"items":[{"id":"x","createdAt":%s}]}`, quoted)),
			"message": ask(400, "application/json", fmt.Sprintf(`{"code":"no","message":%s}`, quoted)),
			"code":    ask(400, "application/json", fmt.Sprintf(`{"code":%s,"message":"no"}`, quoted)),
			"data":    ask(403, "application/json", fmt.Sprintf(`{"message":"no","data":{"missingPermissions":[%s]}}`, quoted)),
			"reply":   ask(200, "text/event-stream", fmt.Sprintf("event: text-delta\ndata: {\"textDelta\":%s}\n\n", quoted)),
			"error":   ask(200, "text/event-stream", fmt.Sprintf("event: error\ndata: {\"message\":%s}\n\n", quoted)),
		} {
			shown := strings.Join(strings.Fields(got), "")
			for n := range len(echoed) - 7 {
				if strings.Contains(shown, echoed[n:n+8]) {
					t.Errorf("%s in %s: %s", name, form, got)
					break
				}
			}
			if strings.Contains(shown, encoded[12:20]) || len(got) < 10 {
				t.Errorf("%s in %s: %s", name, form, got)
			}
		}
	}
}
