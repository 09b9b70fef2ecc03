package rclone

import (
	"os"
	"testing"
	"time"
)

func TestClientAdvice(t *testing.T) {
	for name, test := range map[string]struct {
		config, remote, variable string
		advised                  string // the remote that uses the client ID of rclone
	}{
		"shared":                    {"[photos]\ntype = drive\n", "photos:", "", "photos"},
		"own":                       {"[photos]\ntype = drive\nclient_id = 123\n", "photos:", "", ""},
		"service account":           {"[photos]\ntype = drive\nservice_account_file = account.json\n", "photos:", "", ""},
		"another storage":           {"[photos]\ntype = sftp\n", "photos:", "", ""},
		"own, of all remotes":       {"[photos]\ntype = drive\n", "photos:", "RCLONE_DRIVE_CLIENT_ID=123", ""},
		"own, of this remote":       {"[photos]\ntype = drive\n", "photos:", "RCLONE_CONFIG_PHOTOS_CLIENT_ID=123", ""},
		"own, of another remote":    {"[photos]\ntype = drive\n", "photos:", "RCLONE_CONFIG_OTHER_CLIENT_ID=123", "photos"},
		"type in a variable":        {"", "my-photos:", "RCLONE_CONFIG_MY-PHOTOS_TYPE=dropbox", "my-photos"},
		"connection string":         {"", ":onedrive:", "", ":onedrive"},
		"own, in connection string": {"", ":onedrive,client_id=123:", "", ""},
		"encrypted":                 {"[photos]\ntype = drive\n[secret]\ntype = crypt\nremote = photos:a b\n", "secret:", "", "photos"},
		"encrypted, own":            {"[photos]\ntype = drive\nclient_id = 123\n[secret]\ntype = crypt\nremote = photos:a\n", "secret:", "", ""},
		"behind several":            {"[my photos]\ntype = box\n[secret]\ntype = crypt\nremote = my photos:a\n[short]\ntype = alias\nremote = secret:\n", "short:", "", "my photos"},
		"combined":                  {"[photos]\ntype = drive\n[all]\ntype = combine\nupstreams = a=/srv \"b c=photos:a b\"\n", "all:", "", "photos"},
		"united":                    {"[photos]\ntype = drive\n[disk]\ntype = local\n[pool]\ntype = union\nupstreams = disk:a photos:b:ro\n", "pool:", "", "photos"},
		"in a connection string":    {"[photos]\ntype = drive\n", `:crypt,remote="photos:it""s":`, "", "photos"},
		"loop":                      {"[a]\ntype = alias\nremote = b:\n[b]\ntype = alias\nremote = a:c\n", "a:", "", ""},
		"named, not behind":         {"[photos]\ntype = drive\n[disk]\ntype = local\ndescription = copy of photos:\n", "disk:", "", ""},
	} {
		environ := environment(t, test.variable)
		if err := os.WriteFile(valueOf(environ, "RCLONE_CONFIG"), []byte(test.config), 0o600); err != nil {
			t.Fatal(err)
		}
		s := start(t, versions[0], environ)
		r, err := ParseRemote(test.remote)
		if err != nil {
			t.Fatal(err)
		}
		if remote, page, err := s.ClientAdvice(t.Context(), r); err != nil || (page != "") != (test.advised != "") || remote != test.advised {
			t.Errorf("%s: %q, %q, %v", name, remote, page, err)
		}
		if _, page, err := s.ClientAdvice(t.Context(), r); err != nil || page != "" {
			t.Errorf("%s, again: %q, %v", name, page, err)
		}
	}
}

// TestSlow verifies that a request without a response is reported.
func TestSlow(t *testing.T) {
	s := start(t, versions[0], environment(t))
	reported := make(chan struct{}, 1)
	s.slow, s.options.Slow = time.Nanosecond, func() {
		select {
		case reported <- struct{}{}:
		default: // once is enough
		}
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if _, err := s.Remotes(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-reported:
			return
		default:
		}
	}
	t.Error("no request was slow")
}
