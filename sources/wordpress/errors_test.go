package wordpress_test

import (
	"errors"
	"strings"
	"testing"

	api "assetferry/internal/wordpress"
	"assetferry/sources"
	"assetferry/sources/wordpress"
	"assetferry/sources/wordpress/wordpresstest"
)

// TestRefusals verifies that each way in which a site refuses has a reason, a remedy and a class.
func TestRefusals(t *testing.T) {
	const wrong = "wrong wrong wrong"
	for name, c := range map[string]struct {
		behave   wordpresstest.Behaviour
		password string
		why      string
		hint     string
		auth     bool
	}{
		"wrong password":    {wordpresstest.Usual, wrong, "incorrect_password: Error: The provided password is an invalid application password.", "check ASSETFERRY_WORDPRESS_USER and ASSETFERRY_WORDPRESS_PASSWORD", true},
		"no API":            {wordpresstest.NoAPI, wordpresstest.Password, "no REST API of WordPress was found", "use the URL of the front page", false},
		"protected":         {wordpresstest.Protected, wordpresstest.Password, "the web server itself asks for a password, in front of WordPress", "exempt the REST API and the uploads", true},
		"wall":              {wordpresstest.Wall, wordpresstest.Password, "/wp-json/: 403 Forbidden", "allow the REST API (/wp-json/) for this machine", true},
		"login only":        {wordpresstest.LoginOnly, "", "rest_cannot_access: Only authenticated users", "create an application password", true},
		"moved":             {wordpresstest.Moved, wordpresstest.Password, "the site redirects to https://www.example.com/", "wordpress+https://www.example.com", false},
		"pages":             {wordpresstest.Pages, wordpresstest.Password, `the response is not JSON, but a web page that begins with "Please wait`, "open the URL in a browser", false},
		"password removed":  {wordpresstest.Deaf, wordpresstest.Password, "the site did not accept the user name and the application password", "SetEnvIf Authorization", true},
		"maintenance":       {wordpresstest.Maintenance, wordpresstest.Password, "503 Service Unavailable", "run the same command again later", false},
		"files are refused": {wordpresstest.FilesDenied, wordpresstest.Password, "10 files in a row cannot be reached", "allow this machine to read the uploads", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &wordpresstest.Site{}
			for _, n := range "abcdefghijkl" {
				s.Put("2024/05/"+string(n)+".jpg", []byte("content"), nil)
			}
			s.Behave(c.behave)
			o := api.Options{Password: c.password}
			if c.password != "" {
				o.User = wordpresstest.User
			}
			src := open(t, s, o, wordpress.Options{})
			for _, err := range src.Objects(t.Context(), "") {
				if err == nil {
					continue
				}
				e, ok := errors.AsType[*sources.Error](err)
				if !ok || !strings.Contains(err.Error(), c.why) || !strings.Contains(e.Hint, c.hint) || sources.IsAuth(err) != c.auth {
					t.Errorf("auth is %v: %v\nTry: %s", sources.IsAuth(err), err, e.Hint)
				}
				if strings.Contains(err.Error()+e.Hint, "wrong wrong") || strings.Contains(err.Error(), "mnop") {
					t.Errorf("the error shows the password: %v", err)
				}
				return
			}
			t.Error("the listing has no error")
		})
	}
}
