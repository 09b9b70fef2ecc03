package assettest

import (
	"io"
	"net/http"
	"testing"

	"assetferry/internal/assets"
)

func privateLaws() []law {
	return []law{
		{"private files need the cookie", testPrivateFiles},
	}
}

func testPrivateFiles(t *testing.T, s *scratch) {
	id, err := s.CreateCategory(t.Context(), assets.NewCategory{Name: unique("private"), Extensions: extensions(), Private: true})
	if err != nil {
		t.Fatal(err)
	}
	s.keep(id)
	a := s.uploadTo(t, assets.Upload{CategoryID: id, Filename: "secret.txt"}, []byte("secret"))
	if status, text := visit(t, a.URL, nil); status < 400 || text == "secret" {
		t.Errorf("without the cookie: got %d", status)
	}
	cookie, err := s.AuthorizePrivateAccess(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status, text := visit(t, a.URL, cookie); status != http.StatusOK || text != "secret" {
		t.Errorf("with the cookie: got %d", status)
	}
}

// visit requests a file like a browser that only has a cookie.
func visit(t *testing.T, url string, cookie *http.Cookie) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cookie != nil {
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
