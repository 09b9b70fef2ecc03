package assets

import (
	"strings"
	"testing"
)

func TestAuthorizePrivateAccess(t *testing.T) {
	for answer, want := range map[string]string{
		"204 Set-Cookie=CKBox-Auth=x; Path=/|":                  "CKBox-Auth",
		"200 Set-Cookie=__Host-CKBox-Auth=x; Path=/; Secure|{}": "__Host-CKBox-Auth",
		"204 Set-Cookie=other=x|":                               "",
		"204 Set-Cookie=CKBox-Auth=; Max-Age=0|":                "",
		"204":                                                   "",
		`403 {"message":"No.","statusCode":403,"data":null}`:    "",
		`200 {"message":"No.","statusCode":401,"data":null}`:    "",
	} {
		a := answers(answer)
		cookie, err := serve(t, a.ServeHTTP).AuthorizePrivateAccess(t.Context())
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: got %v and no error", answer, cookie)
		case want != "" && (err != nil || cookie.Name != want || cookie.Value != "x"):
			t.Errorf("%s: got %v, %v", answer, cookie, err)
		}
		if r := a.got[0]; r.Method != "POST" || r.URL.Path != "/categories/authorizePrivateAccess" ||
			!strings.Contains(a.bodies[0], "name=\"token\"\r\n\r\n"+r.Header.Get("Authorization")+"\r\n--") {
			t.Errorf("sent %s %s %q", r.Method, r.URL, a.bodies[0])
		}
	}
}
