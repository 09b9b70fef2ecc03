package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/token"
)

// The test verifies that the credits of a user with several rows, such as one per model, are added
// up.
func TestCreditsInSeveralRows(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"environment":{"credits":9},"users":[{"userId":"a","credits":3},{"userId":"b","credits":2},{"userId":"a","credits":4}]}`)
	}))
	defer server.Close()
	minter, err := token.NewMinter(token.NewSecret("a key"), token.Claims{Environment: "e", User: "a", Service: "ai"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ai.New(ai.Options{BaseURL: server.URL, Tokens: minter})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	s := &accounted{of: &AIService{User: "a", Accounts: c}}
	if got, err := s.Credits(t.Context(), time.Time{}); err != nil || got != 7 {
		t.Errorf("got %v, %v", got, err)
	}
}
