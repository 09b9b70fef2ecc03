package rclone

import (
	"os"
	"testing"
	"time"
)

func TestClientAdvice(t *testing.T) {
	for name, test := range map[string]struct {
		config, remote, variable string
		advised                  bool
	}{
		"shared":                    {"[photos]\ntype = drive\n", "photos:", "", true},
		"own":                       {"[photos]\ntype = drive\nclient_id = 123\n", "photos:", "", false},
		"service account":           {"[photos]\ntype = drive\nservice_account_file = account.json\n", "photos:", "", false},
		"another storage":           {"[photos]\ntype = sftp\n", "photos:", "", false},
		"own, of all remotes":       {"[photos]\ntype = drive\n", "photos:", "RCLONE_DRIVE_CLIENT_ID=123", false},
		"own, of this remote":       {"[photos]\ntype = drive\n", "photos:", "RCLONE_CONFIG_PHOTOS_CLIENT_ID=123", false},
		"own, of another remote":    {"[photos]\ntype = drive\n", "photos:", "RCLONE_CONFIG_OTHER_CLIENT_ID=123", true},
		"type in a variable":        {"", "my-photos:", "RCLONE_CONFIG_MY_PHOTOS_TYPE=dropbox", true},
		"connection string":         {"", ":onedrive:", "", true},
		"own, in connection string": {"", ":onedrive,client_id=123:", "", false},
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
		if page, err := s.ClientAdvice(t.Context(), r); err != nil || (page != "") != test.advised {
			t.Errorf("%s: %q, %v", name, page, err)
		}
		if page, err := s.ClientAdvice(t.Context(), r); err != nil || page != "" {
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
